/**
 * For sellers, and for authors of stores and facilitators. Everything exported here is public API.
 *
 * Adapters use `@farebox/core/adapter`, schemes `@farebox/core/scheme` and, for facilitators, `@farebox/core/facilitator`, options of your
 * own `@farebox/core/issues`, and peers of the protocol `@farebox/core/protocol`.
 *
 * @module
 */

export type {
  ChallengeByHand,
  ChallengeOptionsByHand,
  PaymentByHand,
  RefusalByHand,
  ReleaseOptionsByHand,
  RouteByHand,
  SaleByHand,
  SettlementByHand,
  SettleOptionsByHand,
  VerificationByHand,
} from "./by-hand/by-hand.js";
export type {
  HeadersByHand,
  KeptResponseByHand,
  OptionsByHand,
  PaidResponseByHand,
  RequestByHand,
  ResponseByHand,
} from "./by-hand/hand-request.js";
export type { PaymentsEngine } from "./engine.js";
export {
  AmountError,
  BodyNotParsedError,
  ConfigError,
  type ConfigIssue,
  FacilitatorError,
  type FacilitatorErrorCode,
  type FacilitatorFailure,
  FareboxError,
  type FareboxErrorCode,
  LedgerError,
  type LedgerProblem,
  PaymentAbortedError,
  type PaymentAbortReason,
  PriceError,
  ResponseError,
  RpcError,
  type RpcProblem,
  SchemeError,
  StateError,
  StoreError,
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
export type {
  Denial,
  Grant,
  HandlerFailure,
  HeldResponse,
  OwnResponse,
  PaidExchange,
  PaymentContext,
  PaymentHooks,
  PricedRequest,
  Refunded,
  SellersBody,
  SettledContext,
  SettlingContext,
  Verified,
  VerifyFailure,
} from "./events/hooks.js";
export type { FieldsFirstLogger, LogFields, LogFormat, Logger, LoggerOption } from "./events/logger.js";
export type { PaidResponse } from "./events/paid-response.js";
export type {
  ChallengeContext,
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
export type { FacilitatorScheme, SchemeHealth } from "./facilitator-side/facilitator-scheme.js";
export { createRpcNode, type RpcNode, type RpcNodeOptions } from "./http/rpc-node.js";
export type { Ledger, LedgerQuery, LedgerTime, Refund } from "./ledger/ledger.js";
export type { PaymentsLedger } from "./ledger/payments-ledger.js";
export type { SettledCall, SettledHandler, SettledHandlerOptions } from "./ledger/settled-handlers.js";
export type {
  Chargeable,
  ChargeableResponse,
  ChosenFacilitator,
  ConfirmationsByNetwork,
  FacilitatorChoice,
  HttpFacilitatorChoice,
  IdentifierMode,
  InputValidator,
  LedgerOptions,
  LedgerSale,
  NetworkName,
  PaymentOption,
  PaymentOptionList,
  PaymentsOptions,
  PayToByNetwork,
  PayToFunction,
  Paywall,
  PaywallColors,
  PaywallHtml,
  Price,
  PriceFunction,
  PriceParser,
  PriceRequest,
  RouteConfig,
  RoutesConfig,
  RpcByNetwork,
  RpcEndpoint,
  SettlementFailedBody,
  SettlementFailure,
  SettleTime,
  StartTimer,
  Unavailable,
  UnavailableBody,
  Unmetered,
  UnpaidBody,
} from "./options.js";
export type { PaywallTexts, PaywallTranslation } from "./paywall-texts.js";
export { type ExactPrice, price, usd } from "./price/exact-price.js";
export type { AssetPrice, DollarPrice, TickerPrice } from "./price/price.js";
export type { KnownNetwork, Network, NetworkPattern } from "./protocol/caip2.js";
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
export type { JsonObject } from "./protocol/json.js";
export type { Reason } from "./protocol/reasons.js";
export type { PaymentsHealth } from "./report/health.js";
export type { PaymentsReport, ReportedOffer, ReportedRoute } from "./report/report.js";
export type { Method, RouteKey } from "./route/route-key.js";
export type { Payment } from "./sale/handler.js";
export type { Recovery } from "./sale/recover.js";
export type {
  BalanceReading,
  ChainFinding,
  CompiledTerms,
  ConfirmationReading,
  DeadlineQuery,
  DeadlineReading,
  FactsQuery,
  IdentifiedPayment,
  OfferAsset,
  OfferTerms,
  PayeeCheck,
  PayeeQuery,
  PaymentQuery,
  PaymentReading,
  Scheme,
  SignatureFinding,
  SupportedOffer,
  TermsIssue,
  TransactionQuery,
} from "./scheme/scheme.js";
export type { EndingServer } from "./steps/draining.js";
export type { Listing } from "./steps/listings.js";
export { createMemoryStore, type MemoryStoreOptions, sizeOfAnswer } from "./store/memory-store.js";
export {
  type Claim,
  type ClaimRequest,
  type DeliveryMark,
  type ExposureEntry,
  type ExposureSums,
  MAX_ANSWER_BYTES,
  MOST_DUE,
  type Owned,
  type PaymentRecord,
  type PaymentState,
  type PaymentStore,
  RELEASABLE,
  type SharedExposure,
  type SharedRun,
  type SharedRuns,
  type StoredAnswer,
  type StoreProblem,
  TRANSITIONS,
  type Transition,
  UNFINISHED,
  UNLEASED,
} from "./store/payment-store.js";
export type {
  CursorLease,
  LedgerCount,
  LedgerEntry,
  LedgerRefund,
  LedgerSearch,
  MaybePromise,
  NewLedgerEntry,
  RefundChange,
  SharedLedger,
} from "./store/shared-ledger.js";
