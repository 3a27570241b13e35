/**
 * Checks a route table once, at start-up, and compiles it: paths to matchers, prices to offers, offers to challenges.
 *
 * @module
 */
import { describeValue } from "../errors.js";
import { type Issues, join } from "../issues.js";
import type { Extensions } from "../protocol/extensions.js";
import { copyJsonObject, isJsonObject, type JsonObject } from "../protocol/json.js";
import { compilePath } from "../route/compile-path.js";
import type { PathForm } from "../route/path-form.js";
import { parseRouteKey } from "../route/route-key.js";
import { createRouteTable, type RouteEntry, type RouteTable } from "../route/route-table.js";
import type { Offer } from "../scheme/offer.js";
import type { Scheme } from "../scheme/scheme.js";
import { type Chargeable, isSuccess } from "./chargeable.js";
import { parseIdentifierMode, withIdentifier } from "./identifier.js";
import { type LiveTerms, type PricingOccasion, priceNow, type Way } from "./live-terms.js";
import { createSale, type Sale } from "./on-sale.js";
import type { IdentifierMode, RouteConfig, RoutesConfig, SettleTime, Unmetered } from "./options.js";
import { parseWays } from "./parse-offers.js";
import type { PaymentsConfig } from "./parse-options.js";

/** What stands for a route where there is no HTTP: what it is called, and what clients are told of how to call it. */
export interface ChargedAs {
  /** For events, reports and issues, e.g. `tool get_weather`. */
  readonly key: string;
  /** Absolute URL of the resource, e.g. `mcp://tool/get_weather`. */
  readonly url: string;
  /** Goes into the offers as `outputSchema.input`: JSON values. */
  readonly input: JsonObject;
}

/** A priced route, prepared. */
export interface PricedRoute extends Sale {
  readonly key: string;
  /** Where the resource is, whatever the request says. */
  readonly url: string | undefined;
  /** Every way to pay that is the same for all requests, whether or not a facilitator supports it right now. */
  readonly offers: readonly Offer[];
  readonly description: string;
  readonly mimeType: string;
  readonly extensions: Extensions | undefined;
  readonly chargeable: Chargeable;
  readonly settle: SettleTime;
  readonly paymentIdentifier: IdentifierMode;
  readonly unmetered: Unmetered;
  /** Whether nothing is to be paid. Where the request decides, only a route priced for one is. */
  readonly isFree: boolean;
  /** Ways to pay that are made for each request. */
  readonly live: readonly LiveTerms[];
  /** Of a route priced for one request: what it was offered for once. */
  readonly lapsed?: Offer | undefined;
  /** The route as it is priced for one request; absent when it is the same for all. May reject: by functions of the seller's. */
  readonly priceFor?: (occasion: PricingOccasion) => Promise<PricedRoute>;
}

const KEYS = Object.keys({
  accepts: true,
  price: true,
  free: true,
  description: true,
  mimeType: true,
  extensions: true,
  chargeable: true,
  settle: true,
  paymentIdentifier: true,
  unmetered: true,
} satisfies Record<keyof RouteConfig, true>);

/** Facilitators refuse to verify a payment whose resource has a longer description, which makes it unpayable. */
const MAX_DESCRIPTION = 500;
const MAX_MIME_TYPE = 255;

/** Checks and compiles a route table. What it returns is only good if nothing was added to `issues`. */
export function parseRoutes(routes: RoutesConfig, config: PaymentsConfig, issues: Issues): RouteTable<PricedRoute> {
  if (!isJsonObject(routes)) issues.add("routes", 'an object such as { "GET /weather": { price: "$0.01" } }', routes);
  const entries = isJsonObject(routes) ? Object.entries(routes) : [];
  if (isJsonObject(routes) && entries.length === 0) issues.addText("routes", "at least one route", "none");
  const parsed = entries.flatMap(([key, route]) => parseRoute(key, { route, config, issues }));
  reportDuplicates(parsed, issues);
  return createRouteTable(parsed);
}

