/**
 * Checks a route table once, at start-up, and compiles it: paths to matchers, prices to offers, offers to challenges.
 *
 * @module
 */
import { describeValue } from "../errors.js";
import { finding, notHttpsFinding } from "../events/findings.js";
import type { RouteFacts } from "../extension.js";
import { type Issues, issuePath } from "../issues.js";
import type { Chargeable, IdentifierMode, InputValidator, RouteConfig, RoutesConfig, Unmetered } from "../options.js";
import {
  type ChallengeOccasion,
  type ChallengeSubject,
  compileChallenge,
  HEADER_BUDGET,
  HEADER_LIMIT,
} from "../pricing/challenge.js";
import { canCheckInput, type Declarations, parseDeclarations } from "../pricing/declarations.js";
import type { CompiledOption } from "../pricing/payment-option.js";
import { PLAIN_PAYWALL } from "../pricing/paywall.js";
import {
  CHARGE,
  type ChargedAs,
  createPricedRoute,
  type PricedRoute,
  type PricingDeps,
  type RouteInspection,
  type RouteTerms,
  toChallengeSubject,
} from "../pricing/priced-route.js";
import { isPublicWithoutTls } from "../pricing/resource.js";
import type { Extensions } from "../protocol/documents.js";
import { isJsonObject, type JsonObject, parseJson } from "../protocol/json.js";
import { declarePaymentIdentifier, PAYMENT_IDENTIFIER } from "../protocol/payment-identifier.js";
import { compilePath } from "../route/path.js";
import { type PathForm, templatesOf } from "../route/path-form.js";
import { parseRouteKey } from "../route/route-key.js";
import { createRouteTable, type RouteEntry, type RouteTable } from "../route/route-table.js";
import type { Offer } from "../scheme/offer.js";
import type { Scheme } from "../scheme/scheme.js";
import { type AcceptsSettings, parseAccepts, parseSettle, settlesBefore } from "./parse-accepts.js";
import { parseBodies, parseResource } from "./parse-bodies.js";
import type { Settings } from "./parse-options.js";
import { parseServiceInfo } from "./service-info.js";

/** The settings that routes depend on. */
export type RouteSettings = AcceptsSettings &
  Pick<Settings, "extensions" | "service" | "publicUrls" | "keepPaymentHeader" | "paywall" | "hooks">;

/** What compiling routes needs. */
export interface RoutesDeps extends PricingDeps {
  readonly settings: RouteSettings;
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
  keepPaymentHeader: true,
  revalidation: true,
  resource: true,
  unpaidBody: true,
  settlementFailedBody: true,
  unavailableBody: true,
  paywall: true,
} satisfies Record<keyof RouteConfig, true>);

/** What is called by name has no page, and its clients read the challenge in the body. */
const HTTP_KEYS: readonly string[] = [
  "resource",
  "revalidation",
  "unpaidBody",
  "settlementFailedBody",
  "unavailableBody",
  "paywall",
] satisfies (keyof RouteConfig)[];
const CALLED_KEYS = KEYS.filter((key) => !HTTP_KEYS.includes(key));

/** Facilitators refuse payments for a resource with a longer description. */
const MAX_DESCRIPTION = 500;
const MAX_MIME_TYPE = 255;

/** Checks and compiles a route table. It is only good if nothing was added to `issues`. */
export function parseRoutes(routes: RoutesConfig, deps: RoutesDeps, issues: Issues): RouteTable<PricedRoute> {
  if (!isJsonObject(routes)) issues.add("routes", 'an object such as { "GET /weather": { price: "$0.01" } }', routes);
  const entries = isJsonObject(routes) ? Object.entries(routes) : [];
  if (isJsonObject(routes) && entries.length === 0) issues.addText("routes", "at least one route", "none");
  const parsed = entries.flatMap(([key, route]) => parseRoute(key, route, deps, issues));
  reportDuplicates(parsed, issues);
  return createRouteTable(parsed);
}

