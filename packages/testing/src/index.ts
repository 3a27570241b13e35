/**
 * Everything exported here is public API.
 *
 * @module
 */
export { type AnvilAccount, anvilAccounts } from "./local-chain/anvil-accounts.js";
export { type Funds, type LocalChain, type LocalChainOptions, startLocalChain } from "./local-chain/local-chain.js";
export { LocalChainError } from "./local-chain/local-chain-error.js";
