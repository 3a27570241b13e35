/**
 * Checks the payment options of one route, its `accepts`, and compiles them to offers.
 *
 * @module
 */
import { type Issues, issuePath } from "../issues.js";
import type { PaymentOption, PayToFunction, PriceFunction, SettleTime } from "../options.js";
import { microsOf } from "../price/dollars.js";
import { type AssetPrice, formatAmount, isPricedInDollars, isZeroPrice } from "../price/price.js";
import {
  type CompiledOption,
  type DynamicTerms,
  isPrice,
  isQuoted,
  parseByParsers,
  parsersFor,
  writePrice,
} from "../pricing/payment-option.js";
import {
  canonicalNetwork,
  expectedNetwork,
  isNetwork,
  matchesNetwork,
  type Network,
  networkByName,
  sameNetwork,
} from "../protocol/caip2.js";
import { copyJsonObject, isJsonObject, type JsonObject } from "../protocol/json.js";
import { createOffer } from "../scheme/offer.js";
import type { CompiledTerms, Scheme } from "../scheme/scheme.js";
import type { Settings } from "./parse-options.js";

const KEYS = Object.keys({
  scheme: true,
  price: true,
  network: true,
  payTo: true,
  maxTimeoutSeconds: true,
  settle: true,
  extra: true,
} satisfies Record<keyof PaymentOption, true>);

const TIMEOUT_SECONDS = { least: 10, most: 86_400, usual: 300, unit: "seconds" };

const FREE: CompiledOption = Object.freeze({ kind: "free" });

/** The `paymentFlow` of offers that are settled before the handler runs. */
const UPFRONT = "upfront";

/** When the money of an offer moves, as the reference says it. */
const FLOWS = new Map<unknown, SettleTime>([
  [UPFRONT, "before"],
  ["authorization", "after"],
]);

/** The settings that payment options depend on. */
export type AcceptsSettings = Pick<
  Settings,
  "schemes" | "payTo" | "networks" | "rpc" | "confirmationsOn" | "priceParsers" | "exposure"
>;

interface RouteContext {
  readonly path: string;
  /** The route's, for options without their own. */
  readonly settle: SettleTime;
  /** Whether a price may be zero. */
  readonly free: boolean;
  /** Whether a hook may let requests through, so that a route may be without payment options. */
  readonly isGrantable: boolean;
  readonly settings: AcceptsSettings;
  readonly issues: Issues;
}

/** Compiles the payment options of a route. An invalid option is an issue. */
export function parseAccepts(route: JsonObject, context: RouteContext): readonly CompiledOption[] {
  const { accepts, price } = route;
  if (accepts === undefined) return parseShorthand(price, context);
  const path = issuePath(context.path, "accepts");
  const options: readonly unknown[] = Array.isArray(accepts) ? accepts : [accepts];
  if (options.length === 0) checkGrantOnly(route, path, context);
  const compiled = options.flatMap((option, index) =>
    parseOption(option, { ...context, path: Array.isArray(accepts) ? issuePath(path, index) : path, price }),
  );
  return Object.freeze(compiled);
}

/** Without payment options, a price or `free` is a mistake; and without a hook that grants, no request reaches the handler. */
function checkGrantOnly(
  { price }: JsonObject,
  path: string,
  { isGrantable, free, issues, ...route }: RouteContext,
): void {
  if (!isGrantable)
    issues.addText(path, "at least one payment option, or a hooks.onRequest that grants requests", "none");
  if (price !== undefined) issues.add(issuePath(route.path, "price"), "no price beside accepts: []", price);
  if (free)
    issues.add(issuePath(route.path, "free"), "nothing beside accepts: [], which is for granted requests only", true);
}