/** Checks and compiles what one route costs, without a key: the framework matches it. */
export function parseCharge(
  given: unknown,
  { as, ...parts }: Pick<RouteInput, "as" | "config" | "issues">,
): PricedRoute {
  const [key, path] = as === undefined ? [CHARGE, "charge"] : [as.key, as.key];
  return parsePricedRoute(key, { path, route: given, as, ...parts });
}

/** What a route is called that has no key. */
const CHARGE = "payments.charge";

interface RouteInput {
  readonly path: string;
  readonly route: unknown;
  readonly as: ChargedAs | undefined;
  readonly config: PaymentsConfig;
  readonly issues: Issues;
}

function parseRoute(key: string, input: Omit<RouteInput, "path" | "as">): RouteEntry<PricedRoute>[] {
  const path = join("routes", key);
  const compiled = compileKey(key);
  if (!compiled.ok) input.issues.add(path, compiled.expected, key);
  const value = parsePricedRoute(key, { path, as: undefined, ...input });
  return compiled.ok ? [{ key, method: compiled.method, forms: compiled.forms, value }] : [];
}

function parsePricedRoute(key: string, { path, route, as, config, issues }: RouteInput): PricedRoute {
  const known = issues.checkKeys(path, route, KEYS) ? route : undefined;
  const given: JsonObject = known ?? {};
  const description = parseText(given, { path, key: "description", longest: MAX_DESCRIPTION, issues });
  const mimeType = parseText(given, { path, key: "mimeType", longest: MAX_MIME_TYPE, issues });
  const declared = parseExtensions(given["extensions"], join(path, "extensions"), issues);
  const modePath = join(path, "paymentIdentifier");
  const paymentIdentifier = parseIdentifierMode(given["paymentIdentifier"], { path: modePath, declared, issues });
  const extensions = withIdentifier(declared, paymentIdentifier);
  const settle = parseSettle(given["settle"], join(path, "settle"), issues);
  const free = parseFree(given["free"], join(path, "free"), issues);
  const ways = known === undefined ? [] : parseWays(known, { path, settle, free, config, issues });
  for (const scheme of ways.flatMap((way) => schemeOf(way) ?? [])) config.signatures.prepare(scheme, issues);
  const isFree = ways.some(({ kind }) => kind === "free");
  if (free) checkFree(ways, path, issues);
  const offers = ways.flatMap((way) => (way.kind === "fixed" ? [way.offer] : []));
  const chargeable = parseChargeable(given["chargeable"], { path: join(path, "chargeable"), settle, issues });
  const unmetered = parseUnmetered(given["unmetered"], { path: join(path, "unmetered"), ways, issues });
  const subject = { key, offers, description, mimeType, extensions, input: as?.input };
  const sale = createSale(subject, config.facilitator, config.findings.tell);
  const live = ways.flatMap((way) => (way.kind === "live" ? [way.terms] : []));
  const terms = { live, chargeable, settle, paymentIdentifier, unmetered, isFree };
  const fixed = Object.freeze({ ...subject, ...sale, ...terms, url: as?.url });
  if (live.length === 0) return fixed;
  return Object.freeze({
    ...fixed,
    async priceFor(occasion: PricingOccasion) {
      const { offers: offersNow, lapsed } = await priceNow(ways, occasion, config.quotes);
      if (offersNow === "free") return { ...fixed, isFree: true };
      // Prices come and go: what is found about one is not told, or there would be no end of it.
      const saleNow = createSale({ ...subject, offers: offersNow }, config.facilitator, () => {});
      return { ...fixed, offers: offersNow, lapsed, ...saleNow };
    },
  });
}

type CompiledKey =
  | { readonly ok: true; readonly method: RouteEntry<unknown>["method"]; readonly forms: readonly PathForm[] }
  | { readonly ok: false; readonly expected: string };

/** Positions are counted in the key, from 1, as editors count columns. */
function compileKey(key: string): CompiledKey {
  const parsed = parseRouteKey(key);
  if (!parsed.ok) return parsed;
  const { method, path } = parsed;
  const compiled = compilePath(path);
  if (compiled.ok) return { ok: true, method, forms: compiled.forms };
  const { expected, at } = compiled;
  return {
    ok: false,
    expected: at === undefined ? expected : `${expected}, at position ${key.length - path.length + at + 1}`,
  };
}

