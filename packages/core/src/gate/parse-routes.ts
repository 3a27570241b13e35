/**
 * Checks a route table once, at start-up, and compiles it: paths to matchers, prices to offers, offers to challenges.
 *
 * @module
 */
import { describeValue } from "../errors.js";
import { type Finding, finding, notHttpsFinding } from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { RouteFacts } from "../extension.js";
import { type Issues, join } from "../issues.js";
import { isJsonObject, type JsonObject, parseJson } from "../protocol/json.js";
import { compilePath } from "../route/path.js";
import type { PathForm } from "../route/path-form.js";
import { parseRouteKey } from "../route/route-key.js";
import { createRouteTable, type RouteEntry, type RouteTable } from "../route/route-table.js";
import type { Offer } from "../scheme/offer.js";
import type { ChallengeSubject, Level } from "./challenge.js";
import type { Chargeable } from "./chargeable.js";
import { createDeclareAt, type Declarations, outlineOf, parseDeclarations } from "./declarations.js";
import { parseIdentifierMode, withIdentifier } from "./identifier.js";
import { type ChallengeSize, inspectSample, sampleChallenge, sizeOf } from "./inspect-challenge.js";
import { type LiveTerms, type PricingOccasion, priceNow } from "./live-terms.js";
import { createSale, type Sale } from "./on-sale.js";
import type { IdentifierMode, InputValidator, RouteConfig, RoutesConfig, SettleTime, Unmetered } from "./options.js";
import { parseWays } from "./parse-offers.js";
import type { PaymentsConfig } from "./parse-options.js";
import {
  checkFree,
  parseChargeable,
  parseFree,
  parseSettle,
  parseText,
  parseUnmetered,
  parseValidate,
  schemeOf,
} from "./route-options.js";
import { isPublicWithoutTls, parseServiceInfo } from "./service-info.js";

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
export interface PricedRoute extends Sale, ChallengeSubject {
  readonly key: string;
  /** Where the resource is, whatever the request says. */
  readonly url: string | undefined;
  /** Every way to pay that is the same for all requests, whether or not a facilitator supports it right now. */
  readonly offers: readonly Offer[];
  readonly declarations: Declarations;
  /** Whether its declarations put it into public catalogs. */
  readonly isPublic: boolean;
  /** `undefined`: requests are not checked. */
  readonly validate: true | InputValidator | undefined;
  readonly size: ChallengeSize;
  /** What looks wrong about the route itself. */
  readonly notices: readonly Finding[];
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
  serviceName: true,
  tags: true,
  iconUrl: true,
  validate: true,
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
  const route = as === undefined ? UNKNOWN_ROUTE : { ...UNKNOWN_ROUTE, key: as.key };
  return parsePricedRoute(route, { path: as?.key ?? "charge", route: given, as, ...parts });
}

/** What a route is called that has no key. */
export const CHARGE = "payments.charge";

/** The framework knows its path. */
const UNKNOWN_ROUTE = { key: CHARGE, method: undefined, paths: undefined };

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
  const value = parsePricedRoute(compiled.ok ? factsOf(key, compiled) : { ...UNKNOWN_ROUTE, key }, {
    path,
    as: undefined,
    ...input,
  });
  return compiled.ok ? [{ key, method: compiled.method, forms: compiled.forms, value }] : [];
}

type KnownRoute = Omit<RouteFacts, "description" | "mimeType">;

function factsOf(key: string, { method, forms }: Pick<RouteEntry<unknown>, "method" | "forms">): KnownRoute {
  const paths = forms.map(({ template, sample, paramsOf }) => ({
    template,
    params: Object.keys(paramsOf(sample) ?? {}),
  }));
  return { key, method, paths };
}