/** Checks and compiles one route without a key, which the framework matches. */
export function parseCharge(route: unknown, as: ChargedAs | undefined, deps: RoutesDeps, issues: Issues): PricedRoute {
  const known = { ...UNKNOWN_ROUTE, key: as?.key ?? CHARGE };
  return parsePricedRoute(known, route, { path: as?.key ?? "charge", as, deps, issues });
}

/** Checks and compiles what is sold by hand, and where its resource is. */
export function parseByHand(
  given: unknown,
  deps: RoutesDeps,
  issues: Issues,
): { readonly route: PricedRoute; readonly resource: string | undefined } {
  const { resource: url, ...route } = isJsonObject(given) ? given : {};
  const resource = isAbsoluteUrl(url) ? url : undefined;
  if (url !== undefined && resource === undefined) {
    issues.add("byHand.resource", 'an absolute URL such as "https://api.example.com/weather"', url);
  }
  const known = { ...UNKNOWN_ROUTE, key: BY_HAND };
  const written = isJsonObject(given) ? route : given;
  for (const [path, settle] of settlesIn(route)) {
    if (settle === "metered") issues.add(path, '"after" or "before": what goes out by hand is not counted', settle);
  }
  const context = { path: "byHand", as: undefined, resource, deps, issues };
  return { route: parsePricedRoute(known, written, context), resource };
}

/** When the money moves, as it is written in a route and in its payment options. */
function settlesIn({ settle, accepts }: JsonObject): readonly (readonly [path: string, settle: unknown])[] {
  const options: readonly unknown[] = Array.isArray(accepts) ? accepts : [accepts];
  const ofOptions = options.map((option, at) => {
    const path = Array.isArray(accepts) ? issuePath("byHand.accepts", at) : "byHand.accepts";
    return [issuePath(path, "settle"), isJsonObject(option) ? option["settle"] : undefined] as const;
  });
  return [["byHand.settle", settle], ...ofOptions];
}

/** The key of what is sold by hand, for events and reports. */
const BY_HAND = "payments.byHand";

const MAX_URL = 2048;

function isAbsoluteUrl(given: unknown): given is string {
  return typeof given === "string" && given.length <= MAX_URL && URL.canParse(given);
}

type KnownRoute = Omit<RouteFacts, "description" | "mimeType">;

const UNKNOWN_ROUTE = { method: undefined, paths: undefined };

/** Where a route is written, and what checks it. */
interface RouteContext {
  readonly path: string;
  readonly as: ChargedAs | undefined;
  /** Of what is sold by hand: its URL, where that is known. */
  readonly resource?: string | undefined;
  readonly deps: RoutesDeps;
  readonly issues: Issues;
}

function parseRoute(key: string, route: unknown, deps: RoutesDeps, issues: Issues): RouteEntry<PricedRoute>[] {
  const path = issuePath("routes", key);
  const compiled = compileKey(key);
  const context = { path, as: undefined, deps, issues };
  if (!compiled.ok) {
    issues.add(path, compiled.expected, key);
    parsePricedRoute({ ...UNKNOWN_ROUTE, key }, route, context);
    return [];
  }
  const { method, forms } = compiled;
  return [{ key, method, forms, value: parsePricedRoute({ key, method, paths: templatesOf(forms) }, route, context) }];
}

