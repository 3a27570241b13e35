/**
 * Prices and recipients that depend on the request, and the signed quotes by which such a price holds until it expires.
 *
 * @see `docs/guides/pricing.md`
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { PayToFunction, PriceFunction, PriceRequest } from "../options.js";
import { type AssetPrice, isZeroPrice } from "../price/price.js";
import { canonicalNetwork, type Network, sameNetwork } from "../protocol/caip2.js";
import type { AcceptedRequirements } from "../protocol/documents.js";
import { isJsonObject } from "../protocol/json.js";
import { createOffer, type Offer } from "../scheme/offer.js";
import type { OfferTerms, Scheme } from "../scheme/scheme.js";

/** A payment option of a route, checked: free, an offer that is the same for all requests, or a price per request. */
export type CompiledOption =
  | { readonly kind: "free" }
  | { readonly kind: "fixed"; readonly offer: Offer }
  | { readonly kind: "dynamic"; readonly terms: DynamicTerms };

/** A payment option whose price or recipient depends on the request. */
export interface DynamicTerms {
  readonly scheme: Scheme;
  readonly network: Network;
  readonly price: string | AssetPrice | PriceFunction;
  readonly payTo: string | PayToFunction;
  /** Whether the price may be zero. */
  readonly free: boolean;
  readonly maxTimeoutSeconds: number;
  /** The seller's own `extra`. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** One request to price. */
export interface PricingOccasion {
  readonly request: PriceRequest;
  /** The request that a quote is bound to: route, method, path with query, digest of the body. */
  readonly binding: QuotedTerms["request"];
  /** The offer that the client accepted, if it comes with a payment. */
  readonly accepted: AcceptedRequirements | undefined;
  /** Unix seconds. */
  readonly nowSeconds: number;
}

/** The offers for one request. */
export interface RequestPrice {
  /** `free`: there is nothing to pay. */
  readonly offers: readonly Offer[] | "free";
  /** An offer of ours that is too old to pay by. A payment for it may have been seen in time. */
  readonly lapsed: Offer | undefined;
}

/**
 * Makes the offers for one request. If a payment comes with a quote of ours, the quoted offer holds, even
 * if the price has changed.
 *
 * @throws TypeError when a function of the seller's returns what cannot be sold. What it throws is passed on.
 */
export async function priceRequest(
  options: readonly CompiledOption[],
  occasion: PricingOccasion,
  quotes: Quotes,
): Promise<RequestPrice> {
  const quoted = readQuotedOffer(options, occasion, quotes);
  if (quoted?.state === "good") return { offers: [quoted.offer], lapsed: undefined };
  const call = callOnce(occasion.request);
  const made = await Promise.all(
    options.map(async (option) => {
      if (option.kind === "free") return "free";
      return option.kind === "fixed" ? option.offer : makeOffer(option.terms, { call, occasion, quotes });
    }),
  );
  const offers = made.filter((offer) => offer !== "free");
  if (offers.length === made.length) return { offers, lapsed: quoted?.offer };
  if (offers.length > 0) throw new TypeError("price: expected zero for every payment option, or for none");
  return { offers: "free", lapsed: undefined };
}

type Call = (term: DynamicTerms["price"] | DynamicTerms["payTo"]) => unknown;

/** Payment options may share a function: it is called once per request. */
function callOnce(request: PriceRequest): Call {
  const results = new Map<unknown, unknown>();
  return (term) => {
    if (typeof term !== "function") return term;
    if (!results.has(term)) results.set(term, term(request));
    return results.get(term);
  };
}

async function makeOffer(
  terms: DynamicTerms,
  { call, occasion, quotes }: { readonly call: Call; readonly occasion: PricingOccasion; readonly quotes: Quotes },
): Promise<Offer | "free"> {
  const price = await call(terms.price);
  const payTo = await call(terms.payTo);
  if (!isPrice(price)) throw new TypeError('price: expected a price such as "$0.01", or { asset, amount }');
  if (terms.free && isZeroPrice(price)) return "free";
  if (typeof payTo !== "string") throw new TypeError("payTo: expected an address");
  const expiresAtSeconds = occasion.nowSeconds + terms.maxTimeoutSeconds;
  const request = occasion.binding;
  return compileOffer(terms, { price, payTo }, (offered) => quotes.sign({ ...offered, request }, expiresAtSeconds));
}

function compileOffer(
  { scheme, network, maxTimeoutSeconds, extra }: DynamicTerms,
  terms: Pick<OfferTerms, "price" | "payTo">,
  quoteFor: (offered: Omit<QuotedTerms, "request">) => string,
): Offer {
  const compiled = scheme.compileTerms({ network, ...terms });
  if (!compiled.ok) {
    throw new TypeError(compiled.issues.map(({ term, expected }) => `${term}: expected ${expected}`).join("\n"));
  }
  if (compiled.amount <= 0n) throw new TypeError("price: expected a price above zero, or free: true beside it");
  const { id: asset } = compiled.asset;
  const { amount, payTo } = compiled;
  const quote = quoteFor({ scheme: scheme.scheme, network, asset, payTo, amount: amount.toString() });
  return createOffer(scheme, compiled, { network, maxTimeoutSeconds, extra: { ...extra, quote } });
}

/** The offer that a payment was made for, if the quote in it is ours. */
function readQuotedOffer(
  options: readonly CompiledOption[],
  { accepted, binding: request, nowSeconds }: PricingOccasion,
  quotes: Quotes,
): { readonly offer: Offer; readonly state: "good" | "lapsed" } | undefined {
  const amount = accepted?.amount ?? accepted?.maxAmountRequired;
  const extra = isJsonObject(accepted?.extra) ? accepted.extra : {};
  const { quote } = extra;
  if (accepted === undefined || amount === undefined || typeof quote !== "string") return undefined;
  const { scheme, network, asset, payTo } = accepted;
  const dynamic = options.flatMap((option) => (option.kind === "dynamic" ? [option.terms] : []));
  const terms = dynamic.find((one) => sameNetwork(one.network, network) && one.scheme.scheme === scheme);
  const state = quotes.check(quote, { request, scheme, network, asset, payTo, amount }, nowSeconds);
  if (terms === undefined || state === "void") return undefined;
  return { state, offer: compileOffer(terms, { price: { asset, amount, extra }, payTo }, () => quote) };
}

/** Whether a value has the form of a price. It may still not be one. */
export function isPrice(price: unknown): price is string | AssetPrice {
  if (typeof price === "string") return true;
  return isJsonObject(price) && typeof price["asset"] === "string" && typeof price["amount"] === "string";
}

/** Signs and checks quotes. */
export interface Quotes {
  /** @param expiresAtSeconds - Unix seconds. */
  sign(terms: QuotedTerms, expiresAtSeconds: number): string;
  /** Checks a quote that came back. Never throws. */
  check(quote: unknown, terms: QuotedTerms, nowSeconds: number): QuoteState;
}

/** `lapsed`: ours, and expired. `void`: not ours, or not for these terms. */
export type QuoteState = "good" | "lapsed" | "void";

/** All that a quote promises. A client could change anything that is missing here. */
export interface QuotedTerms {
  /** Route, method, path with query, and digest of the body. */
  readonly request: readonly string[];
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  readonly amount: string;
}

const QUOTE = /^(?<expiry>[1-9]\d{0,11})\.(?<seal>[\w-]{43})$/;

/** Creates quotes that only the owner of the secret can sign. */
export function createQuotes(secret: Uint8Array): Quotes {
  const seal = (terms: QuotedTerms, expiry: string) => {
    const { request, scheme, network, asset, payTo, amount } = terms;
    const offered = [scheme, canonicalNetwork(network), asset, payTo, amount];
    const text = JSON.stringify(["farebox-quote-1", expiry, request, ...offered]);
    return createHmac("sha256", secret).update(text).digest("base64url");
  };
  return {
    sign: (terms, expiresAtSeconds) => `${expiresAtSeconds}.${seal(terms, String(expiresAtSeconds))}`,
    check(quote, terms, nowSeconds) {
      const { expiry, seal: given } = (typeof quote === "string" && QUOTE.exec(quote)?.groups) || {};
      if (expiry === undefined || given === undefined) return "void";
      if (!timingSafeEqual(Buffer.from(given), Buffer.from(seal(terms, expiry)))) return "void";
      // Seconds, not an amount, so `Number` is safe.
      return Number(expiry) < nowSeconds ? "lapsed" : "good";
    },
  };
}
