/**
 * The types of `@x402/express` and `@x402/core`, as sellers' files write and receive them. Structural: an object of
 * the reference's classes is one of these, too.
 *
 * Optional fields are as the reference declares them, so that its types fit in both directions, also with `exactOptionalPropertyTypes`.
 *
 * @module
 */

/** `namespace:reference`, or a pattern such as `eip155:*`. */
export type Network = `${string}:${string}`;

/** `"$0.01"`, `"0.01"`, `"0.01 USDT"`, or a number. */
export type Money = string | number;

/** An amount in atomic units of a named asset. */
export type AssetAmount = {
  asset: string;
  amount: string;
  extra?: Record<string, unknown>;
};

/** A price of the reference. */
export type Price = Money | AssetAmount;

/** Nothing that a hook receives is to be changed. */
export type DeepReadonly<T> = T extends (infer U)[]
  ? ReadonlyArray<DeepReadonly<U>>
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** What is sold. */
export interface ResourceInfo {
  url: string;
  description?: string;
  mimeType?: string;
  serviceName?: string;
  tags?: string[];
  iconUrl?: string;
}

/** One way to pay, in a challenge. */
export type PaymentRequirements = {
  scheme: string;
  network: Network;
  asset: string;
  amount: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: Record<string, unknown>;
};

/** A challenge. */
export type PaymentRequired = {
  x402Version: number;
  error?: string;
  resource: ResourceInfo;
  accepts: PaymentRequirements[];
  extensions?: Record<string, unknown>;
};

/** A client's payment. */
export type PaymentPayload = {
  x402Version: number;
  resource?: ResourceInfo;
  accepted: PaymentRequirements;
  payload: Record<string, unknown>;
  extensions?: Record<string, unknown>;
};

/** A facilitator's response to `verify`. */
export type VerifyResponse = {
  isValid: boolean;
  invalidReason?: string;
  invalidMessage?: string;
  payer?: string;
  extensions?: Record<string, unknown>;
  extensionResponses?: Record<string, unknown>;
  extra?: Record<string, unknown>;
};

/** A facilitator's response to `settle`. */
export type SettleResponse = {
  success: boolean;
  errorReason?: string;
  errorMessage?: string;
  payer?: string;
  transaction: string;
  network: Network;
  amount?: string;
  extensions?: Record<string, unknown>;
  extensionResponses?: Record<string, unknown>;
  extra?: Record<string, unknown>;
};

/** The body of `POST /verify`. */
export type VerifyRequest = {
  x402Version: number;
  paymentPayload: PaymentPayload;
  paymentRequirements: PaymentRequirements;
};

/** The body of `POST /settle`. */
export type SettleRequest = VerifyRequest;

/** A scheme on a network that a facilitator supports. */
export type SupportedKind = {
  x402Version: number;
  scheme: string;
  network: Network;
  extra?: Record<string, unknown>;
};

/** A facilitator's response to `supported`. */
export type SupportedResponse = {
  kinds: SupportedKind[];
  extensions: string[];
  signers: Record<string, string[]>;
};

/** Headers of a facilitator's calls, by call. */
export interface FacilitatorConfig {
  /** Base URL. */
  url?: string | undefined;
  /** The longest that a call may take. */
  timeoutMs?: number | undefined;
  /** Called before each call. */
  createAuthHeaders?:
    | (() => Promise<{
        verify?: Record<string, string>;
        settle?: Record<string, string>;
        supported?: Record<string, string>;
        bazaar?: Record<string, string>;
      }>)
    | undefined;
}

/** A facilitator in the reference's shape. */
export interface FacilitatorClient {
  verify(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements): Promise<VerifyResponse>;
  settle(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements): Promise<SettleResponse>;
  getSupported(): Promise<SupportedResponse>;
}

/** How the framework's request is read. `ExpressAdapter` implements it. */
export interface HTTPAdapter {
  getHeader(name: string): string | undefined;
  getMethod(): string;
  getPath(): string;
  getUrl(): string;
  getAcceptHeader(): string;
  getUserAgent(): string;
  getQueryParams?(): Record<string, string | string[]>;
  getQueryParam?(name: string): string | string[] | undefined;
  getBody?(): unknown;
}