function parsePricedRoute(route: KnownRoute, { path, route: written, as, config, issues }: RouteInput): PricedRoute {
  const { key } = route;
  const known = issues.checkKeys(path, written, KEYS) ? written : undefined;
  const given: JsonObject = known ?? {};
  const description = parseText(given, { path, key: "description", longest: MAX_DESCRIPTION, issues });
  const mimeType = parseText(given, { path, key: "mimeType", longest: MAX_MIME_TYPE, issues });
  const facts = { ...route, description, mimeType };
  const where = { path: join(path, "extensions"), route: facts, extensions: config.extensions, issues };
  const declared = parseDeclarations(given["extensions"], where);
  const modePath = join(path, "paymentIdentifier");
  const about = { path: modePath, declared: declared.constant, issues };
  const paymentIdentifier = parseIdentifierMode(given["paymentIdentifier"], about);
  const declarations = { ...declared, constant: withIdentifier(declared.constant, paymentIdentifier) };
  const settle = parseSettle(given["settle"], join(path, "settle"), issues);
  const free = parseFree(given["free"], join(path, "free"), issues);
  const ways = known === undefined ? [] : parseWays(known, { path, settle, free, config, issues });
  for (const scheme of ways.flatMap((way) => schemeOf(way) ?? [])) config.signatures.prepare(scheme, issues);
  const isFree = ways.some(({ kind }) => kind === "free");
  if (free) checkFree(ways, path, issues);
  const offers = ways.flatMap((way) => (way.kind === "fixed" ? [way.offer] : []));
  const chargeable = parseChargeable(given["chargeable"], { path: join(path, "chargeable"), settle, issues });
  const unmetered = parseUnmetered(given["unmetered"], { path: join(path, "unmetered"), ways, issues });
  const subject = {
    ...{ key, offers, description, mimeType, url: as?.url },
    service: Object.freeze({ ...config.service, ...parseServiceInfo(given, path, issues) }),
    declareAt: createDeclareAt(declarations),
    outline: (extensions: Parameters<ChallengeSubject["outline"]>[0], url: string) =>
      outlineOf(extensions, declarations, url) ?? (as && { input: as.input, output: null }),
    onLevel: createLevelLog(key, config.logger),
  };
  const sale = createSale(subject, config.facilitator, config.findings.tell);
  const live = ways.flatMap((way) => (way.kind === "live" ? [way.terms] : []));
  const looks = inspect(subject, { facts, declarations, path, config, issues });
  const validate = parseValidate(given["validate"], { path: join(path, "validate"), declarations, issues });
  const terms = { validate, live, chargeable, settle, paymentIdentifier, unmetered, isFree };
  const fixed = Object.freeze({ ...subject, declarations, ...looks, ...sale, ...terms });
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

/** Says once of each way to say less that it was taken. */
function createLevelLog(route: string, logger: Logger): (level: Level) => void {
  const told = new Set<Level>(["full"]);
  return (level) => {
    if (told.has(level)) return;
    told.add(level);
    logger.info("challenge_shortened", { route, level });
  };
}

interface Looking {
  readonly facts: RouteFacts;
  readonly declarations: Declarations;
  readonly path: string;
  readonly config: PaymentsConfig;
  readonly issues: Issues;
}

/** What can be said of a route before anybody asks for it. */
function inspect(
  subject: ChallengeSubject,
  { facts, declarations, path, config: { publicUrl = "" }, issues }: Looking,
): Pick<PricedRoute, "isPublic" | "size" | "notices"> {
  const compiled = [...declarations.compiled.values()];
  const notices = compiled.flatMap((one) => one.notices.map(({ code, message }) => finding(code, facts.key, message)));
  const isPublic = compiled.some((one) => one.isPublic === true);
  if (isPublic && isPublicWithoutTls(publicUrl)) notices.push(notHttpsFinding());
  const sample = sampleChallenge(subject, facts, publicUrl);
  if (sample === undefined) return { isPublic, size: "fits", notices };
  if (!parseJson(sample.body).ok) {
    issues.addText(join(path, "extensions"), "at most 28 levels of nesting, and no NUL", "more, or one");
  }
  return { isPublic, size: sizeOf(sample), notices: [...notices, ...inspectSample(sample, facts.key)] };
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
