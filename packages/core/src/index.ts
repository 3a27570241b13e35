/**
 * Everything exported here is public API.
 *
 * @module
 */
export {
  AmountError,
  ConfigError,
  type ConfigIssue,
  FacilitatorError,
  type FacilitatorErrorCode,
  type FacilitatorFailure,
  FareboxError,
  type FareboxErrorCode,
  PaymentAbortedError,
  type PaymentAbortReason,
  RpcError,
  type RpcProblem,
  StateError,
} from "./errors.js";
export type { Finding, FindingCode } from "./events/findings.js";
export { legible } from "./events/legible.js";
export type { LogFields, Logger } from "./events/logger.js";
export type {
  CancelReason,
  DeniedBy,
  PaymentEvent,
  PaymentEventMap,
  PaymentEventType,
  PaymentFacts,
  PaymentListener,
} from "./events/payment-events.js";
export type {
  CompiledDeclaration,
  DeclarationContext,
  DeclarationNotice,
  DeclarationOccasion,
  Extension,
  InputProblem,
  Outline,
  RequestInput,
  RouteFacts,
  RoutePath,
} from "./extension/extension.js";
export type { Deadlines } from "./facilitator/deadlines.js";
export type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator/facilitator.js";
export type { FacilitatorHealth, FacilitatorState } from "./facilitator/facilitator-status.js";
export {
  createHttpFacilitator,
  type FacilitatorHeaders,
  type HttpFacilitatorOptions,
} from "./facilitator/http-facilitator.js";
export type { Admission, HandlerAnswer, Release } from "./gate/admission.js";
export type { Answer } from "./gate/answer.js";
export type { Recovery } from "./gate/background.js";
export type { Chargeable, ChargeableAnswer } from "./gate/chargeable.js";
export type { Decision } from "./gate/decision.js";
export type { DescribedOffer, DescribedRoute } from "./gate/described-routes.js";
export type { Gate, RouteGate } from "./gate/gate.js";
export type { Payment } from "./gate/handlers-payment.js";
export type { Denial, Grant, PaymentHooks, PricedRequest } from "./gate/hooks.js";
export type { Listing } from "./gate/listings.js";
export type {
  ChosenFacilitator,
  FacilitatorChoice,
  HttpFacilitatorChoice,
  IdentifierMode,
  InputValidator,
  PaymentOption,
  PaymentsOptions,
  PayToByNetwork,
  PayToFunction,
  Price,
  PriceFunction,
  PriceRequest,
  RouteConfig,
  RoutesConfig,
  RpcByNetwork,
  RpcEndpoint,
  SettleTime,
  Unmetered,
} from "./gate/options.js";
export type { BuiltIn } from "./gate/parse-parts.js";
export type { ChargedAs } from "./gate/parse-routes.js";
export { createPaymentsEngine, createPaymentsGate, type PaymentsEngine } from "./gate/payments.js";
export { matchesMount, type Place, placeOfRoute } from "./gate/place.js";
export type { Prepaid } from "./gate/prepaid.js";
export type { PaymentsReport, ReportedOffer, ReportedRoute } from "./gate/report.js";
export type { GateRequest } from "./gate/request.js";
export type { RegisteredRoute, RouterView } from "./gate/router-view.js";
export type { StartTimer } from "./gate/run.js";
export { privateCacheControl } from "./http/cache-control.js";
export { EXPOSE_HEADERS, exposeHeaders } from "./http/expose-headers.js";
export {
  decodeExtensionResponses,
  EXTENSION_RESPONSES,
  encodeExtensionResponses,
} from "./http/extension-responses.js";
export { isHost } from "./http/host.js";
export { decodePaymentRequired, PAYMENT_REQUIRED } from "./http/payment-required.js";
export { decodePaymentResponse, PAYMENT_RESPONSE } from "./http/payment-response.js";
export {
  type DecodedPayment,
  decodePaymentSignature,
  encodePaymentSignature,
  PAYMENT_SIGNATURE,
} from "./http/payment-signature.js";
export { createRpcNode, type RpcNode, type RpcNodeOptions } from "./http/rpc-node.js";
export { isSettlementOverrides } from "./http/settlement-overrides.js";
export { createIssues, type Issues, join as issuePath, type NumberRange } from "./issues.js";
export type { MaybePromise } from "./maybe-promise.js";
export { canonicalNetwork, isNetwork, type Network, type NetworkPattern, sameNetwork } from "./network/caip2.js";
export {
  type AssetPrice,
  type DollarPrice,
  type ParsedAmount,
  type ParsedPrice,
  type PricingAsset,
  parseAtomic,
  parsePrice,
  type TickerPrice,
} from "./price/price.js";
export { toCanonicalText } from "./protocol/canonical-text.js";
export type { ExtensionOutcome, ExtensionResponses, ExtensionStatus } from "./protocol/extension-responses.js";
export type { ExtensionDeclaration, Extensions } from "./protocol/extensions.js";
export { isJsonObject, type JsonObject, type ParsedJson, parseJson } from "./protocol/json.js";
export type { CanonicalPayment, PaymentPayload } from "./protocol/payment-payload.js";
export type { AdvertisedRequirements, PaymentRequired } from "./protocol/payment-required.js";
export type { AcceptedRequirements, PaymentRequirements } from "./protocol/payment-requirements.js";
export {
  type AddedReason,
  type AvmReason,
  isReason,
  type Reason,
  type SpecifiedReason,
  type SvmReason,
} from "./protocol/reasons.js";
export type { ResourceInfo } from "./protocol/resource-info.js";
export type { SettlementResponse } from "./protocol/settlement-response.js";
export type { SupportedKind, SupportedResponse } from "./protocol/supported-response.js";
export type { VerifyResponse } from "./protocol/verify-response.js";
export { samplesOf } from "./route/compile-path.js";
export {
  type OpaqueReceiver,
  type Receiver,
  type Receivers,
  type ReceiversOf,
  UNKNOWN_RECEIVERS,
} from "./route/receivers.js";
export type { Method, RouteKey } from "./route/route-key.js";
export type { FacilitatorScheme, SchemeHealth } from "./scheme/facilitator-scheme.js";
export type {
  ChainFinding,
  CompiledTerms,
  IdentifiedPayment,
  OfferAsset,
  OfferTerms,
  PayeeCheck,
  PayeeQuery,
  PaymentQuery,
  PaymentReading,
  Scheme,
  SignatureCheck,
  TermsIssue,
} from "./scheme/scheme.js";
export { createMemoryStore, type MemoryStoreOptions } from "./store/memory-store.js";
export {
  type PaymentRecord,
  type PaymentState,
  RELEASABLE,
  type StoredAnswer,
  TRANSITIONS,
  UNFINISHED,
} from "./store/payment-record.js";
export type { Claim, ClaimRequest, PaymentStore, Transition } from "./store/payment-store.js";