/** What price functions, recipient functions and `onProtectedRequest` get. */
export interface HTTPRequestContext {
  adapter: HTTPAdapter;
  path: string;
  method: string;
  paymentHeader?: string;
  routePattern?: string;
  decodedPath?: string;
}

/** The request, and the response once there is one. */
export interface HTTPTransportContext {
  request: HTTPRequestContext;
  responseBody?: Buffer;
  responseHeaders?: Record<string, string>;
}

/** Settings of the page for browsers. */
export interface PaywallConfig {
  appName?: string;
  appLogo?: string;
  sessionTokenEndpoint?: string;
  currentUrl?: string;
  testnet?: boolean;
}

/** Writes the page for browsers. */
export interface PaywallProvider {
  generateHtml(paymentRequired: PaymentRequired, config?: PaywallConfig): string;
}

/** A body of the seller's. */
export interface HTTPResponseBody {
  contentType: string;
  body: unknown;
}

/** Returns the recipient of a request. */
export type DynamicPayTo = (context: HTTPRequestContext) => string | Promise<string>;
/** Returns the price of a request. */
export type DynamicPrice = (context: HTTPRequestContext) => Price | Promise<Price>;
/** Returns the body of the 402 of an unpaid request. */
export type UnpaidResponseBody = (context: HTTPRequestContext) => HTTPResponseBody | Promise<HTTPResponseBody>;

/** A settlement that was refused. */
export type ProcessSettleFailureResponse = SettleResponse & {
  success: false;
  errorReason: string;
  errorMessage?: string;
  headers: Record<string, string>;
  response: HTTPResponseInstructions;
};

/** A settlement that succeeded. */
export type ProcessSettleSuccessResponse = SettleResponse & {
  success: true;
  headers: Record<string, string>;
  requirements: PaymentRequirements;
};

/** How a settlement ended. */
export type ProcessSettleResultResponse = ProcessSettleSuccessResponse | ProcessSettleFailureResponse;

/** A response to write. */
export interface HTTPResponseInstructions {
  status: number;
  headers: Record<string, string>;
  body?: unknown;
  isHtml?: boolean;
}

/** Returns the body of the 402 of a settlement that was refused. */
export type SettlementFailedResponseBody = (
  context: HTTPRequestContext,
  settleResult: Omit<ProcessSettleFailureResponse, "response">,
) => HTTPResponseBody | Promise<HTTPResponseBody>;

/** One way to pay for a route. */
export interface PaymentOption {
  scheme: string;
  payTo: string | DynamicPayTo;
  price: Price | DynamicPrice;
  network: Network;
  maxTimeoutSeconds?: number;
  extra?: Record<string, unknown>;
}

/** A priced route. */
export interface RouteConfig {
  accepts: PaymentOption | PaymentOption[];
  resource?: string;
  description?: string;
  mimeType?: string;
  serviceName?: string;
  tags?: string[];
  iconUrl?: string;
  customPaywallHtml?: string;
  unpaidResponseBody?: UnpaidResponseBody;
  settlementFailedResponseBody?: SettlementFailedResponseBody;
  extensions?: Record<string, unknown>;
}

/** Routes by key, or one route for every path. */
export type RoutesConfig = Record<string, RouteConfig> | RouteConfig;

/** What a hook of `onProtectedRequest` says. */
export type ProtectedRequestDecision = { grantAccess: true } | { abort: true; reason: string };

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that has nothing to say is written without a return
type Said<T> = Promise<void | T>;

/** Decides about a request before anything else. */
export type ProtectedRequestHook = (
  context: HTTPRequestContext,
  routeConfig: RouteConfig,
) => Said<ProtectedRequestDecision>;

/** When a settlement takes place. */
export type SettlePhase = "before-handler" | "after-handler" | "cancel";

/** What `onBeforeVerify` gets. */
export interface VerifyContext {
  paymentPayload: DeepReadonly<PaymentPayload>;
  requirements: DeepReadonly<PaymentRequirements>;
  declaredExtensions: DeepReadonly<Record<string, unknown>>;
  transportContext?: unknown;
}

