/**
 * Everything exported here is public API.
 *
 * @module
 */

export type { BazaarForm, LlmsTxtOptions, OpenApiOptions } from "@farebox/bazaar";
export {
  type CancelReason,
  type Chargeable,
  type ChargeableAnswer,
  type ChosenFacilitator,
  ConfigError,
  type ConfigIssue,
  type Denial,
  type DeniedBy,
  type Facilitator,
  type FacilitatorChoice,
  type FacilitatorHealth,
  type FacilitatorState,
  FareboxError,
  type FareboxErrorCode,
  type Finding,
  type FindingCode,
  type Grant,
  type HttpFacilitatorChoice,
  type IdentifierMode,
  type InputValidator,
  type Listing,
  type Logger,
  type Payment,
  PaymentAbortedError,
  type PaymentAbortReason,
  type PaymentEvent,
  type PaymentEventMap,
  type PaymentEventType,
  type PaymentFacts,
  type PaymentHooks,
  type PaymentListener,
  type PaymentOption,
  type PaymentsEngine,
  type PaymentsOptions,
  type PaymentsReport,
  type PayToByNetwork,
  type PayToFunction,
  type Price,
  type PricedRequest,
  type PriceFunction,
  type PriceRequest,
  type Recovery,
  type ReportedOffer,
  type ReportedRoute,
  type RouteConfig,
  type RoutesConfig,
  type SettlementResponse,
  type SettleTime,
  type StartTimer,
  type Unmetered,
} from "@farebox/core";
export type { Documents } from "./documents.js";
export { createPayments, paymentMiddleware } from "./payment-middleware.js";
export { type Payments, type SettlementOverrides, setSettlementOverrides } from "./payments.js";
