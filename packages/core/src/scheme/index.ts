/**
 * Tools for authors of schemes. Every export is public API. The interfaces `Scheme` and `FacilitatorScheme` are in `@farebox/core`.
 *
 * @module
 */
export { legible } from "../events/logger.js";
export {
  formatAmount,
  type ParsedAmount,
  type ParsedPrice,
  type PricingAsset,
  parseAtomic,
  parsePrice,
} from "../price/price.js";
export { isSignedBy, SIGNATURE_BYTES } from "./ed25519.js";
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
  compileTerms,
  type KnownAsset,
  type NamedAsset,
  type PricedTerms,
  type Pricing,
  type PricingById,
  priceTerms,
  pricingById,
} from "./price-terms.js";
export {
  type AskedNode,
  accept,
  askAtMost,
  type Fields,
  fieldsOf,
  orUnclear,
  type Reading,
  type Refusal,
  readUint64,
  refuse,
  type Unclear,
  unclear,
} from "./reading.js";
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