/** What `onAfterVerify` gets. */
export interface VerifyResultContext extends VerifyContext {
  result: DeepReadonly<VerifyResponse>;
}

/** What `onVerifyFailure` gets. */
export interface VerifyFailureContext extends VerifyContext {
  error: Error;
}

/** What `onBeforeSettle` gets. */
export interface SettleContext {
  paymentPayload: DeepReadonly<PaymentPayload>;
  requirements: DeepReadonly<PaymentRequirements>;
  declaredExtensions: DeepReadonly<Record<string, unknown>>;
  phase: SettlePhase;
  transportContext?: unknown;
}

/** What `onAfterSettle` gets. */
export interface SettleResultContext extends SettleContext {
  result: DeepReadonly<SettleResponse>;
}

/** What `onSettleFailure` gets. */
export interface SettleFailureContext extends SettleContext {
  error: Error;
}

/** Why a verified payment is not charged. */
export type VerifiedPaymentCancellationReason = "handler_threw" | "handler_failed" | "after_verify_aborted";

/** What `onVerifiedPaymentCanceled` gets. */
export interface VerifiedPaymentCanceledContext extends SettleContext {
  reason: VerifiedPaymentCancellationReason;
  error?: unknown;
  responseStatus?: number;
  readonly settledPhases: readonly SettlePhase[];
}

/** Refuses a payment. */
export type Abort = { abort: true; reason: string; message?: string };
/** Responds in place of the handler. */
export interface SkipHandlerDirective {
  contentType?: string;
  body?: unknown;
}

/** @see VerifyContext */
export type BeforeVerifyHook = (context: VerifyContext) => Said<Abort | { skip: true; result: VerifyResponse }>;
/** @see VerifyResultContext */
export type AfterVerifyHook = (
  context: VerifyResultContext,
) => Said<{ skipHandler: true; response?: SkipHandlerDirective } | Abort>;
/** @see VerifyFailureContext */
export type OnVerifyFailureHook = (context: VerifyFailureContext) => Said<{ recovered: true; result: VerifyResponse }>;
/** @see SettleContext */
export type BeforeSettleHook = (context: SettleContext) => Said<Abort | { skip: true; result: SettleResponse }>;
/** @see SettleResultContext */
export type AfterSettleHook = (context: SettleResultContext) => Promise<void>;
/** @see SettleFailureContext */
export type OnSettleFailureHook = (context: SettleFailureContext) => Said<{ recovered: true; result: SettleResponse }>;
/** @see VerifiedPaymentCanceledContext */
export type OnVerifiedPaymentCanceledHook = (context: VerifiedPaymentCanceledContext) => Promise<void>;

/** The hooks of a scheme. */
export interface SchemeServerHooks {
  onBeforeVerify?: BeforeVerifyHook;
  onAfterVerify?: AfterVerifyHook;
  onVerifyFailure?: OnVerifyFailureHook;
  onBeforeSettle?: BeforeSettleHook;
  onAfterSettle?: AfterSettleHook;
  onSettleFailure?: OnSettleFailureHook;
  onVerifiedPaymentCanceled?: OnVerifiedPaymentCanceledHook;
}

/** A hook that gets a route's declaration of its extension first. */
type Declared<Hook> = Hook extends (context: infer Context) => infer Result
  ? (declaration: unknown, context: Context) => Result
  : never;

/** The hooks of an extension. */
export interface ResourceServerExtensionHooks {
  onBeforeVerify?: Declared<BeforeVerifyHook>;
  onAfterVerify?: Declared<AfterVerifyHook>;
  onVerifyFailure?: Declared<OnVerifyFailureHook>;
  onBeforeSettle?: Declared<BeforeSettleHook>;
  onAfterSettle?: Declared<AfterSettleHook>;
  onSettleFailure?: Declared<OnSettleFailureHook>;
  onVerifiedPaymentCanceled?: Declared<OnVerifiedPaymentCanceledHook>;
}

