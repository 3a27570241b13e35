/**
 * One payment option of a route, and its price for one request: the seller's functions are called, and price parsers and schemes that
 * have to wait are waited for.
 *
 * @see `docs/guides/pricing.md`
 * @module
 */
import { PriceError } from "../errors.js";
import type { PayToFunction, PriceFunction, PriceParser, SettleTime, StartTimer } from "../options.js";
import { ExactPrice } from "../price/exact-price.js";
import { type AssetPrice, isPricedInDollars, isZeroPrice, readPrice } from "../price/price.js";
import { matchesNetwork, type Network } from "../protocol/caip2.js";
import { copyJsonObject, isJsonObject } from "../protocol/json.js";
import type { Offer } from "../scheme/offer.js";
import type { CompiledTerms, OfferAsset, OfferTerms, Scheme } from "../scheme/scheme.js";
import type { Supporters } from "./available-offers.js";

/** A payment option of a route, checked: free, an offer that is the same for all requests, or a price per request. */
export type CompiledOption =
  | { readonly kind: "free" }
  | { readonly kind: "fixed"; readonly offer: Offer }
  /** `offer`: one for $1, and as long as those for requests; `undefined`: nothing is known before a request. */
  | { readonly kind: "dynamic"; readonly terms: DynamicTerms; readonly offer: Offer | undefined };

