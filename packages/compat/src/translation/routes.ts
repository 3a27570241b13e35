/**
 * Turns a route table of the reference's form into the engine's.
 *
 * @module
 */
import {
  ConfigError,
  type LogFields,
  type PaymentOption as NativeOption,
  type RouteConfig as NativeRoute,
  type PriceRequest,
  type SettlementResponse,
} from "@farebox/core";
import { IS_TOLD } from "@farebox/core/adapter";
import { type Issues, issuePath } from "@farebox/core/issues";
import { encodePaymentResponseHeader } from "../classes/codecs.js";
import { type ParsedMoney, parseMoney, toNativePrice } from "../classes/money.js";
import { flowOf, isStock } from "../classes/schemes.js";
import { isOwnPaywall, settingsOfPaywall } from "../paywall.js";
import type {
  Money,
  Network,
  PaymentOption,
  PaymentRequired,
  PaywallConfig,
  PaywallProvider,
  Price,
  RouteConfig,
  RoutesConfig,
  RouteValidationError,
  SchemeNetworkServer,
  SettlementFailedResponseBody,
  SettleResponse,
} from "../types.js";
import { toPriceContext, toRequestContext } from "./context.js";
import type { Notice } from "./notices.js";
import { findScheme, type RegisteredSchemes } from "./registrations.js";

/** Mistakes in a route table: what no scheme is registered for, or what a scheme cannot do. */
export class RouteConfigurationError extends ConfigError {
  readonly errors: RouteValidationError[];

  constructor(errors: RouteValidationError[]) {
    super(errors.map(toIssue));
    (this as { name: string }).name = "RouteConfigurationError";
    this.message = `x402 Route Configuration Errors:\n${errors.map(({ message }) => `  - ${message}`).join("\n")}`;
    this.errors = errors;
  }
}

function toIssue({ routePattern, scheme, network, message }: RouteValidationError): ConfigError["issues"][number] {
  return { path: issuePath("routes", routePattern), expected: message, received: `${scheme} on ${network}` };
}

/** Routes by key. One route without a key is for every path. */
export function entriesOf(routes: RoutesConfig): [key: string, route: RouteConfig][] {
  if (typeof routes !== "object" || routes === null) return [];
  return "accepts" in routes ? [["*", routes as RouteConfig]] : Object.entries(routes as Record<string, RouteConfig>);
}

/** The options of a route: one, or several. */
export function optionsOf({ accepts }: RouteConfig): PaymentOption[] {
  return Array.isArray(accepts) ? accepts : accepts === undefined ? [] : [accepts];
}

/** What is wrong with the options of all routes. */
export function validateRoutes(
  routes: RoutesConfig,
  schemeOf: (network: Network, scheme: string) => SchemeNetworkServer | undefined,
  { withMissing }: { readonly withMissing: boolean },
): RouteValidationError[] {
  return entriesOf(routes).flatMap(([routePattern, route]) =>
    optionsOf(route).flatMap(({ scheme, network, extra }): RouteValidationError[] => {
      const place = { routePattern, scheme, network };
      const server = schemeOf(network, scheme);
      if (server === undefined) {
        if (!withMissing) return [];
        const message = `Route "${routePattern}": No scheme implementation registered for "${scheme}" on network "${network}"`;
        return [{ ...place, reason: "missing_scheme", message }];
      }
      const flow = flowOf(server, extra ?? {});
      if (flow.ok) return [];
      return [{ ...place, reason: flow.reason, message: `Route "${routePattern}": [x402] ${flow.message}` }];
    }),
  );
}

/** A route table for the engine, and what to tell its seller. */
export interface TranslatedRoutes {
  readonly table: Readonly<Record<string, NativeRoute>>;
  /** The seller's routes, by the engine's keys. */
  readonly originals: ReadonlyMap<string, RouteConfig>;
  readonly notices: readonly Notice[];
}

/** What translating a route needs. */
export interface RoutesContext {
  readonly schemes: RegisteredSchemes;
  /** Writes the page of routes without their own. */
  readonly paywall: PaywallProvider | undefined;
  readonly paywallConfig: PaywallConfig | undefined;
  /** The decimals of the stablecoin that a price names; `undefined`: not known. */
  decimalsOf(scheme: SchemeNetworkServer, network: Network, symbol: string | undefined): number | undefined;
  /** Tells the seller something that a price function did, once. */
  warn(event: string, fields: LogFields): void;
  readonly issues: Issues;
}