/** `{ price: "$0.01" }`: `options.networks` and `options.payTo` complete the offers. */
function parseShorthand(price: unknown, context: RouteContext): readonly CompiledOption[] {
  const { settings, issues, path } = context;
  if (price === undefined) {
    issues.addText(path, "accepts, or a price together with options.networks and options.payTo", "neither");
    return [];
  }
  const written = writePrice(price);
  if (context.free && isPrice(written) && isZeroPrice(written)) return [FREE];
  if (settings.networks.length === 0)
    issues.add("options.networks", `the networks on which ${path} is paid`, undefined);
  return Object.freeze(settings.networks.flatMap((network) => parseOption({ network }, { ...context, price })));
}

interface OfferContext extends RouteContext {
  /** The route's price, for options without their own. */
  readonly price: unknown;
}

function parseOption(option: unknown, context: OfferContext): CompiledOption[] {
  const { path, issues } = context;
  if (!issues.checkKeys(path, option, KEYS)) return [];
  const { settle, extra } = parseFlow(option, context);
  const wire = { settle, maxTimeoutSeconds: parseTimeout(option, context), extra };
  const network = parseNetwork(option, context);
  const price = parsePrice(option, context);
  if (network === undefined) return [];
  const payTo = parsePayTo(option, network, context);
  const scheme = findScheme(option, network, context);
  if (scheme === undefined) return [];
  checkConfirmations(scheme, network, context);
  if (scheme.allowsLess !== true && settle === "metered") {
    issues.add(issuePath(path, "scheme"), '"upto", beside settle: "metered"', scheme.scheme);
  }
  const parsers = parsersFor(context.settings.priceParsers, scheme.scheme, network);
  return compileOption({ scheme, network, price, payTo, parsers, ...wire }, option, context);
}

/** The terms of a payment option. A missing term is an issue already, and the others are still checked. */
type ReadOption = Omit<DynamicTerms, "price" | "payTo" | "free"> & {
  readonly price: DynamicTerms["price"] | undefined;
  readonly payTo: DynamicTerms["payTo"] | undefined;
};

function compileOption(read: ReadOption, option: JsonObject, context: OfferContext): CompiledOption[] {
  const { scheme, network, payTo, parsers, ...wire } = read;
  const price = parseAtStart(read, context);
  const { extra } = wire;
  const sample = { network, price: sampleOf(price), payTo: typeof payTo === "string" ? payTo : "", extra };
  // A scheme that waits checks its terms with each request.
  const terms = scheme.offer === undefined ? scheme.compileTerms(sample) : NOT_CHECKED;
  const isGood = checkTerms(terms, { option, price, payTo }, context);
  if (wire.settle === "metered" && terms.ok) checkExposure(terms, price, context);
  const isZero = isPrice(price) && (isZeroPrice(price) || (terms.ok && terms.amount <= 0n));
  if (isZero && !context.free) {
    context.issues.add(`${context.path}.price`, "a price above zero, or free: true for a free route", price);
    return [];
  }
  if (read.price === undefined || price === undefined || payTo === undefined || !isGood) return [];
  if (isZero) return [FREE];
  const offered = terms.ok ? { ...terms, isInDollars: isPricedInDollars(read.price) } : undefined;
  if (typeof price === "function" || typeof payTo === "function" || scheme.offer !== undefined) {
    const dynamic = { ...read, price: read.price, payTo, free: context.free };
    const quoted = isQuoted(dynamic) ? { ...wire, extra: { ...extra, quote: SAMPLE_QUOTE } } : wire;
    const offer = offered && createOffer(scheme, offered, { network, ...quoted });
    return [{ kind: "dynamic", terms: dynamic, offer }];
  }
  return offered === undefined ? [] : [{ kind: "fixed", offer: createOffer(scheme, offered, { network, ...wire }) }];
}

