/**
 * Everything exported here is public API.
 *
 * @module
 */
export {
  ConfigError,
  type ConfigIssue,
  FacilitatorError,
  type FacilitatorErrorCode,
  type FacilitatorFailure,
  FareboxError,
  type FareboxErrorCode,
  StateError,
} from "./errors.js";
export type { Facilitator, FacilitatorRequest } from "./facilitator/facilitator.js";
export type { ExtensionDeclaration, Extensions } from "./protocol/extensions.js";
export type { CanonicalPayment, PaymentPayload } from "./protocol/payment-payload.js";
export type { AdvertisedRequirements, PaymentRequired } from "./protocol/payment-required.js";
export type { AcceptedRequirements, PaymentRequirements } from "./protocol/payment-requirements.js";
export { type AddedReason, isReason, type Reason, type SpecifiedReason } from "./protocol/reasons.js";
export type { ResourceInfo } from "./protocol/resource-info.js";
export type { SettlementResponse } from "./protocol/settlement-response.js";
export type { SupportedKind, SupportedResponse } from "./protocol/supported-response.js";
export type { VerifyResponse } from "./protocol/verify-response.js";
export type { FacilitatorScheme, SchemeHealth } from "./scheme/facilitator-scheme.js";