/** Translates a route table. What is wrong with a value is left to the engine, which says where it stands. */
export function translateRoutes(routes: RoutesConfig, context: RoutesContext): TranslatedRoutes {
  const table: Record<string, NativeRoute> = {};
  const originals = new Map<string, RouteConfig>();
  const notices: Notice[] = [];
  for (const [key, route] of entriesOf(routes)) {
    const native = toNativeKey(key);
    if (Object.hasOwn(table, native)) {
      context.issues.add(issuePath("routes", key), "one key per route; another key of the table is the same", key);
    }
    originals.set(native, route);
    table[native] = translateRoute(native, route, { ...context, notices });
  }
  return { table, originals, notices };
}

/** `get  /weather` is `GET /weather`, `*` is every path, and `ALL /weather` every method. */
export function toNativeKey(key: string): string {
  const words = key.trim().split(/\s+/);
  const [verb = "*", path = ""] = words.length > 1 ? words : ["*", words[0]];
  const method = verb.toUpperCase();
  const nativePath = path === "*" ? "/*" : path;
  return method === "*" || method === "ALL" ? nativePath : `${method} ${nativePath}`;
}

/** Facilitators refuse payments for a resource with a longer description. */
const MAX_DESCRIPTION = 500;

function translateRoute(
  key: string,
  route: RouteConfig,
  context: RoutesContext & { readonly notices: Notice[] },
): NativeRoute {
  const { description, mimeType, serviceName, tags, iconUrl, extensions, resource } = route;
  const translated = optionsOf(route).map((option) => translateOption(option, context));
  const settlesBefore = translated.length > 0 && translated.every(({ isUpfront }) => isUpfront);
  const accepts = translated.map(({ isUpfront, option }) =>
    isUpfront && !settlesBefore ? { ...option, settle: "before" } : option,
  );
  if (description !== undefined && description.length > MAX_DESCRIPTION) {
    const text = `its description has ${description.length} characters, and is cut to ${MAX_DESCRIPTION}: facilitators refuse longer ones`;
    context.notices.push({ route: key, text });
  }
  const native = {
    ...{ accepts, description: description?.slice(0, MAX_DESCRIPTION), mimeType, serviceName, tags, iconUrl },
    ...{ extensions, resource, settle: settlesBefore ? "before" : undefined },
    // As the reference's: clients are told of what the seller declares, and of nothing else.
    ...(extensions !== undefined && "payment-identifier" in extensions ? {} : { paymentIdentifier: "off" }),
    ...translateBodies(route, context),
  };
  return Object.fromEntries(Object.entries(native).filter(([, value]) => value !== undefined)) as NativeRoute;
}

/** The seller's bodies, as functions of the engine's. */
function translateBodies(
  { customPaywallHtml, unpaidResponseBody, settlementFailedResponseBody }: RouteConfig,
  { paywall, paywallConfig }: RoutesContext,
): Readonly<Record<string, unknown>> {
  const write =
    paywall !== undefined &&
    !isOwnPaywall(paywall) &&
    ((challenge: unknown, { url }: { readonly url: string }) =>
      paywall.generateHtml(structuredClone(challenge) as PaymentRequired, { currentUrl: url, ...paywallConfig }));
  return {
    paywall: { html: customPaywallHtml || write || undefined, ...ownPageSettings(paywall, paywallConfig) },
    unpaidBody: unpaidResponseBody && ((request: PriceRequest) => unpaidResponseBody(toRequestContext(request))),
    settlementFailedBody:
      settlementFailedResponseBody &&
      ((request: PriceRequest, { receipt }: { readonly receipt: SettlementResponse }) =>
        settlementFailedResponseBody(toRequestContext(request), toFailure(receipt))),
  };
}

/** The settings of Farebox's own page: of the builder, and of the middleware. A logo of another origin is left out. */
function ownPageSettings(
  paywall: PaywallProvider | undefined,
  config: PaywallConfig | undefined,
): Readonly<Record<string, unknown>> {
  const { appName, appLogo, testnet } = { ...settingsOfPaywall(paywall), ...config };
  return {
    ...(typeof appName === "string" && appName.trim() !== "" ? { title: appName.slice(0, 100) } : {}),
    ...(typeof appLogo === "string" && OWN_LOGO.test(appLogo) ? { logo: appLogo } : {}),
    ...(typeof testnet === "boolean" ? { testnet } : {}),
  };
}

/** The page loads nothing from other origins. */
const OWN_LOGO =
  /^(?:data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,].{0,49000}|\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,2000})$/s;

