/**
 * For authors of adapters, such as `@farebox/express` and `@farebox/mcp`: the engine, its decisions, and what an adapter
 * tells it about a request. Everything exported here is public API.
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
} from "./engine.js";
export { IS_IDLE } from "./events/hooks.js";
export { createLogger, describeThrown } from "./events/logger.js";
export { privateCacheControl } from "./http/cache-control.js";
export { isHost } from "./http/urls.js";
export type { ChosenTexts } from "./paywall-texts.js";
export { IS_TOLD } from "./pricing/dynamic-price.js";
export {
  escapeHtml,
  type LoadPaywall,
  type PaywallDocument,
  type PaywallForm,
  type PaywallInput,
  type PaywallOffer,
  type PaywallRenderer,
  type PaywallSettings,
} from "./pricing/paywall.js";
export type { ChargedAs, PaidRequestPolicy, PaymentHeaderPolicy } from "./pricing/priced-route.js";
export { type Place, placeOfRoute } from "./pricing/resource.js";
export { writeCanonicalText } from "./protocol/canonical-text.js";
export {
  EXPOSE_HEADERS,
  EXPOSED_HEADERS,
  exposeHeaders,
  isOfPayments,
  isSettlementOverrides,
  mentionsPayments,
} from "./protocol/headers.js";
export type { DescribedOffer, DescribedRoute, DescribedTool } from "./report/described-routes.js";
export { belowThatMount, formBelow, formsOf, matchesMount } from "./route/path.js";
export {
  type BodyDigest,
  type BodyProblem,
  type BodyReading,
  type Cut,
  type GateRequest,
  joinValues,
} from "./route/request.js";
export type { HandlerQuery } from "./route/resolved-table.js";
export { isMoreSpecific } from "./route/route-table.js";
export type { HandlerPrices, Receiver, RegisteredRoute, RouterView } from "./route/router-view.js";
export { type GateResponse, streamTrailers } from "./sale/answers.js";
export { asksForPayment, type HandlerResponse, type Release, type Uncharged } from "./sale/charge.js";
export type { Admission, Decision, HeldAdmission, PrepaidAdmission } from "./sale/decision.js";
export { networkOf } from "./sale/request.js";
export { type SettledFor, settledFor } from "./sale/settle.js";
export type { Verdict } from "./sale/verdict.js";
export { type Metering, type StopReason, type StreamEnd, WHOLE_ONLY } from "./steps/metering.js";
export { RECEIPTS_PATH } from "./steps/receipts.js";