/** A payment option that is priced for each request. */
export interface DynamicTerms {
  readonly scheme: Scheme;
  readonly network: Network;
  readonly price: string | AssetPrice | PriceFunction;
  readonly payTo: string | PayToFunction;
  /** The seller's parsers for the scheme and network. */
  readonly parsers: readonly PriceParser[];
  /** Whether the price may be zero. */
  readonly free: boolean;
  readonly maxTimeoutSeconds: number;
  /** When the money moves. `extra` says so to clients. */
  readonly settle: SettleTime;
  /** The seller's own `extra`. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** What pricing one request needs. */
export interface OptionDeps {
  readonly facilitators: Pick<Supporters, "supports" | "kindExtra" | "extensions">;
  readonly timer: StartTimer;
}

/** Terms that can be sold, and whether the seller wrote their price in dollars. */
export type Compiled = Extract<CompiledTerms, { ok: true }> & { readonly isInDollars: boolean };

/** The terms of an option for one request: an offer without its quote. */
export interface PricedTerms {
  readonly terms: DynamicTerms;
  readonly compiled: Compiled;
}

/** Returns a term, or the result of the seller's function in its place. */
export type Call = (term: DynamicTerms["price"] | DynamicTerms["payTo"]) => unknown;

/** How long a price parser or a scheme may take. A client waits for it. */
const WAIT_MS = 5_000;

/**
 * Prices an option for one request. `unavailable`: no facilitator supports it right now, and its scheme needs what one says.
 *
 * @throws PriceError when a function of the seller's returns what cannot be sold. What it throws is passed on.
 */
export async function priceOption(
  option: CompiledOption,
  call: Call,
  deps: OptionDeps,
): Promise<Offer | "free" | "unavailable" | PricedTerms> {
  if (option.kind === "free") return "free";
  if (option.kind === "fixed") return option.offer;
  const { terms } = option;
  const { scheme, network, parsers, free, extra } = terms;
  const written = writePrice(await call(terms.price));
  const payTo = await call(terms.payTo);
  if (!isPrice(written)) throw new PriceError(written, 'a price such as "$0.01", or { asset, amount }');
  if (free && isZeroPrice(written)) return "free";
  if (typeof payTo !== "string") throw new PriceError(payTo, "an address", "payTo");
  const parsed = parsers.length === 0 ? written : parseByParsers(written, parsers, network);
  const price = parsed instanceof Promise ? await inTime(parsed, "priceParsers", deps) : parsed;
  if (free && isZeroPrice(price)) return "free";
  const compiled = compile(scheme, { network, price, payTo, extra }, deps);
  const made = compiled instanceof Promise ? await compiled : compiled;
  if (made === "unavailable") return made;
  if (!made.ok) {
    // The first is enough: the seller's function is called again once it is corrected.
    const [{ term, expected } = { term: "price", expected: "another one" }] = made.issues;
    throw new PriceError(term.startsWith("payTo") ? payTo : price, expected, term);
  }
  if (made.amount <= 0n) throw new PriceError(price, "a price above zero, or free: true beside it");
  return { terms, compiled: { ...made, isInDollars: isPricedInDollars(written) } };
}

/** Whether the price holds for `maxTimeoutSeconds`: a function of the seller's has set it, and the scheme keeps to it. */
export function isQuoted({ price, payTo, scheme }: DynamicTerms): boolean {
  return (typeof price === "function" || typeof payTo === "function") && scheme.offer === undefined;
}

/** Whether an option cannot be priced before a facilitator has said what it supports. */
export function isWaitingForSupport(
  { scheme, network }: DynamicTerms,
  { facilitators }: Pick<OptionDeps, "facilitators">,
): boolean {
  return scheme.offer !== undefined && facilitators.supports(scheme.scheme, network) === "unknown";
}

function compile(
  scheme: Scheme,
  offerTerms: OfferTerms,
  deps: OptionDeps,
): CompiledTerms | Promise<CompiledTerms | "unavailable"> {
  return scheme.offer === undefined ? scheme.compileTerms(offerTerms) : offerInTime(scheme, offerTerms, deps);
}

async function offerInTime(
  scheme: Scheme,
  offerTerms: OfferTerms,
  deps: OptionDeps,
): Promise<CompiledTerms | "unavailable"> {
  const { facilitators } = deps;
  const of = [scheme.scheme, offerTerms.network] as const;
  if (scheme.offer === undefined || facilitators.supports(...of) !== "yes") return "unavailable";
  // Copies: what a scheme changes in them must not change what others see.
  const kind = { extra: { ...facilitators.kindExtra(...of) }, extensions: [...facilitators.extensions(...of)] };
  const { network, payTo, ...rest } = offerTerms;
  const copies = { network, payTo, ...structuredClone(rest) };
  return readOffered(await inTime(scheme.offer(copies, kind), scheme.scheme, deps));
}

/** More than this does not fit into a token's amount. */
const MAX_AMOUNT: bigint = 2n ** 256n - 1n;

/** What a scheme of the seller's has made of the terms. @throws PriceError when nobody could pay it. */
function readOffered(made: unknown): CompiledTerms {
  const of = (value: unknown, expected: string, what: string) =>
    new PriceError(value, `${expected} from the scheme`, what);
  if (!isJsonObject(made)) throw of(made, "an offer", "offer");
  const { ok, issues, amount, payTo, asset } = made;
  if (ok === false && Array.isArray(issues)) return made as unknown as CompiledTerms;
  if (ok !== true) throw of(ok, "{ ok: true, … } or { ok: false, issues }", "offer");
  if (typeof amount !== "bigint" || amount > MAX_AMOUNT) throw of(amount, "a bigint that fits a token", "amount");
  if (typeof payTo !== "string" || payTo === "") throw of(payTo, "an address", "payTo");
  if (!isJsonObject(asset) || typeof asset["id"] !== "string")
    throw of(asset, "{ id, symbol, decimals, extra }", "asset");
  const copied = copyJsonObject(asset["extra"] ?? {});
  if (copied === undefined) throw of("extra", "a JSON object", "asset.extra");
  // The option says when the money moves.
  const { paymentFlow: _, ...extra } = copied;
  return { ok, amount, payTo, asset: { ...(asset as unknown as OfferAsset), extra } };
}

/** Waits for the seller's code, with a limit. What comes later is dropped. */
async function inTime<T>(work: Promise<T>, what: string, { timer }: OptionDeps): Promise<T> {
  let stop = () => {};
  const tooLate = new Promise<never>((_, reject) => {
    stop = timer(() => reject(new PriceError(undefined, `a price within ${WAIT_MS / 1000} seconds`, what)), WAIT_MS);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    stop();
  }
}

/** The parsers of a seller for one scheme on one network, in the seller's order. */
export function parsersFor(all: readonly PriceParser[], scheme: string, network: Network): readonly PriceParser[] {
  return all.filter((one) => (one.scheme ?? scheme) === scheme && matchesNetwork(one.network ?? network, network));
}

/**
 * Reads a price by the seller's parsers: those for dollars, and those for any token that a price names. The first that knows it wins; if none does, the price stays as it is. Returns a
 * promise only if a parser does.
 *
 * @throws PriceError when a parser returns another value. What it throws is passed on.
 */
export function parseByParsers(
  price: string | AssetPrice,
  parsers: readonly PriceParser[],
  network: Network,
): string | AssetPrice | Promise<string | AssetPrice> {
  const read = decimalIn(price);
  if (read === undefined) return price;
  const { amount, isDollars } = read;
  for (const [at, parser] of parsers.entries()) {
    if (!isDollars && parser.namedTokens !== true) continue;
    const result: unknown = parser.parse(amount, network);
    if (isThenable(result)) {
      const rest = parsers.slice(at + 1);
      return Promise.resolve(result).then((parsed) => readParsed(parsed) ?? parseByParsers(price, rest, network));
    }
    const parsed = readParsed(result);
    if (parsed !== undefined) return parsed;
  }
  return price;
}

/** The decimal in `"$0.01"`, `"0.01 USD"`, `"0.01"` or `"0.01 USDC"`; `undefined`: there is none. */
function decimalIn(price: string | AssetPrice): { readonly amount: string; readonly isDollars: boolean } | undefined {
  if (typeof price !== "string") return undefined;
  const read = readPrice(/^\d+(?:\.\d+)?$/.test(price) ? `$${price}` : price);
  if (read === undefined || read === "from a float") return undefined;
  const { whole, fraction, ticker = "USD" } = read;
  return { amount: fraction === "" ? whole : `${whole}.${fraction}`, isDollars: ticker.toUpperCase() === "USD" };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "then") === "function";
}

function readParsed(parsed: unknown): AssetPrice | undefined {
  if (parsed === undefined || parsed === null) return undefined;
  if (isAssetPrice(parsed) && (parsed.extra === undefined || isJsonObject(parsed.extra))) return parsed;
  throw new PriceError(parsed, "{ asset, amount } in atomic units, or nothing", "priceParsers");
}

/** A computed price as the text that it stands for; any other value as it is. */
export function writePrice(price: unknown): unknown {
  return price instanceof ExactPrice ? price.toString() : price;
}

/** Whether a value has the form of a price. It may still not be one. */
export function isPrice(price: unknown): price is string | AssetPrice {
  return typeof price === "string" || isAssetPrice(price);
}

function isAssetPrice(price: unknown): price is AssetPrice {
  return isJsonObject(price) && typeof price["asset"] === "string" && typeof price["amount"] === "string";
}
