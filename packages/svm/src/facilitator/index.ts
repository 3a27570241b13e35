/**
 * Everything exported here is public API. It needs a key and a node, and no chain library.
 *
 * @module
 */
export type { PayerSigned, Simulation, SvmAccount, SvmChain, TransactionOutcome } from "./chain.js";
export { ChainError } from "./chain-error.js";
export { createExactSvmScheme, type ExactSvmSchemeOptions } from "./exact-scheme.js";
export { createRpcSvmChain } from "./rpc-chain.js";
export type { RpcSvmChainOptions } from "./rpc-options.js";
export type { MessageSigner } from "./signer.js";