function parsePricedRoute(route: KnownRoute, written: unknown, context: RouteContext): PricedRoute {
  const { path, as, deps, issues } = context;
  const { settings } = deps;
  const isObject = issues.checkKeys(path, written, as === undefined ? KEYS : CALLED_KEYS);
  const given: JsonObject = isObject ? written : {};
  const at = (key: keyof RouteConfig) => issuePath(path, key);

  const description = parseText(given["description"], at("description"), MAX_DESCRIPTION, issues);
  const mimeType = parseText(given["mimeType"], at("mimeType"), MAX_MIME_TYPE, issues);
  const facts = { ...route, description, mimeType };
  const { publicUrl, allowedHosts } = settings.publicUrls;
  const { extensions } = settings;
  const url = as?.url ?? parseResource(given["resource"], at("resource"), issues);
  const resource = url ?? context.resource;
  const certain = url ?? publicUrl;
  const ownHosts = certain === undefined ? allowedHosts : [new URL(certain).host];
  const { accepts } = given;
  const isAuthOnly = Array.isArray(accepts) && accepts.length === 0;
  const isPricedPerRequest = hasPriceFunction(given);
  const place = { path: at("extensions"), route: facts, resource, publicUrl, ownHosts, isAuthOnly, isPricedPerRequest };
  const declaring = { ...place, extensions, issues };
  const declared = parseDeclarations(given["extensions"], declaring);
  const paymentIdentifier = parseIdentifier(given["paymentIdentifier"], at("paymentIdentifier"), declared, issues);
  const declarations = { ...declared, constant: withIdentifier(declared.constant, paymentIdentifier) };
  const settle = parseSettle(given["settle"], at("settle"), issues) ?? "after";
  const free = parseBoolean(given["free"], at("free"), issues);
  const isGrantable = canGrant(settings, declarations);
  const options = isObject ? parseAccepts(given, { path, settle, free, isGrantable, settings, issues }) : [];
  if (free) checkFree(options, path, issues);

  const terms: RouteTerms = {
    key: route.key,
    url,
    isHttp: as === undefined,
    isGrantOnly: isGrantable && isEmpty(given["accepts"]),
    serverUrl: as?.serverUrl,
    description,
    mimeType,
    service: Object.freeze({ ...settings.service, ...parseServiceInfo(given, path, issues) }),
    declarations,
    chargeable: parseChargeable(given["chargeable"], at("chargeable"), settlesBefore(options, settle), issues),
    paymentIdentifier,
    unmetered: parseUnmetered(given["unmetered"], at("unmetered"), options, issues),
    validate: parseValidate(given["validate"], at("validate"), declarations, issues),
    keepPaymentHeader:
      given["keepPaymentHeader"] === undefined
        ? settings.keepPaymentHeader
        : parseBoolean(given["keepPaymentHeader"], at("keepPaymentHeader"), issues),
    revalidation: parseRevalidation(given["revalidation"], at("revalidation"), settlesBefore(options, settle), issues),
    bodies: parseBodies(given, path, as === undefined ? settings.paywall : PLAIN_PAYWALL, issues),
  };
  const offers = options.flatMap((option) => (option.kind === "fixed" ? [option.offer] : []));
  const subject = toChallengeSubject(terms, offers, { as, publicUrl });
  const usual = { ...subject, offers: options.flatMap(sampleOffer) };
  const inspection = inspect(terms, usual, { facts, declarations, listedAs: as, path, publicUrl, issues });
  return createPricedRoute({ ...terms, ...inspection }, { subject, options }, deps);
}

/** An offer as an option makes them, for what is said about the route before the first request. */
function sampleOffer(option: CompiledOption): readonly Offer[] {
  if (option.kind === "free") return [];
  const { offer } = option;
  return offer === undefined ? [] : [offer];
}

/** Whether a function sets a price of a route. */
function hasPriceFunction({ accepts, price }: JsonObject): boolean {
  const options: readonly unknown[] = Array.isArray(accepts) ? accepts : [accepts];
  return [{ price }, ...options].some((option) => isJsonObject(option) && typeof option["price"] === "function");
}

/** Whether a hook may let requests through that nobody can pay for. */
function canGrant({ hooks }: RouteSettings, declared: Declarations): boolean {
  return [hooks, ...declared.hooks.map((of) => of.hooks)].some(({ onRequest }) => onRequest !== undefined);
}