/** The hook of an extension about requests. */
export interface HTTPResourceServerExtensionHooks {
  onProtectedRequest?: (
    declaration: unknown,
    context: HTTPRequestContext,
    routeConfig: RouteConfig,
  ) => Said<ProtectedRequestDecision>;
}

/** What `enrichPaymentRequiredResponse` gets. */
export interface PaymentRequiredContext {
  requirements: PaymentRequirements[];
  resourceInfo: ResourceInfo;
  error?: string;
  paymentRequiredResponse: PaymentRequired;
  transportContext?: unknown;
}

/** An extension of the reference's shape. It is active on routes that declare its key. */
export interface ResourceServerExtension {
  key: string;
  dynamicInfoFields?: string[];
  enrichDeclaration?: (declaration: unknown, transportContext: unknown) => unknown;
  enrichPaymentRequiredResponse?: (declaration: unknown, context: PaymentRequiredContext) => Promise<unknown>;
  enrichSettlementResponse?: (declaration: unknown, context: SettleResultContext) => Promise<unknown>;
  hooks?: ResourceServerExtensionHooks;
  transportHooks?: { http?: HTTPResourceServerExtensionHooks };
}

/** When a payment of a scheme settles. */
export type PaymentFlowName = "authorization" | "upfront" | "escrow";

/** The flows of one way to transfer an asset. */
export interface PaymentFlowConfig {
  readonly supported: readonly PaymentFlowName[];
  readonly default: PaymentFlowName;
}

/** Reads a decimal amount as an asset; `null`: the next parser does. 2.10 gave it a number, 2.27 gives it a text. */
export type MoneyParser = (
  // biome-ignore lint/suspicious/noExplicitAny: written for 2.10 it takes a number, for 2.27 a text
  amount: any,
  network: Network,
) => Promise<AssetAmount | null>;

/** A scheme of the reference's shape. */
export interface SchemeNetworkServer {
  readonly scheme: string;
  readonly defaultAssetTransferMethod?: string;
  readonly paymentFlows?: Readonly<Record<string, PaymentFlowConfig>>;
  readonly schemeHooks?: SchemeServerHooks;
  readonly dynamicExtraFields?: string[];
  parsePrice(price: Price, network: Network): Promise<AssetAmount>;
  getAssetDecimals?(asset: string, network: Network): number | undefined;
  enhancePaymentRequirements(
    paymentRequirements: PaymentRequirements,
    supportedKind: SupportedKind,
    facilitatorExtensions: string[],
  ): Promise<PaymentRequirements>;
  // biome-ignore lint/suspicious/noConfusingVoidType: as the reference declares it
  validateFacilitatorSupport?(network: Network, kind: SupportedKind, extensions: string[]): string | void;
}

/** A scheme for the networks of a pattern. */
export interface SchemeRegistration {
  network: Network;
  server: SchemeNetworkServer;
}

/** The terms of one offer, for `buildPaymentRequirements`. */
export interface ResourceConfig {
  scheme: string;
  payTo: string;
  price: Price;
  network: Network;
  maxTimeoutSeconds?: number | undefined;
  extra?: Record<string, unknown> | undefined;
}

/** One mistake in a route table. */
export interface RouteValidationError {
  routePattern: string;
  scheme: string;
  network: Network;
  reason: "missing_scheme" | "missing_facilitator" | "unsupported_asset_transfer_method" | "unsupported_payment_flow";
  message: string;
}

/** The amount to charge for a response: atomic units, a percentage, or dollars. */
export interface SettlementOverrides {
  amount?: string | undefined;
}

/** The part of an `x402ResourceServer` that every version has, the reference's and ours. */
export interface ResourceServerLike {
  hasExtension(key: string): boolean;
  hasRegisteredScheme(network: Network, scheme: string): boolean;
  initialize(): Promise<void>;
}

/** The part of an `x402HTTPResourceServer` that every version has, the reference's and ours. */
export interface HTTPResourceServerLike {
  readonly server: ResourceServerLike;
  readonly routes: RoutesConfig;
  initialize(): Promise<void>;
}
