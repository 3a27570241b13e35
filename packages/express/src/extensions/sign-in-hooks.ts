/**
 * The extension `sign-in-with-x` as hooks for `onProtectedRequest` and `onAfterSettle` of `@farebox/express/compat`, and the constant of
 * version 2.10 of `@x402/extensions`.
 *
 * @module
 */
import { createIssues } from "@farebox/core/issues";
import { HOST_UNKNOWN, isFromHere, ownUrl, plainPathOf, readOrigin } from "./own-host.js";
import {
  admit,
  type CreateSIWxOptions,
  challengeFor,
  checkStorage,
  type PaidForRequest,
  resourceOf,
  SIGN_IN_WITH_X,
  type SIWxDeclaration,
} from "./sign-in-with-x.js";

/** Options of {@link createSIWxRequestHook}. */
export interface CreateSIWxRequestHookOptions extends Omit<CreateSIWxOptions, "origin"> {
  /**
   * The origin that wallets sign in to.
   *
   * @example "https://api.example.com"
   * @defaultValue none: nobody can sign in, except on this very machine
   */
  readonly origin?: string | undefined;
}

/** Options of {@link createSIWxSettleHook}. */
export type CreateSIWxSettleHookOptions = Pick<CreateSIWxOptions, "storage" | "onEvent">;

/** The parts of a context that the request hook reads. */
interface RequestContext {
  readonly path: string;
  readonly adapter: Adapter;
}

interface Adapter {
  getHeader(name: string): string | undefined;
  getUrl?(): string;
  getMethod?(): string;
  getBody?(): unknown;
  /** The framework's request. */
  readonly req?: unknown;
}

/** The parts of a context that the settle hook reads. */
interface SettleContext {
  readonly result: {
    readonly success: boolean;
    readonly payer?: string | undefined;
    readonly amount?: string | undefined;
  };
  readonly paymentPayload: { readonly resource?: { readonly url: string } | undefined };
  readonly transportContext?: unknown;
}

/**
 * Creates a hook for `onProtectedRequest`: a wallet that signs in gets what it has paid for. Without an origin it warns, as version 2.10
 * did without one: a client could sign in to another server, and use that here.
 *
 * @throws ConfigError with every issue at once.
 */
export function createSIWxRequestHook(
  options: CreateSIWxRequestHookOptions,
): (
  context: RequestContext,
  routeConfig?: { readonly accepts?: unknown },
) => Promise<{ grantAccess: true } | undefined> {
  const issues = createIssues();
  const origin = readOrigin("options.origin", options?.origin, issues);
  checkStorage(options?.storage, issues);
  issues.throwIfAny();
  if (origin === undefined) process.emitWarning(NO_ORIGIN, { type: "FareboxWarning", code: HOST_UNKNOWN.code });
  return async ({ adapter, path }, routeConfig) => {
    const header = adapter.getHeader(SIGN_IN_WITH_X);
    if (header === undefined || header === "") return undefined;
    const accepts = routeConfig?.accepts;
    const isAuthOnly = Array.isArray(accepts) && accepts.length === 0;
    const own = ownUrl(adapter.getUrl?.() ?? origin ?? "", [], origin);
    if (own === undefined || (origin === undefined && !isFromHere(own, adapter.req))) return undefined;
    const resource = isAuthOnly ? path : resourceOf(paidFor(path, adapter));
    if (resource === undefined) return undefined;
    const isGranted = await admit(header, { origin: new URL(own), resource }, { ...options, isAuthOnly });
    return isGranted ? { grantAccess: true } : undefined;
  };
}

const NO_ORIGIN =
  "createSIWxRequestHook has no origin, so nobody can sign in except on this machine: set it, such as https://api.example.com";

/** Creates a hook for `onAfterSettle`: it records who has paid for which path. */
export function createSIWxSettleHook(options: CreateSIWxSettleHookOptions): (context: SettleContext) => Promise<void> {
  const issues = createIssues();
  checkStorage(options?.storage, issues);
  issues.throwIfAny();
  const { storage, onEvent } = options;
  return async ({ result: { success, payer, amount }, paymentPayload, transportContext }) => {
    const request = requestOf(transportContext);
    const path = request === undefined ? plainPathOf(paymentPayload.resource?.url ?? "") : undefined;
    const resource = request === undefined ? path : resourceOf(request);
    // Nothing was paid, if it is an amount of zero.
    if (!success || payer === undefined || resource === undefined || amount === "0") return;
    await storage.recordPayment(resource, payer);
    onEvent?.({ type: "payment_recorded", resource, address: payer });
  };
}

/** The request that was paid for. The client writes the resource of its payment, and might write another. */
function requestOf(transportContext: unknown): PaidForRequest | undefined {
  const request = isObject(transportContext) ? transportContext["request"] : undefined;
  const { path, adapter } = isObject(request) ? request : {};
  if (typeof path !== "string") return undefined;
  return paidFor(path, isObject(adapter) ? (adapter as unknown as Adapter) : undefined);
}

/** An object of any class. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Reads what the adapter of a framework can tell. */
function paidFor(path: string, adapter: Partial<Adapter> = {}): PaidForRequest {
  const url = adapter.getUrl?.() ?? "";
  return {
    path,
    method: adapter.getMethod?.() ?? "GET",
    search: URL.canParse(url) ? new URL(url).search : "",
    body: adapter.getBody?.(),
    header: (name) => adapter.getHeader?.(name),
  };
}

/** The constant of version 2.10: a fresh challenge for each request. Its hooks are registered apart. */
export const siwxResourceServerExtension: {
  readonly key: string;
  readonly dynamicInfoFields: string[];
  enrichPaymentRequiredResponse(declaration: unknown, context: ChallengeContext): Promise<SIWxDeclaration>;
} = Object.freeze({
  key: SIGN_IN_WITH_X,
  dynamicInfoFields: ["nonce", "issuedAt", "expirationTime"],
  async enrichPaymentRequiredResponse(declaration: unknown, { requirements, resourceInfo }: ChallengeContext) {
    const { _options = {} } = (declaration ?? {}) as { _options?: Options };
    const { statement, network, expirationSeconds, version = "1", resourceUri, domain } = _options;
    const networks = network === undefined ? requirements.map((offer) => offer.network) : [network].flat();
    const info = { version, ...(statement === undefined ? {} : { statement }) };
    const chains = [...new Set(networks)];
    const challenge = challengeFor(resourceUri ?? resourceInfo.url, { info, expirationSeconds, chains });
    return domain === undefined ? challenge : { ...challenge, info: { ...challenge.info, domain } };
  },
});

interface ChallengeContext {
  readonly requirements: readonly { readonly network: string }[];
  readonly resourceInfo: { readonly url: string };
}

interface Options {
  statement?: string;
  network?: string | string[];
  expirationSeconds?: number;
  version?: string;
  domain?: string;
  resourceUri?: string;
}
