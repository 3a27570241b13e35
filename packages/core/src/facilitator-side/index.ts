/**
 * Tools for the facilitator's side of a scheme. Every export is public API. The interface `FacilitatorScheme` is in `@farebox/core`. A
 * seller's process never loads this entry.
 *
 * @module
 */
export {
  createExactScheme,
  createTransactionScheme,
  type ExactFamily,
  type ExactSchemeOptions,
  type ExactTransaction,
  type FeePaidChain,
  type Simulation,
  type TransactionSchemeOptions,
} from "./facilitator-scheme.js";
export {
  CHAIN_TIMES,
  ChainError,
  type ChainTimes,
  expectSignature,
  healthOf,
  readChainTimes,
  readSigner,
  SentTransactions,
  type SignerKind,
  untilPassed,
} from "./fee-paid-chain.js";
export {
  createTransactionDesk,
  type DeskPayment,
  type DeskReading,
  type EarlierSettlement,
  type PayerTransaction,
  type PayerTransactionOutcome,
  SettlementDesk,
  type SettlementDeskOptions,
  type SettlementOutcome,
  type TransactionDesk,
  type TransactionDeskOptions,
  type Transfer,
} from "./settlement-desk.js";
