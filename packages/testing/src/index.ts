/**
 * Everything exported here is public API.
 *
 * @module
 */
export {
  type FacilitatorServer,
  type FacilitatorServerOptions,
  type ReceivedRequest,
  startFacilitatorServer,
} from "./facilitator/facilitator-server.js";
export type { Fault, Faults, PlannedFault } from "./facilitator/faults.js";
export type { Ledger, LedgerAsset, Transfer } from "./facilitator/ledger.js";
export {
  createTestFacilitator,
  type FacilitatorCalls,
  type TestFacilitator,
  type TestFacilitatorOptions,
} from "./facilitator/test-facilitator.js";
export { type AnvilAccount, anvilAccounts } from "./local-chain/anvil.js";
export { type Funds, type LocalChain, type LocalChainOptions, startLocalChain } from "./local-chain/local-chain.js";
export { LocalChainError } from "./local-chain/rpc.js";
export { type LocalSvm, type LocalSvmOptions, type LocalToken, startLocalSvm } from "./local-svm/local-svm.js";
export type { Handling } from "./local-svm/node.js";
export { type PayOptions, type PayResult, type PayTarget, pay } from "./payer/pay.js";
export { createPayer, type Payer, PayerError, type PayerOptions, type SignOptions } from "./payer/payer.js";
export { type OpenedStore, type StoreClock, StoreError, type StoreTraits } from "./store/stage.js";
export { createStoreConformance, type StoreCheck } from "./store/store-conformance.js";
