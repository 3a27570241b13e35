/**
 * Quotes: a price that was made for one request holds until it runs out, without being remembered. It is signed into the offer
 * and comes back with the payment.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { canonicalNetwork } from "../protocol/caip2.js";

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
