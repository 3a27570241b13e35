/**
 * What authors of schemes share. Everything exported here is public API. What a scheme fulfils, `Scheme` and
 * `FacilitatorScheme`, is in `@farebox/core`.
 *
 * @module
 */
export { isSignedBy, readSigningKey, SIGNATURE_BYTES, type SigningKey } from "./ed25519.js";
export { type Fields, fieldsOf } from "./fields.js";
export { type KnownAsset, type NamedAsset, type PricedTerms, type Pricing, priceTerms } from "./price-terms.js";
export { accept, type Reading, type Refusal, refuse } from "./reading.js";
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
export { createTransactionScheme, type FeePaidChain, type TransactionSchemeOptions } from "./transaction-scheme.js";
export { orUnclear, type Unclear, unclear } from "./unclear.js";
