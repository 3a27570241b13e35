/**
 * Prices and recipients that depend on the request, and the signed quotes by which such a price holds until it expires.
 *
 * @see `docs/guides/pricing.md`
 * @module
 */
import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { BodyNotParsedError, PriceError } from "../errors.js";
import type { PriceRequest } from "../options.js";
import { type AssetPrice, isPricedInDollars, parseAtomic } from "../price/price.js";
import { canonicalNetwork, sameNetwork } from "../protocol/caip2.js";
import { showsAll, writeCanonicalText } from "../protocol/canonical-text.js";
import type { AcceptedRequirements } from "../protocol/documents.js";
import { isJsonObject } from "../protocol/json.js";
import { writeRequest } from "../route/priced-request.js";
import { createOffer, type Offer } from "../scheme/offer.js";
import type { OfferAsset, OfferTerms } from "../scheme/scheme.js";
import {
  type Call,
  type Compiled,
  type CompiledOption,
  type DynamicTerms,
  isQuoted,
  type OptionDeps,
  priceOption,
} from "./payment-option.js";

/** One request to price. */
export interface PricingOccasion {
  readonly request: PriceRequest & { readonly pathInMount?: string };
  /** Whether the client sent a body, parsed or not. */
  readonly hasBody: boolean;
  /** The sale, and all that a function of the seller's sees of the request unasked: route, method, path, query. */
  readonly binding: readonly string[];
  /** The offer that the client accepted, if it comes with a payment. */
  readonly accepted: AcceptedRequirements | undefined;
  /** Unix seconds. */
  readonly nowSeconds: number;
}

/** The offers for one request. */
export interface RequestPrice {
  /** `free`: there is nothing to pay. */
  readonly offers: readonly Offer[] | "free";
  /** An offer that is too old to pay by, if it was ours. A payment for it may have been seen in time: then it has a record. */
  readonly lapsed: Offer | undefined;
}

/**
 * A request without a price. `not_parsed`: a function of the seller's read the body, and no parser had read it before.
 * `no_text`: it read a body that cannot be told from others, so that a quote for it would hold for others, too.
 */
export interface Unpriced {
  readonly unpriced: "not_parsed" | "no_text";
}

/**
 * Makes the offers for one request. An offer that a function of the seller's has priced gets a quote. If a payment comes with a quote
 * of ours, the quoted offer holds, even if the price has changed. A quote is for all that the seller's functions read: for another
 * request they are called again.
 *
 * @throws PriceError when a function of the seller's returns what cannot be sold. What it throws is passed on.
 */
export async function priceRequest(
  options: readonly CompiledOption[],
  occasion: PricingOccasion,
  { quotes, ...deps }: OptionDeps & { readonly quotes: Quotes },
): Promise<RequestPrice | Unpriced> {
  const request = new ReadRequest(occasion);
  const quoted = readQuotedOffer(options, { request, occasion }, quotes);
  if (quoted?.state === "good") {
    await tellFunctions(options, new ReadRequest(occasion).observed());
    return { offers: [quoted.offer], lapsed: undefined };
  }
  const call = callOnce(request.observed());
  const called = await Promise.all(options.map((option) => priceOption(option, call, deps))).catch((error: unknown) => {
    if (request.problem === undefined) throw error;
    return [];
  });
  // Also if the function caught the error: a price made up without the body does not count.
  if (request.problem !== undefined) return { unpriced: request.problem };
  // All functions have returned, so each quote is for all that any of them read.
  const { isUnquoted } = request;
  const reads = request.names();
  const values = request.valuesOf(reads) ?? [];
  const made = called.map((one) => {
    if (!(typeof one === "object" && "compiled" in one)) return one;
    const { terms, compiled } = one;
    const until = { reads, atSeconds: occasion.nowSeconds + terms.maxTimeoutSeconds };
    const isSigned = isQuoted(terms) && !isUnquoted;
    const quote = isSigned ? quotes.sign(sealedTerms(terms, compiled, values), until) : undefined;
    return offerOf(terms, compiled, quote);
  });
  const offers = made.filter((offer) => typeof offer === "object");
  if (!made.includes("free")) return { offers, lapsed: quoted?.offer ?? readClaimedOffer(options, occasion) };
  if (made.some((offer) => offer !== "free"))
    throw new PriceError("$0 for some", "zero for every payment option, or for none");
  return { offers: "free", lapsed: undefined };
}

/**
 * On a function of the seller's: it is called with a payment, too, although the quote holds whatever it says. Sellers of other libraries
 * note what they have computed there, and their handlers read it.
 */
