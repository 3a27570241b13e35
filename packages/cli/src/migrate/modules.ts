/**
 * Which module of Farebox takes the place of which module of the reference.
 *
 * @module
 */

/** 1: only the middleware comes from Farebox. 2: everything that Farebox has. */
export type Depth = 1 | 2;

/** The replacement of one module. */
export interface Replacement {
  readonly module: string;
  /** The depth from which on it is replaced. */
  readonly from: Depth;
  /** The names that the replacement exports. A file that imports another name keeps its import. */
  readonly names: ReadonlySet<string>;
}

const COMPAT = "@farebox/express/compat";

const DOCUMENTS =
  "Network PaymentPayload PaymentRequired PaymentRequirements ResourceInfo SettleResponse SupportedKind SupportedResponse VerifyResponse";
const SERVER = `x402ResourceServer x402HTTPResourceServer HTTPFacilitatorClient RouteConfigurationError ResourceConfig
  FacilitatorClient FacilitatorConfig HTTPAdapter HTTPRequestContext RouteConfig RoutesConfig PaymentOption PaywallConfig PaywallProvider
  RouteValidationError SchemeNetworkServer SettlementOverrides`;
const BAZAAR = "declareDiscoveryExtension bazaarResourceServerExtension BAZAAR";
const IDENTIFIER = `declarePaymentIdentifierExtension PAYMENT_IDENTIFIER paymentIdentifierResourceServerExtension extractPaymentIdentifier
  isValidPaymentId extractAndValidatePaymentIdentifier validatePaymentIdentifierRequirement generatePaymentId hasPaymentIdentifier
  appendPaymentIdentifierToExtensions`;
const OFFERS = `createOfferReceiptExtension declareOfferReceiptExtension createJWSOfferReceiptIssuer createEIP712OfferReceiptIssuer`;
const BUILDER = "declareBuilderCodeExtension builderCodeResourceServerExtension BUILDER_CODE";
const SPONSORING = "declareEip2612GasSponsoringExtension declareErc20ApprovalGasSponsoringExtension";

/** By the reference's module. */
const REPLACEMENTS: Readonly<Record<string, Replacement>> = {
  "@x402/express": replaceBy(
    "",
    1,
    `paymentMiddleware paymentMiddlewareFromConfig paymentMiddlewareFromHTTPServer setSettlementOverrides ExpressAdapter
     x402ResourceServer x402HTTPResourceServer RouteConfigurationError SETTLEMENT_OVERRIDES_HEADER PaymentRequired PaymentRequirements
     PaymentPayload Network SchemeNetworkServer PaywallProvider PaywallConfig SettlementOverrides RouteValidationError SchemeRegistration`,
  ),
  "x402-express": replaceBy("/v1", 1, "paymentMiddleware"),
  "@x402/core/server": replaceBy("/core/server", 2, SERVER),
  "@x402/core/http": replaceBy(
    "/core/http",
    2,
    `x402HTTPResourceServer HTTPFacilitatorClient decodePaymentRequiredHeader encodePaymentRequiredHeader decodePaymentResponseHeader
     encodePaymentResponseHeader decodePaymentSignatureHeader encodePaymentSignatureHeader`,
  ),
  "@x402/core/types": replaceBy(
    "/core/types",
    2,
    `${DOCUMENTS} AssetAmount Money MoneyParser Price ResourceServerExtension SchemeNetworkServer`,
  ),
  "@x402/evm/exact/server": replaceBy("/evm/exact/server", 2, "ExactEvmScheme registerExactEvmScheme"),
  "@x402/evm/upto/server": replaceBy("/evm/upto/server", 2, "UptoEvmScheme registerUptoEvmScheme"),
  "@x402/svm/exact/server": replaceBy("/svm/exact/server", 2, "ExactSvmScheme registerExactSvmScheme"),
  "@x402/avm/exact/server": replaceBy("/avm/exact/server", 2, "ExactAvmScheme registerExactAvmScheme"),
  "@x402/extensions": replaceBy("/extensions", 2, `${BAZAAR} ${IDENTIFIER} ${OFFERS} ${BUILDER} ${SPONSORING}`),
  "@x402/extensions/bazaar": replaceBy("/extensions/bazaar", 2, BAZAAR),
  "@x402/extensions/payment-identifier": replaceBy("/extensions/payment-identifier", 2, IDENTIFIER),
  "@x402/extensions/offer-receipt": replaceBy("/extensions/offer-receipt", 2, OFFERS),
  "@x402/extensions/builder-code": replaceBy("/extensions/builder-code", 2, BUILDER),
  "@x402/paywall": replaceBy("/paywall", 2, "createPaywall evmPaywall svmPaywall avmPaywall"),
};

function replaceBy(subpath: string, from: Depth, names: string): Replacement {
  return { module: COMPAT + subpath, from, names: new Set(names.split(/\s+/)) };
}

/** The replacement of a module, at any depth. */
export function replacementOf(module: string): Replacement | undefined {
  return Object.hasOwn(REPLACEMENTS, module) ? REPLACEMENTS[module] : undefined;
}

/** Whether a module is one of the reference's, or one of its first version. */
export function isReference(module: string): boolean {
  return /^(@x402\/[^/]|x402-express(\/|$)|x402(\/|$))/.test(module);
}

/** The modules that have a replacement. */
export function replacedModules(): readonly string[] {
  return Object.keys(REPLACEMENTS);
}