/** The exposure is in dollars, so the asset has to be worth one. And no response may cost the seller more than it allows. */
function checkExposure(
  { asset, amount }: Extract<CompiledTerms, { readonly ok: true }>,
  price: ReadOption["price"],
  { path, settings, issues }: OfferContext,
): void {
  if (asset.decimals === undefined) {
    issues.add(
      issuePath(path, "price"),
      'a price in dollars, or in a stablecoin by its ticker, beside settle: "metered"',
      price,
    );
  } else if (isPrice(price) && microsOf(amount, asset.decimals) > settings.exposure.perPayer) {
    const expected = `at least the price of ${path}, whose responses go out before they are paid`;
    issues.addText("options.exposure.perPayer", expected, `$${formatAmount(settings.exposure.perPayer, 6)}`);
  }
}

/** Stands for a price that is only known with a request. */
const BY_REQUEST = () => "";

/** The terms of a scheme that checks them with each request. */
const NOT_CHECKED: CompiledTerms = { ok: false, issues: [] };

/** A price as the seller's parsers read it. One that waits is asked with each request. */
function parseAtStart(
  { scheme, network, price, parsers }: ReadOption,
  { path, issues }: OfferContext,
): ReadOption["price"] {
  if (!isPrice(price) || isZeroPrice(price) || scheme.offer !== undefined) return price;
  try {
    const parsed = parseByParsers(price, parsers, network);
    if (!(parsed instanceof Promise)) return parsed;
    parsed.catch(() => {});
    return BY_REQUEST;
  } catch (error) {
    const received = error instanceof Error ? `${error.name}: ${error.message}` : "something else than an error";
    issues.addText(issuePath(path, "price"), "a price that options.priceParsers can read", received);
    return undefined;
  }
}

/** Adds the scheme's issues. A dynamic price or recipient is checked with each request. */
function checkTerms(
  terms: CompiledTerms,
  { option, price, payTo }: Pick<ReadOption, "price" | "payTo"> & { readonly option: JsonObject },
  { path, issues }: OfferContext,
): boolean {
  const wrong = terms.ok
    ? []
    : terms.issues.filter(({ term }) => typeof valueAt({ price, payTo }, term) !== "function");
  for (const { term, expected } of wrong) {
    const received = valueAt({ ...option, price, payTo }, term);
    if (received !== undefined || term.includes(".")) issues.add(`${path}.${term}`, expected, received);
  }
  return wrong.length === 0;
}

/** As long as a quote that depends on nothing but the request itself. */
const SAMPLE_QUOTE = "0".repeat(55);

/** A price for checking the other terms of a dynamic price. */
function sampleOf(price: string | AssetPrice | PriceFunction | undefined): string | AssetPrice {
  return typeof price === "function" ? "$1" : (price ?? "");
}

function parseNetwork(option: JsonObject, { path, issues }: OfferContext): Network | undefined {
  const { network } = option;
  if (isNetwork(network) && networkByName(network) === undefined) return network;
  const expected = expectedNetwork(network, 'a CAIP-2 network such as "eip155:84532"');
  issues.add(issuePath(path, "network"), expected, network);
  return undefined;
}

function parsePrice(option: JsonObject, context: OfferContext): string | AssetPrice | PriceFunction | undefined {
  const price = writePrice(option["price"] ?? context.price);
  if (typeof price === "function") return price as PriceFunction;
  if (isPrice(price)) return price;
  context.issues.add(
    issuePath(context.path, "price"),
    'a dollar price such as "$0.01", a stablecoin by its ticker, "0.01 USDC", or { asset, amount } in atomic units',
    price,
  );
  return undefined;
}

function parsePayTo(
  option: JsonObject,
  network: Network,
  { path, settings, issues }: OfferContext,
): string | PayToFunction | undefined {
  const keys = Object.keys(settings.payTo);
  const key =
    keys.find((candidate) => sameNetwork(candidate, network)) ??
    keys.find((candidate) => matchesNetwork(candidate, network));
  const payTo = option["payTo"] ?? (key === undefined ? undefined : settings.payTo[key]);
  if (typeof payTo === "string") return payTo;
  if (typeof payTo === "function") return payTo as PayToFunction;
  issues.add(issuePath(path, "payTo"), `the address to be paid on ${network}, here or under options.payTo`, payTo);
  return undefined;
}