export const IS_TOLD: unique symbol = Symbol.for("farebox.price.isTold");

function isTold(term: unknown): boolean {
  return typeof term === "function" && IS_TOLD in term;
}

async function tellFunctions(options: readonly CompiledOption[], request: PriceRequest): Promise<void> {
  const call = callOnce(request);
  const told = options.flatMap((option) =>
    option.kind === "dynamic" ? [option.terms.price, option.terms.payTo].filter(isTold) : [],
  );
  await Promise.allSettled(told.map(async (term) => call(term)));
}

/** Payment options may share a function: it is called once per request. */
function callOnce(request: PriceRequest): Call {
  const results = new Map<unknown, unknown>();
  return (term) => {
    if (typeof term !== "function") return term;
    if (!results.has(term)) results.set(term, term(request));
    return results.get(term);
  };
}

function offerOf(
  { scheme, network, maxTimeoutSeconds, settle, extra }: DynamicTerms,
  compiled: Compiled,
  quote: string | undefined,
): Offer {
  const quoted = quote === undefined ? extra : { ...extra, quote };
  return createOffer(scheme, compiled, { network, maxTimeoutSeconds, settle, extra: quoted });
}

function sealedTerms(
  { scheme: { scheme }, network, maxTimeoutSeconds, extra }: DynamicTerms,
  { asset, payTo, amount, isInDollars }: Compiled,
  request: QuotedTerms["request"],
): QuotedTerms {
  const words = priceWords(asset.priceExtra, extra);
  const noted = [...(words === undefined ? [] : [words]), ...(isInDollars ? [] : [NOT_IN_DOLLARS])];
  const offered = digestOfValue([asset.extra, extra, maxTimeoutSeconds, ...noted]);
  return { request, scheme, network, asset: asset.id, payTo, amount: amount.toString(), extra: offered };
}

const NOT_IN_DOLLARS = "not in dollars";

