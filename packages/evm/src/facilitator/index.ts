/**
 * The facilitator's side of `exact` and `upto` on EVM. Everything exported here is public API. This subpath needs viem; the
 * package's root does not.
 *
 * @module
 */
export type { Permit, ProxyKind } from "../permit2/permit2.js";
export type {
  Address,
  ApprovalChain,
  ApprovalTransaction,
  BookGas,
  ChainHealth,
  EvmChain,
  Hash,
  Hex,
  Permit2Chain,
  SignedApproval,
  SignedAuthorization,
  SignedPermit,
  Simulation,
  TransactionOutcome,
  TransferAuthorization,
} from "./chain.js";
export { ChainError } from "./chain.js";
export { createRpcChain } from "./rpc-chain.js";
export type { RpcChainOptions, SponsoringOptions } from "./rpc-options.js";
export {
  createExactEvmScheme,
  createUptoEvmScheme,
  type ExactEvmSchemeOptions,
  type UptoEvmSchemeOptions,
} from "./schemes.js";
