/**
 * Everything exported here is public API. It needs a key and a node, and no chain library.
 *
 * @module
 */
export { createAlgodChain } from "./algod-chain.js";
export type { AlgodChainOptions } from "./algod-options.js";
export type {
  AvmChain,
  AvmHolding,
  GroupMember,
  PayerSigned,
  Simulation,
  TransactionName,
  TransactionOutcome,
} from "./chain.js";
export { ChainError } from "./chain-error.js";
export { createExactAvmScheme, type ExactAvmSchemeOptions } from "./exact-scheme.js";
export type { BytesSigner } from "./signer.js";
