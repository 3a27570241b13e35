/**
 * Everything exported here is public API. This subpath needs viem; the package's root does not.
 *
 * @module
 */
export type {
  Address,
  EvmChain,
  Hash,
  Hex,
  SignedAuthorization,
  Simulation,
  TransactionOutcome,
  TransferAuthorization,
} from "./chain.js";
