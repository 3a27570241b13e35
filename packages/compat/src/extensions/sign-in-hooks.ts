/**
 * The extension `sign-in-with-x` as hooks for `onProtectedRequest` and `onAfterSettle`, and the constant of version 2.10 of
 * `@x402/extensions`.
 *
 * @module
 */
import type { PricedRequest } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import { type CreateSIWxOptions, type ResourceOf, SIGN_IN_WITH_X, type SIWxDeclaration } from "@farebox/extensions";
import {
  admit,
  challengeFor,
  checkResourceOf,
  checkStorage,
  HOST_UNKNOWN,
  isPaidInFull,
  ownUrl,
  readOrigin,
  resourceOfGet,
  toBought,
} from "@farebox/extensions/internal";
import { pricedRequestOf } from "../translation/priced-request.js";

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
export type CreateSIWxSettleHookOptions = Pick<CreateSIWxOptions, "storage" | "onEvent" | "resourceOf">;

/** The parts of a context that the request hook reads. */
interface RequestContext {
  readonly path: string;
  readonly adapter: { getHeader(name: string): string | undefined };
}

/** The parts of a context that the settle hook reads. */
interface SettleContext {
  readonly result: { readonly success: boolean; readonly payer?: string | undefined };
  readonly paymentPayload: { readonly accepted: { readonly amount: string } };
  readonly requirements: { readonly amount: string };
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
  checkResourceOf(options?.resourceOf, issues);
  issues.throwIfAny();
  if (origin === undefined) process.emitWarning(NO_ORIGIN, { type: "FareboxWarning", code: HOST_UNKNOWN.code });
  const { resourceOf } = options;
  return ours(async ({ adapter, path }: RequestContext, routeConfig?: { readonly accepts?: unknown }) => {
    const header = adapter.getHeader(SIGN_IN_WITH_X);
    const request = pricedRequestOf(adapter);
    if (header === undefined || header === "" || request === undefined) return undefined;
    const accepts = routeConfig?.accepts;
    const isAuthOnly = Array.isArray(accepts) && accepts.length === 0;
    const isUnbound = resourceOf === undefined && isPricedPerRequest(accepts);
    const bought = isUnbound ? undefined : nameOf(request, resourceOf);
    const resource = isAuthOnly ? path : bought;
    const own = ownUrl(request.url, { hosts: [], origin, native: request.native });
    if (own === undefined || resource === undefined) return undefined;
    const { storage, verifyOptions, onEvent } = options;
    const admittance = { storage, verifyOptions, onEvent, isAuthOnly };
    const isGranted = await admit(header, { origin: new URL(own), resource }, admittance);
    return isGranted ? { grantAccess: true } : undefined;
  }, resourceOf);
}

/** Marks a hook, so that those of `@x402/extensions` are told from it: with whether the seller names purchases. */
function ours<T extends object>(hook: T, resourceOf: ResourceOf | undefined): T {
  return Object.assign(hook, { [SIGN_IN_WITH_X]: resourceOf !== undefined });
}

function nameOf(request: PricedRequest, resourceOf: ResourceOf | undefined): string | undefined {
  return resourceOf === undefined ? resourceOfGet(toBought(request)) : resourceOf(request);
}

/** Whether a function sets the price of an option. */
function isPricedPerRequest(accepts: unknown): boolean {
  const options: readonly unknown[] = Array.isArray(accepts) ? accepts : [accepts];
  return options.some((option) => isJsonObject(option) && typeof option["price"] === "function");
}

const NO_ORIGIN =
  "createSIWxRequestHook has no origin, so nobody can sign in except on this machine: set it, such as https://api.example.com";

/** Creates a hook for `onAfterSettle`: it records who has paid for what. It has to see the request: not in the background. */
export function createSIWxSettleHook(options: CreateSIWxSettleHookOptions): (context: SettleContext) => Promise<void> {
  const issues = createIssues();
  checkStorage(options?.storage, issues);
  checkResourceOf(options?.resourceOf, issues);
  issues.throwIfAny();
  const { storage, onEvent, resourceOf } = options;
  return ours(async ({ result: { success, payer }, paymentPayload, requirements, transportContext }: SettleContext) => {
    if (!success || payer === undefined || !isPaidInFull({ requirements, payload: paymentPayload })) return;
    const request = requestOf(transportContext);
    const resource = request && nameOf(request, resourceOf);
    if (resource === undefined) return;
    await storage.recordPayment(resource, payer);
    onEvent?.({ type: "payment_recorded", resource, address: payer });
  }, resourceOf);
}

/** The request of a payment. The client writes the resource of its payment, and might write another. */
function requestOf(transportContext: unknown): PricedRequest | undefined {
  const request = isJsonObject(transportContext) ? transportContext["request"] : undefined;
  return isJsonObject(request) ? pricedRequestOf(request["adapter"]) : undefined;
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