/** A settlement that was refused, for `settlementFailedResponseBody`. */
export function toFailure(receipt: SettlementResponse): Parameters<SettlementFailedResponseBody>[1] {
  const response = receipt as unknown as SettleResponse;
  const { errorReason = "Settlement failed", errorMessage = errorReason } = response;
  const headers = { "PAYMENT-RESPONSE": encodePaymentResponseHeader(response) };
  return { ...response, success: false, errorReason, errorMessage, headers };
}

interface TranslatedOption {
  readonly option: NativeOption;
  readonly isUpfront: boolean;
}

function translateOption(option: PaymentOption, context: RoutesContext): TranslatedOption {
  const { schemes } = context;
  const { scheme, network, price, payTo, maxTimeoutSeconds, extra } = option;
  const server = findScheme(schemes, network, scheme);
  const flow = server === undefined ? undefined : flowOf(server, extra ?? {});
  const { paymentFlow: _, assetTransferMethod, ...others } = extra ?? {};
  const hasMethod = assetTransferMethod !== undefined && assetTransferMethod !== "default";
  const nativeExtra = { ...others, ...(hasMethod ? { assetTransferMethod } : {}) };
  const isHosted = server !== undefined && !isStock(server, network);
  const read = isHosted ? AS_WRITTEN : readerFor(option, server, context);
  const translated = {
    ...{ scheme, network },
    price: typeof price === "function" ? translatePrice(price, read) : read.fixed(price),
    payTo: typeof payTo === "function" ? told((request: never) => payTo(toPriceContext(request))) : payTo,
    ...(maxTimeoutSeconds === undefined ? {} : { maxTimeoutSeconds }),
    ...(Object.keys(nativeExtra).length === 0 ? {} : { extra: nativeExtra }),
  };
  return { option: translated as NativeOption, isUpfront: flow?.ok === true && flow.flow === "upfront" };
}

type PriceFunction = Extract<PaymentOption["price"], (...args: never) => unknown>;

/** How prices are read, by the scheme that they are for. */
interface PriceReader {
  fixed(price: Price): ReturnType<typeof toNativePrice>;
  computed(price: Price): ReturnType<typeof toNativePrice>;
}

/** A hosted scheme reads texts by itself: `"2 credits"` must not become `"2 CREDITS"`. */
const AS_WRITTEN: PriceReader = { fixed: toText, computed: toText };

function toText(price: Price): ReturnType<typeof toNativePrice> {
  return typeof price === "string" ? price : toNativePrice(price);
}

function readerFor(
  option: PaymentOption,
  server: SchemeNetworkServer | undefined,
  context: RoutesContext,
): PriceReader {
  const cut = toCutter(option, server, context);
  return { fixed: toNativePrice, computed: (price) => toNativePrice(cut(price)) };
}

function translatePrice(price: PriceFunction, { computed }: PriceReader): NativeOption["price"] {
  return told((request: PriceRequest) => {
    const given = price(toPriceContext(request));
    return given instanceof Promise ? given.then(computed) : computed(given as Awaited<typeof given>);
  });
}

/** The reference calls functions with the payment, too, and some note there what the handler reads. */
function told<F extends object>(term: F): F {
  return Object.assign(term, { [IS_TOLD]: true });
}

/**
 * Cuts what a function computes to the decimals of its token, as the reference does: `0.0123456789` is `0.012345` USDC. It never makes zero
 * of a price, which the engine then refuses.
 */
function toCutter(
  { network }: PaymentOption,
  server: SchemeNetworkServer | undefined,
  { decimalsOf, warn }: RoutesContext,
): (price: Price) => Price {
  return (price) => {
    if (server === undefined || typeof price === "object") return price;
    const money = readMoney(price);
    const decimals = money && decimalsOf(server, network, money.symbol);
    if (money === undefined || decimals === undefined) return price;
    const { amount, symbol } = money;
    const [whole = "", fraction = ""] = amount.split(".");
    if (fraction.length <= decimals) return price;
    const kept = decimals === 0 ? whole : `${whole}.${fraction.slice(0, decimals)}`;
    if (!/[1-9]/.test(kept)) return price;
    warn("FAREBOX_COMPAT", {
      message: `a price function returned more than ${decimals} decimals, which were cut`,
      network,
    });
    return symbol === undefined ? kept : `${kept} ${symbol}`;
  };
}

function readMoney(price: Money): ParsedMoney | undefined {
  try {
    return parseMoney(price);
  } catch {
    return undefined;
  }
}