function parseText(
  route: JsonObject,
  text: { readonly path: string; readonly key: string; readonly longest: number; readonly issues: Issues },
): string {
  const { path, key, longest, issues } = text;
  const value = route[key] ?? "";
  if (typeof value === "string" && value.length <= longest) return value;
  const expected = `a text of at most ${longest} characters`;
  if (typeof value === "string") issues.addText(join(path, key), expected, `${value.length} characters`);
  else issues.add(join(path, key), expected, value);
  return "";
}

function parseExtensions(extensions: unknown, path: string, issues: Issues): Extensions | undefined {
  if (extensions === undefined) return undefined;
  const copy = copyJsonObject(extensions);
  if (copy === undefined) {
    issues.add(path, "declarations by extension identifier, of JSON values", extensions);
    return undefined;
  }
  for (const [identifier, declaration] of Object.entries(copy)) {
    const complete =
      isJsonObject(declaration) && isJsonObject(declaration["info"]) && isJsonObject(declaration["schema"]);
    if (!complete) issues.add(join(path, identifier), "{ info, schema }, both objects", declaration);
  }
  return copy as Extensions;
}

function parseSettle(settle: unknown, path: string, issues: Issues): SettleTime {
  if (settle === "before" || settle === "after") return settle;
  if (settle !== undefined) issues.add(path, '"after" or "before"', settle);
  return "after";
}

function parseChargeable(
  chargeable: unknown,
  { path, settle, issues }: { readonly path: string; readonly settle: SettleTime; readonly issues: Issues },
): Chargeable {
  if (chargeable === undefined) return isSuccess;
  if (settle === "before")
    issues.add(path, 'nothing beside settle: "before", which charges for any answer', chargeable);
  if (typeof chargeable === "function") return chargeable as Chargeable;
  issues.add(path, "a function such as ({ status }) => status === 200", chargeable);
  return isSuccess;
}

function schemeOf(way: Way): Scheme | undefined {
  if (way.kind === "free") return undefined;
  return way.kind === "fixed" ? way.offer.scheme : way.terms.scheme;
}

function parseFree(free: unknown, path: string, issues: Issues): boolean {
  if (free !== undefined && typeof free !== "boolean") issues.add(path, "true or false", free);
  return free === true;
}

/** Said of a price that is never zero it would be a mistake; and of several ways to pay, clients take the free one. */
function checkFree(ways: readonly Way[], path: string, issues: Issues): void {
  const kinds = new Set(ways.map(({ kind }) => kind));
  if (kinds.has("free") && kinds.size > 1) {
    issues.addText(join(path, "accepts"), "a price of zero for every way to pay, or for none", "some of either");
  } else if (kinds.size === 1 && kinds.has("fixed")) {
    issues.add(join(path, "free"), "a price that is zero or depends on the request, or nothing", true);
  }
}

function parseUnmetered(
  unmetered: unknown,
  { path, ways, issues }: { readonly path: string; readonly ways: readonly Way[]; readonly issues: Issues },
): Unmetered {
  if (unmetered === undefined) return "maximum";
  if (!ways.some((way) => schemeOf(way)?.allowsLess)) issues.add(path, 'an offer by "upto", or nothing', unmetered);
  if (unmetered === "maximum" || unmetered === "zero" || unmetered === "error") return unmetered;
  issues.add(path, '"maximum", "zero" or "error"', unmetered);
  return "maximum";
}

/** `GET /a/:b` and `GET /A/:c/` are the same route to Express, and so they are here. */
function reportDuplicates(entries: readonly RouteEntry<PricedRoute>[], issues: Issues): void {
  const seen = new Map<string, string>();
  for (const { key, method, forms } of entries) {
    const canonical = `${method} ${forms.map(({ shape }) => shape).join(" ")}`;
    const earlier = seen.get(canonical);
    if (earlier === undefined) seen.set(canonical, key);
    else issues.add(join("routes", key), `one key for one route, which ${describeValue(earlier)} already is`, key);
  }
}