function isEmpty(accepts: unknown): boolean {
  return Array.isArray(accepts) && accepts.length === 0;
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
  const position = at === undefined ? "" : `, at position ${key.length - path.length + at + 1}`;
  return { ok: false, expected: expected + position };
}

/** `GET /a/:b` and `GET /A/:c/` are the same route to Express, and so they are here. */
function reportDuplicates(entries: readonly RouteEntry<PricedRoute>[], issues: Issues): void {
  const seen = new Map<string, string>();
  for (const { key, method, forms } of entries) {
    const canonical = `${method} ${forms.map(({ shape }) => shape).join(" ")}`;
    const earlier = seen.get(canonical);
    if (earlier === undefined) seen.set(canonical, key);
    else issues.add(issuePath("routes", key), `one key per route: ${describeValue(earlier)} is the same`, key);
  }
}

function parseText(text: unknown, path: string, longest: number, issues: Issues): string {
  if (text === undefined || text === null) return "";
  if (typeof text === "string" && text.length <= longest) return text;
  const expected = `a text of at most ${longest} characters`;
  if (typeof text === "string") issues.addText(path, expected, `${text.length} characters`);
  else issues.add(path, expected, text);
  return "";
}

/** The mode is set by the route's own option, or by the extension's declaration. Both must agree. */
function parseIdentifier(mode: unknown, path: string, { constant }: Declarations, issues: Issues): IdentifierMode {
  const info = constant?.[PAYMENT_IDENTIFIER]?.info;
  const declared = info && (info["required"] === true ? "required" : "optional");
  if (mode === undefined) return declared ?? "optional";
  if (mode !== "optional" && mode !== "required" && mode !== "off") {
    issues.add(path, '"optional", "required" or "off"', mode);
    return "optional";
  }
  if (declared !== undefined && declared !== mode) {
    issues.add(path, `"${declared}", as in extensions["${PAYMENT_IDENTIFIER}"]`, mode);
  }
  return mode;
}

function withIdentifier(declared: Extensions | undefined, mode: IdentifierMode): Extensions | undefined {
  if (mode === "off") return declared;
  return { ...declared, [PAYMENT_IDENTIFIER]: declarePaymentIdentifier(mode === "required") };
}

function parseChargeable(
  chargeable: unknown,
  path: string,
  isSettledBefore: boolean,
  issues: Issues,
): Chargeable | undefined {
  if (chargeable === undefined) return undefined;
  if (isSettledBefore) {
    issues.add(path, 'nothing beside settle: "before", which charges every response', chargeable);
  }
  if (typeof chargeable === "function") return chargeable as Chargeable;
  issues.add(path, "a function such as ({ status }) => status === 200", chargeable);
  return undefined;
}

function parseRevalidation(given: unknown, path: string, isSettledBefore: boolean, issues: Issues): boolean {
  const revalidation = parseBoolean(given, path, issues);
  if (revalidation && isSettledBefore) {
    issues.add(path, 'nothing beside settle: "before", which charges every response', given);
  }
  return revalidation;
}

/** Default false. */
function parseBoolean(given: unknown, path: string, issues: Issues): boolean {
  if (given !== undefined && typeof given !== "boolean") issues.add(path, "true or false", given);
  return given === true;
}

/** Beside a price that is never zero, `free` is a mistake. Of several options, clients would take the free one. */
function checkFree(options: readonly CompiledOption[], path: string, issues: Issues): void {
  const kinds = new Set(options.map(({ kind }) => kind));
  if (kinds.has("free") && kinds.size > 1) {
    issues.addText(
      issuePath(path, "accepts"),
      "a price of zero for every payment option, or for none",
      "some of either",
    );
  } else if (kinds.size === 1 && kinds.has("fixed")) {
    issues.add(issuePath(path, "free"), "a price that is zero or depends on the request, or nothing", true);
  }
}

