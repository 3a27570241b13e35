/**
 * The facilitator's side of `exact` on Solana. Everything exported here is public API. It needs `@solana/web3.js`.
 *
 * @module
 */
export { ChainError, type Simulation } from "@farebox/core/facilitator";
export type { BookGas, ChainHealth, PayerSigned, SvmAccount, SvmChain, TransactionOutcome } from "./chain.js";
export { createRpcSvmChain } from "./rpc-chain.js";
export type { RpcSvmChainOptions } from "./rpc-options.js";
export { createExactSvmScheme, type ExactSvmSchemeOptions } from "./scheme.js";
export type { MessageSigner } from "./signer.js";
