/**
 * Prices and recipients that depend on the request, and the signed quotes by which such a price holds until it expires.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type AssetPrice, isZeroPrice } from "../price/price.js";
import { canonicalNetwork, type Network, sameNetwork } from "../protocol/caip2.js";
import type { AcceptedRequirements } from "../protocol/documents.js";
import { isJsonObject } from "../protocol/json.js";
import { createOffer, type Offer } from "../scheme/offer.js";
import type { OfferTerms, Scheme } from "../scheme/scheme.js";
import type { PayToFunction, PriceFunction, PriceRequest } from "./options.js";

/** Signs and checks quotes. */
export interface Quotes {
  /** @param expiresAtSeconds - Unix seconds. */
  sign(terms: QuotedTerms, expiresAtSeconds: number): string;
  /** Whether a text is a quote of ours for these terms, and whether it has run out. Total. */
  check(quote: unknown, terms: QuotedTerms, nowSeconds: number): QuoteState;
}

/** `lapsed`: ours, and too old to be paid by. `void`: not ours, or not for these terms. */
export type QuoteState = "good" | "lapsed" | "void";

/** Everything a quote is for. Whatever is not in it a client could change. */
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

/** Creates quotes that only whoever has the secret can make. */
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
      return Number(expiry) < nowSeconds ? "lapsed" : "good";
    },
  };
}

/** One way to pay, of which something is asked for with each request. */
export interface LiveTerms {
  readonly scheme: Scheme;
  readonly network: Network;
  readonly price: string | AssetPrice | PriceFunction;
  readonly payTo: string | PayToFunction;
  /** Whether the price may be zero. */
  readonly free: boolean;
  readonly maxTimeoutSeconds: number;
  /** What the seller adds to offers. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** A way to pay: an offer, the same for every request, or what makes one; or a price of zero, by which nothing is paid. */
export type Way =
  | { readonly kind: "free" }
  | { readonly kind: "fixed"; readonly offer: Offer }
  | { readonly kind: "live"; readonly terms: LiveTerms };

/** One request, as it is priced. */
export interface PricingOccasion {
  readonly request: PriceRequest;
  /** What a quote is bound to. */
  readonly binding: QuotedTerms["request"];
  /** What the client has accepted, if it comes with a payment. */
  readonly accepted: AcceptedRequirements | undefined;
  /** Unix seconds. */
  readonly nowSeconds: number;
}

/** What one request may be paid by. */
export interface PricedNow {
  /** None where nothing is to be paid: that is not the same as no way to pay. */
  readonly offers: readonly Offer[] | "free";
  /** An offer we made once that is too old to be paid by. A payment for it may have been seen in time. */
  readonly lapsed: Offer | undefined;
}

/**
 * Makes the offers for one request. A payment that comes with a quote of ours is answered for by that, whatever the price is
 * by now.
 *
 * @throws TypeError when a function of the seller's yields what cannot be sold; and whatever it throws.
 */
export async function priceNow(ways: readonly Way[], occasion: PricingOccasion, quotes: Quotes): Promise<PricedNow> {
  const quoted = quotedOffer(ways, occasion, quotes);
  if (quoted?.state === "good") return { offers: [quoted.offer], lapsed: undefined };
  const ask = askOnce(occasion.request);
  const made = await Promise.all(
    ways.map(async (way) => {
      if (way.kind === "live") return makeOffer(way.terms, { ask, occasion, quotes });
      return way.kind === "fixed" ? way.offer : "free";
    }),
  );
  const offers = made.filter((offer) => offer !== "free");
  if (offers.length === made.length) return { offers, lapsed: quoted?.offer };
  if (offers.length > 0) throw new TypeError("price: expected zero for every way to pay, or for none");
  return { offers: "free", lapsed: undefined };
}

/** Several ways to pay may share a function: it is asked once. */
function askOnce(request: PriceRequest): Ask {
  const answers = new Map<unknown, unknown>();
  return (term) => {
    if (typeof term !== "function") return term;
    if (!answers.has(term)) answers.set(term, term(request));
    return answers.get(term);
  };
}

type Ask = (term: LiveTerms["price"] | LiveTerms["payTo"]) => unknown;

interface Making {
  readonly ask: Ask;
  readonly occasion: PricingOccasion;
  readonly quotes: Quotes;
}

async function makeOffer(terms: LiveTerms, { ask, occasion, quotes }: Making): Promise<Offer | "free"> {
  const price = await ask(terms.price);
  const payTo = await ask(terms.payTo);
  if (!isPrice(price)) throw new TypeError('price: expected a price such as "$0.01", or { asset, amount }');
  if (terms.free && isZeroPrice(price)) return "free";
  if (typeof payTo !== "string") throw new TypeError("payTo: expected an address");
  const expiry = occasion.nowSeconds + terms.maxTimeoutSeconds;
  return compile(terms, { price, payTo }, (offered) => quotes.sign({ ...offered, request: occasion.binding }, expiry));
}

function compile(
  { scheme, network, maxTimeoutSeconds, extra }: LiveTerms,
  terms: Pick<OfferTerms, "price" | "payTo">,
  quoteFor: (offered: Omit<QuotedTerms, "request">) => string,
): Offer {
  const compiled = scheme.compileTerms({ network, ...terms });
  if (!compiled.ok)
    throw new TypeError(compiled.issues.map(({ term, expected }) => `${term}: expected ${expected}`).join("\n"));
  if (compiled.amount <= 0n) throw new TypeError("price: expected a price above zero, or free: true beside it");
  const { id: asset } = compiled.asset;
  const { amount, payTo } = compiled;
  const quote = quoteFor({ scheme: scheme.scheme, network, asset, payTo, amount: amount.toString() });
  return createOffer(scheme, compiled, { network, maxTimeoutSeconds, extra: { ...extra, quote } });
}

/** The offer that a payment was made for, if we have made it. */
function quotedOffer(
  ways: readonly Way[],
  { accepted, binding: request, nowSeconds }: PricingOccasion,
  quotes: Quotes,
): { readonly offer: Offer; readonly state: "good" | "lapsed" } | undefined {
  const amount = accepted?.amount ?? accepted?.maxAmountRequired;
  const extra = isJsonObject(accepted?.extra) ? accepted.extra : {};
  const { quote } = extra;
  if (accepted === undefined || amount === undefined || typeof quote !== "string") return undefined;
  const { scheme, network, asset, payTo } = accepted;
  const live = ways.flatMap((way) => (way.kind === "live" ? [way.terms] : []));
  const terms = live.find((one) => sameNetwork(one.network, network) && one.scheme.scheme === scheme);
  const state = quotes.check(quote, { request, scheme, network, asset, payTo, amount }, nowSeconds);
  if (terms === undefined || state === "void") return undefined;
  return { state, offer: compile(terms, { price: { asset, amount, extra }, payTo }, () => quote) };
}

/** A price as a seller writes it, whether or not there is such a price. */
export function isPrice(price: unknown): price is string | AssetPrice {
  if (typeof price === "string") return true;
  return isJsonObject(price) && typeof price["asset"] === "string" && typeof price["amount"] === "string";
}
