/**
 * Everything exported here is public API.
 *
 * @module
 */

export type { BuiltIn } from "./config/parse-options.js";
export {
  createPaymentsEngine,
  createPaymentsGate,
  type PaymentsEngine,
  type RouteGate,
  type TableGate,
  type TableGate as Gate,
} from "./engine.js";
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
export type {
  CancelReason,
  DeniedBy,
  PaymentEvent,
  PaymentEventMap,
  PaymentEventType,
  PaymentFacts,
  PaymentListener,
} from "./events/events.js";
export type { Finding, FindingCode } from "./events/findings.js";
export type { Denial, Grant, PaymentHooks, PricedRequest } from "./events/hooks.js";
export { type LogFields, type Logger, legible } from "./events/logger.js";
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
} from "./extension.js";
export type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator/facilitator.js";
export {
  createHttpFacilitator,
  type FacilitatorHeaders,
  type HttpFacilitatorOptions,
} from "./facilitator/http-facilitator.js";
export type { Deadlines, FacilitatorHealth, FacilitatorState } from "./facilitator/pool-member.js";
export type {
  Admission,
  Decision,
  HandlerResponse,
  HeldAdmission,
  PrepaidAdmission,
  Release,
} from "./gate/admission.js";
export type { Payment } from "./gate/payment.js";
export type { GateResponse } from "./gate/responses.js";
export { privateCacheControl } from "./http/cache-control.js";
export { createRpcNode, type RpcNode, type RpcNodeOptions } from "./http/rpc-node.js";
export { isHost } from "./http/urls.js";
export { createIssues, type Issues, join as issuePath, type NumberRange } from "./issues.js";
export type {
  Chargeable,
  ChargeableResponse,
  ChargeableResponse as ChargeableAnswer,
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
  StartTimer,
  Unmetered,
} from "./options.js";
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
export type { ChargedAs } from "./pricing/priced-route.js";
export { matchesMount, type Place, placeOfRoute } from "./pricing/resource.js";
export { canonicalNetwork, isNetwork, type Network, type NetworkPattern, sameNetwork } from "./protocol/caip2.js";
export { toCanonicalText } from "./protocol/canonical-text.js";
export type {
  AcceptedRequirements,
  AdvertisedRequirements,
  CanonicalPayment,
  ExtensionDeclaration,
  ExtensionOutcome,
  ExtensionResponses,
  ExtensionStatus,
  Extensions,
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  ResourceInfo,
  SettlementResponse,
  SupportedKind,
  SupportedResponse,
  VerifyResponse,
} from "./protocol/documents.js";
export {
  type DecodedPayment,
  decodeExtensionResponses,
  decodePaymentRequired,
  decodePaymentResponse,
  decodePaymentSignature,
  EXPOSE_HEADERS,
  EXTENSION_RESPONSES,
  encodeExtensionResponses,
  encodePaymentSignature,
  exposeHeaders,
  isSettlementOverrides,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
  PAYMENT_SIGNATURE,
} from "./protocol/headers.js";
export { isJsonObject, type JsonObject, type ParsedJson, parseJson } from "./protocol/json.js";
export {
  type AddedReason,
  type AvmReason,
  isReason,
  type Reason,
  type SpecifiedReason,
  type SvmReason,
} from "./protocol/reasons.js";
export type { DescribedOffer, DescribedRoute } from "./report/described-routes.js";
export type { PaymentsReport, ReportedOffer, ReportedRoute } from "./report/report.js";
export { samplesOf } from "./route/path.js";
export type { GateRequest } from "./route/request.js";
export type { Method, RouteKey } from "./route/route-key.js";
export {
  type OpaqueReceiver,
  type Receiver,
  type Receivers,
  type ReceiversOf,
  type RegisteredRoute,
  type RouterView,
  UNKNOWN_RECEIVERS,
} from "./route/router-view.js";
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
export type { Listing } from "./settlement/listings.js";
export type { Recovery } from "./settlement/recovery.js";
export { createMemoryStore, type MemoryStoreOptions } from "./store/memory-store.js";
export {
  type Claim,
  type ClaimRequest,
  type MaybePromise,
  type PaymentRecord,
  type PaymentState,
  type PaymentStore,
  RELEASABLE,
  type StoredAnswer,
  TRANSITIONS,
  type Transition,
  UNFINISHED,
} from "./store/payment-store.js";
