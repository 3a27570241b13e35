/**
 * Everything exported here is public API.
 *
 * @module
 */
export {
  type Chargeable,
  type ChargeableAnswer,
  type ChosenFacilitator,
  ConfigError,
  type ConfigIssue,
  type Facilitator,
  type FacilitatorChoice,
  type FacilitatorHealth,
  type FacilitatorState,
  FareboxError,
  type FareboxErrorCode,
  type Finding,
  type FindingCode,
  type HttpFacilitatorChoice,
  type Logger,
  type Payment,
  PaymentAbortedError,
  type PaymentAbortReason,
  type PaymentOption,
  type PaymentsOptions,
  type PaymentsReport,
  type PayToByNetwork,
  type Price,
  type ReportedOffer,
  type ReportedRoute,
  type RouteConfig,
  type RoutesConfig,
  type SettleTime,
  type StartTimer,
} from "@farebox/core";
export { createPayments, type Payments, paymentMiddleware } from "./payment-middleware.js";
