/**
 * Everything exported here is public API. This subpath needs viem; the package's root does not.
 *
 * @module
 */
export type { ProxyKind } from "../permit2/proxies.js";
export type { Permit } from "../permit2/read-permit.js";
export type {
  Address,
  ApprovalChain,
  ApprovalTransaction,
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
export { ChainError } from "./chain-error.js";
export { createExactEvmScheme, type ExactEvmSchemeOptions } from "./exact-scheme.js";
export { createRpcChain } from "./rpc-chain.js";
export type { RpcChainOptions } from "./rpc-options.js";
export type { SponsoringOptions } from "./sponsoring-options.js";
export { createUptoEvmScheme, type UptoEvmSchemeOptions } from "./upto-scheme.js";
