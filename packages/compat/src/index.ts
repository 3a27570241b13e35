/**
 * What sellers' files import from `@x402/express`, `@x402/core`, `@x402/evm`, `@x402/svm` and `@x402/avm`, under the same names.
 *
 * @see `docs/reference/compat.md`
 * @module
 */
export {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  decodePaymentSignatureHeader,
  encodePaymentRequiredHeader,
  encodePaymentResponseHeader,
  encodePaymentSignatureHeader,
  safeBase64Decode,
  safeBase64Encode,
} from "./classes/codecs.js";
export {
  FacilitatorCapabilityError,
  FacilitatorResponseError,
  FacilitatorTimeoutError,
  getFacilitatorResponseError,
  HTTPFacilitatorClient,
  SettleError,
  VerifyError,
} from "./classes/facilitator-client.js";
export { x402HTTPResourceServer } from "./classes/http-resource-server.js";
export { convertToTokenAmount, numberToDecimalString, type ParsedMoney, parseMoney } from "./classes/money.js";
export { x402ResourceServer } from "./classes/resource-server.js";
export {
  BatchSettlementEvmScheme,
  type EvmResourceServerConfig,
  ExactAvmScheme,
  ExactEvmScheme,
  ExactSvmScheme,
  type ExactSvmServerOptions,
  registerExactEvmScheme,
  registerExactSvmScheme,
  type SvmResourceServerConfig,
  UptoEvmScheme,
  UptoSvmScheme,
} from "./classes/schemes.js";
// biome-ignore lint/performance/noReExportAll: each of the extensions is one of the reference's
export * from "./extensions/index.js";
export {
  type PaymentMiddleware,
  paymentMiddleware,
  paymentMiddlewareFromConfig,
  paymentMiddlewareFromHTTPServer,
  setSettlementOverrides,
} from "./middleware.js";
export { avmPaywall, createPaywall, evmPaywall, svmPaywall } from "./paywall.js";
export { ExpressAdapter } from "./translation/context.js";
export type { EngineOptions } from "./translation/engine-options.js";
export { matchesPattern as networkMatchesPattern } from "./translation/registrations.js";
export { RouteConfigurationError } from "./translation/routes.js";
export type * from "./types.js";

/** The header by which the reference's handlers set the amount. Here it has no effect: call `setSettlementOverrides`. */
export const SETTLEMENT_OVERRIDES_HEADER = "Settlement-Overrides";
/** The version of the protocol. */
export const x402Version = 2;
