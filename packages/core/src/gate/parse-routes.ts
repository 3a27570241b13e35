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
import type { Scheme } from "../scheme/scheme.js";
import { createSale, type Sale } from "./available-offers.js";
import {
  type ChallengeSubject,
  compileChallenge,
  HEADER_BUDGET,
  type Level,
  type LeveledChallenge,
} from "./challenge.js";
import { type Chargeable, isSuccess } from "./chargeable.js";
import { canCheckInput, createDeclareAt, type Declarations, outlineOf, parseDeclarations } from "./declarations.js";
import { type LiveTerms, type PricingOccasion, priceNow, type Way } from "./dynamic-price.js";
import { parseIdentifierMode, withIdentifier } from "./identifier.js";
import type { IdentifierMode, InputValidator, RouteConfig, RoutesConfig, SettleTime, Unmetered } from "./options.js";
import { parseWays } from "./parse-accepts.js";
import type { PaymentsConfig } from "./parse-options.js";
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

/** Reads a text; `""` where there is none. */
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

/** Reads when the money moves. */
function parseSettle(settle: unknown, path: string, issues: Issues): SettleTime {
  if (settle === "before" || settle === "after") return settle;
  if (settle !== undefined) issues.add(path, '"after" or "before"', settle);
  return "after";
}

/** Reads which answers are charged. */
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

/** The scheme of a way to pay; nothing is paid by one that is free. */
function schemeOf(way: Way): Scheme | undefined {
  if (way.kind === "free") return undefined;
  return way.kind === "fixed" ? way.offer.scheme : way.terms.scheme;
}

/** Reads whether a price may be zero. */
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

/** Reads how requests that come with a payment are checked. */
function parseValidate(
  validate: unknown,
  about: { readonly path: string; readonly declarations: Declarations; readonly issues: Issues },
): true | InputValidator | undefined {
  const { path, declarations, issues } = about;
  if (validate === undefined || validate === false) return undefined;
  if (typeof validate === "function") return validate as InputValidator;
  if (validate !== true) issues.add(path, "true, or a function that says what is wrong with a request", validate);
  else if (!canCheckInput(declarations)) {
    issues.add(path, "extensions.bazaar beside it, which says what a request has to have", validate);
  }
  return true;
}

/** Reads what is taken when the handler does not say. */
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

/** Whoever pays sends most of it back, and servers refuse requests with more than 16 KiB of headers. */
const MAX_HEADER = 8192;

/** Stands for the server where the seller has not said how it is reached. */
const SAMPLE_ORIGIN = "https://api.example.com";

/** `large`: beyond what some proxies take. `too_large`: beyond what most do. */
export type ChallengeSize = "fits" | "large" | "too_large";

/** A challenge as most requests will get it; `undefined` as long as there is nothing to offer by it. */
function sampleChallenge(
  subject: ChallengeSubject,
  { method = "GET", paths }: RouteFacts,
  publicUrl: string,
): LeveledChallenge | undefined {
  if (subject.offers.length === 0) return undefined;
  const [path = { template: "/", params: [] }] = paths ?? [];
  const place = {
    routeTemplate: path.template,
    pathParams: Object.fromEntries(path.params.map((name) => [name, "0"])),
  };
  const url = `${publicUrl || SAMPLE_ORIGIN}${path.template}`;
  return compileChallenge(subject)({ url, method, error: "Payment required", locate: () => place });
}

/** How well a challenge gets through proxies. */
function sizeOf({ header }: LeveledChallenge): ChallengeSize {
  if (header.length > MAX_HEADER) return "too_large";
  return header.length > HEADER_BUDGET ? "large" : "fits";
}

/** What is too large for most. */
function inspectSample(challenge: LeveledChallenge, route: string): readonly Finding[] {
  if (sizeOf(challenge) !== "too_large") return [];
  const { length } = challenge.header;
  return [finding("FAREBOX_CHALLENGE_TOO_LARGE", route, `Its PAYMENT-REQUIRED header has ${length} characters`)];
}
