/**
 * Checks a route table once, at start-up, and compiles it: paths to matchers, prices to offers, offers to challenges.
 *
 * @module
 */
import { describeValue } from "../errors.js";
import type { Finding } from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { RouteFacts } from "../extension/extension.js";
import { type Issues, join } from "../issues.js";
import { isJsonObject, type JsonObject, parseJson } from "../protocol/json.js";
import { compilePath } from "../route/compile-path.js";
import type { PathForm } from "../route/path-form.js";
import { parseRouteKey } from "../route/route-key.js";
import { createRouteTable, type RouteEntry, type RouteTable } from "../route/route-table.js";
import type { Offer } from "../scheme/offer.js";
import type { Scheme } from "../scheme/scheme.js";
import type { ChallengeSubject, Level } from "./challenge.js";
import { type Chargeable, isSuccess } from "./chargeable.js";
import { canCheckInput, createDeclareAt, type Declarations, outlineOf, parseDeclarations } from "./declarations.js";
import { finding, notHttpsFinding } from "./findings.js";
import { parseIdentifierMode, withIdentifier } from "./identifier.js";
import { type ChallengeSize, inspectSample, sampleChallenge, sizeOf } from "./inspect-challenge.js";
import { type LiveTerms, type PricingOccasion, priceNow, type Way } from "./live-terms.js";
import { createSale, type Sale } from "./on-sale.js";
import type { IdentifierMode, InputValidator, RouteConfig, RoutesConfig, SettleTime, Unmetered } from "./options.js";
import { parseWays } from "./parse-offers.js";
import type { PaymentsConfig } from "./parse-options.js";
import { isPublicWithoutTls, parseServiceInfo } from "./service-info.js";

/** A priced route, prepared. */
export interface PricedRoute extends Sale, ChallengeSubject {
  readonly key: string;
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
export function parseCharge(given: unknown, config: PaymentsConfig, issues: Issues): PricedRoute {
  return parsePricedRoute(UNKNOWN_ROUTE, { path: "charge", route: given, config, issues });
}

/** What a route is called that has no key. */
export const CHARGE = "payments.charge";

/** The framework knows its path. */
const UNKNOWN_ROUTE = { key: CHARGE, method: undefined, paths: undefined };

interface RouteInput {
  readonly path: string;
  readonly route: unknown;
  readonly config: PaymentsConfig;
  readonly issues: Issues;
}

function parseRoute(key: string, input: Omit<RouteInput, "path">): RouteEntry<PricedRoute>[] {
  const path = join("routes", key);
  const compiled = compileKey(key);
  if (!compiled.ok) input.issues.add(path, compiled.expected, key);
  const value = parsePricedRoute(compiled.ok ? factsOf(key, compiled) : { ...UNKNOWN_ROUTE, key }, { path, ...input });
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

function parsePricedRoute(route: KnownRoute, { path, route: written, config, issues }: RouteInput): PricedRoute {
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
  const ways = known === undefined ? [] : parseWays(known, { path, settle, config, issues });
  const offers = ways.flatMap((way) => (way.kind === "fixed" ? [way.offer] : []));
  const chargeable = parseChargeable(given["chargeable"], { path: join(path, "chargeable"), settle, issues });
  const unmetered = parseUnmetered(given["unmetered"], { path: join(path, "unmetered"), ways, issues });
  const subject = {
    ...{ key, offers, description, mimeType },
    service: Object.freeze({ ...config.service, ...parseServiceInfo(given, path, issues) }),
    declareAt: createDeclareAt(declarations),
    outline: (extensions: Parameters<ChallengeSubject["outline"]>[0], url: string) =>
      outlineOf(extensions, declarations, url),
    onLevel: createLevelLog(key, config.logger),
  };
  const sale = createSale(subject, config.facilitator, config.findings.tell);
  const live = ways.flatMap((way) => (way.kind === "live" ? [way.terms] : []));
  const looks = inspect(subject, { facts, declarations, path, config, issues });
  const validate = parseValidate(given["validate"], { path: join(path, "validate"), declarations, issues });
  const terms = { validate, live, chargeable, settle, paymentIdentifier, unmetered };
  const fixed = Object.freeze({ ...subject, declarations, ...looks, ...sale, ...terms });
  if (live.length === 0) return fixed;
  return Object.freeze({
    ...fixed,
    async priceFor(occasion: PricingOccasion) {
      const { offers: offersNow, lapsed } = await priceNow(ways, occasion, config.quotes);
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

function schemeOf(way: Way): Scheme {
  return way.kind === "fixed" ? way.offer.scheme : way.terms.scheme;
}

function parseValidate(
  validate: unknown,
  about: { readonly path: string; readonly declarations: Declarations; readonly issues: Issues },
): PricedRoute["validate"] {
  const { path, declarations, issues } = about;
  if (validate === undefined || validate === false) return undefined;
  if (typeof validate === "function") return validate as InputValidator;
  if (validate !== true) issues.add(path, "true, or a function that says what is wrong with a request", validate);
  else if (!canCheckInput(declarations)) {
    issues.add(path, "extensions.bazaar beside it, which says what a request has to have", validate);
  }
  return true;
}

function parseUnmetered(
  unmetered: unknown,
  { path, ways, issues }: { readonly path: string; readonly ways: readonly Way[]; readonly issues: Issues },
): Unmetered {
  if (unmetered === undefined) return "maximum";
  if (!ways.some((way) => schemeOf(way).allowsLess)) issues.add(path, 'an offer by "upto", or nothing', unmetered);
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