function parseValidate(
  validate: unknown,
  path: string,
  declarations: Declarations,
  issues: Issues,
): true | InputValidator | undefined {
  if (validate === undefined || validate === false) return undefined;
  if (typeof validate === "function") return validate as InputValidator;
  if (validate !== true) issues.add(path, "true, or a function that says what is wrong with a request", validate);
  else if (!canCheckInput(declarations)) {
    issues.add(path, "extensions.bazaar beside it, which declares the request", validate);
  }
  return true;
}

function parseUnmetered(
  unmetered: unknown,
  path: string,
  options: readonly CompiledOption[],
  issues: Issues,
): Unmetered | undefined {
  if (unmetered === undefined) return undefined;
  if (!schemesOf(options).some(({ allowsLess }) => allowsLess))
    issues.add(path, 'an offer by "upto", or nothing', unmetered);
  if (unmetered === "maximum" || unmetered === "zero" || unmetered === "error") return unmetered;
  issues.add(path, '"maximum", "zero" or "error"', unmetered);
  return undefined;
}

/** The schemes of a route's payment options. A free one has none. */
function schemesOf(options: readonly CompiledOption[]): readonly Scheme[] {
  return options.flatMap((option) => {
    if (option.kind === "free") return [];
    return [option.kind === "fixed" ? option.offer.scheme : option.terms.scheme];
  });
}

interface InspectionContext {
  readonly facts: RouteFacts;
  readonly declarations: Declarations;
  readonly listedAs: Pick<ChargedAs, "notices"> | undefined;
  readonly path: string;
  readonly publicUrl: string | undefined;
  readonly issues: Issues;
}

/** Finds what looks wrong about a route before the first request. */
function inspect(
  { url, isHttp, isGrantOnly }: RouteTerms,
  subject: ChallengeSubject,
  { facts, declarations, listedAs, path, publicUrl = "", issues }: InspectionContext,
): RouteInspection {
  const compiled = [...declarations.compiled.values()];
  const isPublic = compiled.some((one) => one.isPublic === true);
  const noted = [...compiled.flatMap((one) => one.notices), ...((isPublic && listedAs?.notices) || [])];
  const notices = noted.map(({ code, message }) => finding(code, facts.key, message));
  if (isPublic && isPublicWithoutTls(url ?? publicUrl)) notices.push(notHttpsFinding());
  if (subject.offers.length === 0 && !isGrantOnly) return { isPublic, sample: undefined, leftOut: [], notices };
  const usual = sampleOccasion(facts, publicUrl);
  const sample = url === undefined ? usual : { ...usual, url };
  const { header, body, leftOut } = compileChallenge(subject)(sample);
  if (!parseJson(body).ok) {
    issues.addText(issuePath(path, "extensions"), "at most 28 levels of nesting, and no NUL", "more, or one");
  }
  if (isHttp && header.length > HEADER_BUDGET) {
    const code = header.length > HEADER_LIMIT ? "FAREBOX_CHALLENGE_TOO_LARGE" : "FAREBOX_CHALLENGE_LARGE";
    const lacks = leftOut.length === 0 ? "" : `, and lacks ${leftOut.join(", ")}`;
    notices.push(finding(code, facts.key, `Its PAYMENT-REQUIRED header has ${header.length} characters${lacks}`));
  }
  return { isPublic, sample, leftOut, notices };
}

/** Stands for the server until the seller has set its URL. */
const SAMPLE_ORIGIN = "https://api.example.com";

/** A request as most are. */
function sampleOccasion({ method = "GET", paths }: RouteFacts, publicUrl: string): ChallengeOccasion {
  const [path = { template: "/", params: [] }] = paths ?? [];
  const place = {
    routeTemplate: path.template,
    pathParams: Object.fromEntries(path.params.map((name) => [name, "0"])),
  };
  const url = `${publicUrl || SAMPLE_ORIGIN}${path.template}`;
  return { url, method, error: "Payment required", locate: () => place };
}