/** What a price adds to `extra`, without what stands there anyway; `undefined`: nothing. */
function priceWords(
  added: OfferAsset["priceExtra"] = {},
  ...others: readonly OfferAsset["extra"][]
): OfferAsset["priceExtra"] {
  const own = Object.entries(added).filter(([name]) => !others.some((other) => Object.hasOwn(other, name)));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** Names of what a function read besides headers. No header has such a name. */
const BODY = ":body";
const URL_READ = ":url";
/** In front of the name of a header that was read from `headers`. By `header`, frameworks take some names for others. */
const OWN_HEADER = ":headers.";

type Problem = Unpriced["unpriced"];

/** One request, and what the seller's functions have read of it. */
class ReadRequest {
  readonly #occasion: PricingOccasion;
  readonly #names = new Set<string>();
  #isUnquoted = false;
  #problem: Problem | undefined;
  #body: DigestedBody | undefined;

  constructor(occasion: PricingOccasion) {
    this.#occasion = occasion;
  }

  /** Why there is no price. Set when a function read a body that it cannot be priced by. */
  get problem(): Problem | undefined {
    return this.#problem;
  }

  /** Whether a function read what cannot be named, so that a quote could hold for another request. */
  get isUnquoted(): boolean {
    return this.#isUnquoted;
  }

  /** The names of all that was read. */
  names(): readonly string[] {
    return [...this.#names].sort();
  }

  /** The request as these names show it; `undefined`: they name a body that no digest shows whole. */
  valuesOf(names: readonly string[]): QuotedTerms["request"] | undefined {
    const { binding, request } = this.#occasion;
    const values: (string | null)[] = [...binding];
    for (const name of names) {
      if (name === BODY) {
        const body = this.#digestBody();
        if ("problem" in body || !body.isWhole) return undefined;
        values.push(body.digest);
      } else if (name === URL_READ) values.push(request.url);
      else values.push(name === "" ? null : (this.#headerNamed(name) ?? null));
    }
    return values;
  }

  /** The request for the seller's functions. */
  observed(): PriceRequest {
    return new ObservedRequest(this);
  }

  /** The request itself, for what every quote is bound to. */
  get request(): PriceRequest & { readonly pathInMount?: string } {
    return this.#occasion.request;
  }

  readUrl(): string {
    this.#names.add(URL_READ);
    return this.request.url;
  }

  readHeader(name: string): string | undefined {
    const value = this.request.header(name);
    this.#names.add(String(name).toLowerCase());
    return value;
  }

  /** A header as it is in `headers`. */
  readOwnHeader(name: string): string | undefined {
    this.#names.add(OWN_HEADER + name);
    return ownHeader(this.request, name);
  }

  readBody(): unknown {
    const { body, route } = this.request;
    this.#names.add(BODY);
    const digested = this.#digestBody();
    if (!("problem" in digested)) {
      if (!digested.isWhole) this.#isUnquoted = true;
      return body;
    }
    this.#problem = digested.problem;
    if (digested.problem === "not_parsed") throw new BodyNotParsedError(route);
    throw new RangeError("the body cannot be told from others");
  }

  /** The whole request, of which a quote cannot name the parts. */
  readAll(): PriceRequest {
    this.#isUnquoted = true;
    return this.request;
  }

  #headerNamed(name: string): string | undefined {
    const { request } = this.#occasion;
    return name.startsWith(OWN_HEADER) ? ownHeader(request, name.slice(OWN_HEADER.length)) : request.header(name);
  }

  /** Taken once, because a function may change the body. */
  #digestBody(): DigestedBody {
    this.#body ??= digestBody(this.#occasion);
    return this.#body;
  }
}

function ownHeader({ headers }: PriceRequest, name: string): string | undefined {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}

/** The request for the seller's functions. It notes what they read. */
class ObservedRequest implements PriceRequest {
  readonly method: string;
  readonly path: string;
  readonly route: string;
  readonly hasPayment: boolean;
  readonly #read: ReadRequest;

  constructor(read: ReadRequest) {
    const { method, path, route, hasPayment } = read.request;
    this.method = method;
    this.path = path;
    this.route = route;
    this.hasPayment = hasPayment;
    this.#read = read;
  }

  get search(): string {
    return this.#read.request.search;
  }

  get pathInMount(): string | undefined {
    return this.#read.request.pathInMount;
  }

  get pathParams(): PriceRequest["pathParams"] {
    return this.#read.request.pathParams;
  }

  get url(): string {
    return this.#read.readUrl();
  }

  get body(): unknown {
    return this.#read.readBody();
  }

  get header(): PriceRequest["header"] {
    return (name) => this.#read.readHeader(name);
  }

  get headers(): PriceRequest["headers"] {
    return observeHeaders(this.#read);
  }

  get payment(): PriceRequest["payment"] {
    return this.#read.readAll().payment;
  }

  get native(): unknown {
    return this.#read.readAll().native;
  }

  toJSON(): object {
    return writeRequest(this.#read.readAll());
  }
}

/** Headers that note which of them are read. The target is empty: `util.inspect` looks through a proxy unseen. */
function observeHeaders(read: ReadRequest): PriceRequest["headers"] {
  return new Proxy<Record<string, string>>(Object.create(null), {
    get: (_target, name) => (typeof name === "string" ? read.readOwnHeader(name) : undefined),
    has: (_target, name) => typeof name === "string" && read.readOwnHeader(name) !== undefined,
    ownKeys: () => Object.keys(read.readAll().headers),
    getOwnPropertyDescriptor(_target, name) {
      const value = typeof name === "string" ? read.readOwnHeader(name) : undefined;
      return value === undefined ? undefined : { value, enumerable: true, configurable: true, writable: false };
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    preventExtensions: () => false,
    setPrototypeOf: () => false,
  });
}

/** `isWhole`: the digest is of all that a function can read of the body. */
type DigestedBody = { readonly digest: string; readonly isWhole: boolean } | { readonly problem: Problem };

function digestBody({ request: { body }, hasBody }: PricingOccasion): DigestedBody {
  if (body === undefined && hasBody) return { problem: "not_parsed" };
  try {
    return { digest: digestOfValue(body), isWhole: showsAll(body) };
  } catch {
    return { problem: "no_text" };
  }
}

/** @throws if the value has no text */
function digestOfValue(value: unknown): string {
  const hash = createHash("sha256");
  writeCanonicalText(value, hash);
  return hash.digest("base64url");
}

/** The offer that a payment was made for, if the quote in it is ours. */
function readQuotedOffer(
  options: readonly CompiledOption[],
  { request, occasion }: { readonly request: ReadRequest; readonly occasion: PricingOccasion },
  quotes: Quotes,
): { readonly offer: Offer; readonly state: "good" | "lapsed" } | undefined {
  const { accepted, nowSeconds } = occasion;
  const amount = accepted?.amount ?? accepted?.maxAmountRequired;
  const { quote, ...extra } = isJsonObject(accepted?.extra) ? accepted.extra : {};
  if (accepted === undefined || amount === undefined || typeof quote !== "string") return undefined;
  const { scheme, network, asset, payTo } = accepted;
  const values = request.valuesOf(quotes.readsOf(quote) ?? []);
  if (values === undefined) return undefined;
  for (const option of options) {
    if (option.kind !== "dynamic") continue;
    const { terms } = option;
    if (!isQuoted(terms)) continue;
    if (!sameNetwork(terms.network, network) || terms.scheme.scheme !== scheme) continue;
    const compiled = compileClaimed(terms, { asset, amount, extra, payTo });
    if (compiled === undefined) continue;
    for (const claimed of readingsOf(terms, compiled, extra)) {
      const state = checkSeal(quotes, quote, () => sealedTerms(terms, claimed, values), nowSeconds);
      if (state === "good") return { state, offer: offerOf(terms, claimed, quote) };
      if (state === "lapsed") return { state, offer: offerOf(withExtra(terms, extra), claimed, quote) };
    }
  }
  return undefined;
}

/**
 * The terms as claimed: the price has added nothing to `extra`, or all that neither the option nor a facilitator has. And it was written in
 * dollars, or not. Only the seal tells which.
 */
function readingsOf(
  { scheme, extra }: DynamicTerms,
  compiled: Compiled,
  seen: OfferAsset["extra"],
): readonly Compiled[] {
  const { priceExtra, ...asset } = compiled.asset;
  const words = priceWords(priceExtra, extra, scheme.completeExtra?.(seen) ?? {});
  const assets = words === undefined ? [asset] : [asset, { ...asset, priceExtra: words }];
  return assets.flatMap((one) => [true, false].map((isInDollars) => ({ ...compiled, asset: one, isInDollars })));
}

/** What a client sends may have no text. Then it is nothing that was sealed. */
function checkSeal(
  quotes: Quotes,
  quote: string,
  terms: () => QuotedTerms,
  nowSeconds: number,
): ReturnType<Quotes["check"]> | undefined {
  try {
    return quotes.check(quote, terms(), nowSeconds);
  } catch {
    return undefined;
  }
}

/**
 * The offer that a payment without a quote claims to be for. The price may have changed since then, and no quote proves it. So it only
 * serves to find the payment's record, which says what it was taken for.
 */
function readClaimedOffer(options: readonly CompiledOption[], { accepted }: PricingOccasion): Offer | undefined {
  const amount = accepted?.amount ?? accepted?.maxAmountRequired;
  const extra = isJsonObject(accepted?.extra) ? accepted.extra : {};
  if (accepted === undefined || amount === undefined || extra["quote"] !== undefined) return undefined;
  const { scheme, network, asset, payTo } = accepted;
  for (const option of options) {
    if (option.kind !== "dynamic") continue;
    const { terms } = option;
    if (!sameNetwork(terms.network, network) || terms.scheme.scheme !== scheme) continue;
    const compiled = compileClaimed(terms, { asset, amount, extra, payTo });
    if (compiled !== undefined) return offerOf(withExtra(terms, extra), compiled, undefined);
  }
  return undefined;
}

/** What a facilitator had added to an offer when the client saw it, beside the seller's own. */
function withExtra(terms: DynamicTerms, seen: DynamicTerms["extra"]): DynamicTerms {
  return { ...terms, extra: { ...seen, ...terms.extra } };
}

/** Compiles terms in the client's words. They only count if they turn out to be what was sealed. */
function compileClaimed(
  { scheme, network, extra, price: written }: DynamicTerms,
  { payTo, ...price }: AssetPrice & Pick<OfferTerms, "payTo">,
): Compiled | undefined {
  // A claim without a quote cannot say how a function wrote its price.
  const form = { isInDollars: typeof written === "function" || isPricedInDollars(written) };
  // Such a scheme compiles the seller's words only, and may ask others about them.
  if (scheme.offer !== undefined) return asClaimed(price, payTo, form);
  try {
    const compiled = scheme.compileTerms({ network, price, payTo, extra });
    return compiled.ok ? { ...compiled, ...form } : undefined;
  } catch {
    return undefined;
  }
}

function asClaimed(
  { asset: id, amount, extra = {} }: AssetPrice,
  payTo: string,
  form: Pick<Compiled, "isInDollars">,
): Compiled | undefined {
  const parsed = parseAtomic(amount);
  return parsed.ok
    ? { ok: true, asset: { id, symbol: id, decimals: undefined, extra }, amount: parsed.amount, payTo, ...form }
    : undefined;
}

/** Signs and checks quotes. */
export interface Quotes {
  /**
   * Signs a quote; `undefined` if too much was read for one.
   *
   * @param until - `atSeconds` in Unix seconds; `reads` are the names of what the price depends on.
   */
  sign(
    terms: QuotedTerms,
    until: { readonly reads: readonly string[]; readonly atSeconds: number },
  ): string | undefined;
  /** The names in a quote that came back, signed or not; `undefined`: it has another form. Never throws. */
  readsOf(quote: unknown): readonly string[] | undefined;
  /** Checks a quote that came back. Never throws. */
  check(quote: unknown, terms: QuotedTerms, nowSeconds: number): QuoteState;
}

/** Names a sale for its quotes. Two sales may have the same key, path and query, and other prices: a quote of one is void for the other. */
export type NameSale = (key: string, dynamic: readonly DynamicTerms[], about: { readonly isTool: boolean }) => string;

/**
 * Names sales that are created at start-up, so that all processes name them alike: by their terms, the text of their functions, and how
 * many of these came before. A tool has a name of its own, and may be created for each session.
 */
export function createSaleNames(): NameSale {
  const created = new Map<string, number>();
  return (key, dynamic, { isTool }) => {
    const name = digestOfTerms(key, dynamic, (called) => Function.prototype.toString.call(called));
    const before = created.get(name) ?? 0;
    if (!isTool) created.set(name, before + 1);
    return `${name} ${before}`;
  };
}

/** Names sales that are created for a request, by their terms and their very functions. Other processes have others. */
export function createPassingSaleNames(): NameSale {
  const process = randomUUID();
  const names = new WeakMap<object, number>();
  let last = 0;
  const nameOf = (called: object) => {
    const name = names.get(called) ?? ++last;
    names.set(called, name);
    return `${process} ${name}`;
  };
  return (key, dynamic) => digestOfTerms(key, dynamic, nameOf);
}

function digestOfTerms(key: string, dynamic: readonly DynamicTerms[], nameOf: (called: object) => string): string {
  const terms = dynamic.map(({ scheme: { scheme }, network, maxTimeoutSeconds, settle, extra, price, payTo }) => {
    const named = [price, payTo].map((term) => (typeof term === "function" ? nameOf(term) : term));
    return [scheme, network, maxTimeoutSeconds, settle, extra, ...named];
  });
  const text = JSON.stringify([key, terms], (_, value) => (typeof value === "bigint" ? String(value) : value));
  return createHash("sha256").update(text).digest("base64url");
}

/** `lapsed`: ours, and expired. `void`: not ours, or not for these terms. */
export type QuoteState = "good" | "lapsed" | "void";

/** All that a quote promises. A client could change anything that is missing here. */
export interface QuotedTerms {
  /** Route, method, path, query; and the values of what the seller's functions read besides. */
  readonly request: readonly (string | null)[];
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  readonly amount: string;
  /** Digest of `extra` and `maxTimeoutSeconds`. */
  readonly extra: string;
}

/** Names from a client's request may be long. Without a quote, the price is asked again with the payment. */
const MAX_READS = 512;

const QUOTE = /^(?<expiry>[1-9]\d{0,11})\.(?<reads>[\w-]{0,683})\.(?<seal>[\w-]{43})$/;

/** Creates quotes that only the owner of the secret can sign. The secret is final before the first price. */
export function createQuotes(secret: () => Uint8Array): Quotes {
  const seal = (terms: QuotedTerms, head: string) => {
    const { request, scheme, network, asset, payTo, amount, extra } = terms;
    const offered = [scheme, canonicalNetwork(network), asset, payTo, amount, extra];
    const text = JSON.stringify(["farebox-quote-2", head, request, ...offered]);
    return createHmac("sha256", secret()).update(text).digest("base64url");
  };
  const parse = (quote: unknown) => (typeof quote === "string" && QUOTE.exec(quote)?.groups) || {};
  return {
    sign(terms, { reads, atSeconds }) {
      const names = Buffer.from(reads.join("\n"));
      if (names.length > MAX_READS) return undefined;
      const head = `${atSeconds}.${names.toString("base64url")}`;
      return `${head}.${seal(terms, head)}`;
    },
    readsOf(quote) {
      const { reads } = parse(quote);
      if (reads === undefined) return undefined;
      return reads === "" ? [] : Buffer.from(reads, "base64url").toString().split("\n");
    },
    check(quote, terms, nowSeconds) {
      const { expiry, reads, seal: given } = parse(quote);
      if (expiry === undefined || given === undefined) return "void";
      if (!timingSafeEqual(Buffer.from(given), Buffer.from(seal(terms, `${expiry}.${reads}`)))) return "void";
      // Seconds, not an amount, so `Number` is safe.
      return Number(expiry) < nowSeconds ? "lapsed" : "good";
    },
  };
}
