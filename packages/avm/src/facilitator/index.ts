/**
 * The facilitator's side of `exact` on Algorand. Everything exported here is public API. It needs `algosdk`.
 *
 * @module
 */
export { ChainError, type Simulation } from "@farebox/core/facilitator";
export type {
  AvmChain,
  AvmHolding,
  BookGas,
  ChainHealth,
  GroupMember,
  PayerSigned,
  TransactionName,
  TransactionOutcome,
} from "./chain.js";
export { createAlgodChain } from "./rpc-chain.js";
export type { AlgodChainOptions } from "./rpc-options.js";
export { createExactAvmScheme, type ExactAvmSchemeOptions } from "./scheme.js";
export type { BytesSigner } from "./signer.js";