function findScheme(
  option: JsonObject,
  network: Network,
  { path, settings, issues }: OfferContext,
): Scheme | undefined {
  const name = option["scheme"] ?? "exact";
  const scheme = settings.schemes.find(
    (candidate) => candidate.scheme === name && matchesNetwork(candidate.networks, network),
  );
  if (scheme === undefined) {
    const known = settings.schemes.map((candidate) => `${candidate.scheme} on ${candidate.networks}`).join(", ");
    issues.add(issuePath(path, "scheme"), `a scheme that works on ${network}; known are ${known || "none"}`, name);
  }
  return scheme;
}

/** Confirmations are counted by a node, and a scheme that knows how to ask it. */
function checkConfirmations(scheme: Scheme, network: Network, { path, settings, issues }: OfferContext): void {
  if (settings.confirmationsOn(network) === 0) return;
  if (!settings.rpc.has(canonicalNetwork(network))) {
    issues.addText("options.rpc", `a node of ${network}, because options.confirmations counts blocks there`, "none");
  }
  if (scheme.readConfirmations === undefined) {
    issues.add(issuePath(path, "scheme"), `a scheme that can count confirmations on ${network}`, scheme.scheme);
  }
}

function parseTimeout(option: JsonObject, { path, issues }: OfferContext): number {
  return issues.readNumber(
    issuePath(path, "maxTimeoutSeconds"),
    option["maxTimeoutSeconds"] ?? undefined,
    TIMEOUT_SECONDS,
  );
}

/** Reads `settle` of a route or of a payment option; `undefined`: it is not set. */
export function parseSettle(settle: unknown, path: string, issues: Issues): SettleTime | undefined {
  if (settle === "before" || settle === "after" || settle === "metered") return settle;
  if (settle !== undefined) issues.add(path, '"after", "before" or "metered"', settle);
  return undefined;
}

/**
 * Whether any payment option settles before the handler.
 *
 * @param settle - The route's. It counts if no option could be compiled.
 */
export function settlesBefore(options: readonly CompiledOption[], settle: SettleTime): boolean {
  if (options.length === 0) return settle === "before";
  return options.some((option) => {
    if (option.kind === "free") return false;
    return (option.kind === "fixed" ? option.offer : option.terms).settle === "before";
  });
}

/** Reads when the money of an option moves: as it says in our words, or in those of the reference, or as its route says. */
function parseFlow(
  option: JsonObject,
  { path, settle: ofRoute, issues }: OfferContext,
): { readonly settle: SettleTime; readonly extra: JsonObject } {
  const own = parseSettle(option["settle"], issuePath(path, "settle"), issues);
  const extra = copyJsonObject(option["extra"] ?? {});
  if (extra === undefined) issues.add(issuePath(path, "extra"), "an object of JSON values", option["extra"]);
  const flow = extra?.["paymentFlow"];
  const said = FLOWS.get(flow);
  const settle = own ?? (said === undefined || isFlowOf(said, ofRoute) ? ofRoute : said);
  if (flow !== undefined && (said === undefined || !isFlowOf(said, settle))) {
    const expected = said === undefined ? '"upfront" or "authorization"' : `no value beside settle: "${settle}"`;
    issues.add(issuePath(issuePath(path, "extra"), "paymentFlow"), expected, flow);
  }
  return { settle, extra: settle === "before" ? { ...extra, paymentFlow: UPFRONT } : (extra ?? {}) };
}

/** Of a metered response, too, the payment is authorized first and settled afterwards. */
function isFlowOf(said: SettleTime, settle: SettleTime): boolean {
  return said === settle || (said === "after" && settle === "metered");
}

/** The value at a dotted path, for an error message. */
function valueAt(option: JsonObject, term: string): unknown {
  return term.split(".").reduce<unknown>((value, key) => (isJsonObject(value) ? value[key] : undefined), option);
}
