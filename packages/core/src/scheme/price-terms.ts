/**
 * From a price as a seller writes it to an asset and an amount, on whatever network.
 *
 * @module
 */
import { type AssetPrice, parseAtomic, parsePrice } from "../price/price.js";
import type { OfferAsset, OfferTerms, TermsIssue } from "./scheme.js";

/** What prices can be in on the networks of a scheme. */
export interface Pricing {
  /** What a price in dollars or by a ticker may be in, what `$` means first; none where no stablecoin is known. */
  assetsOn(network: string): readonly KnownAsset[];
  /** How a price in any other asset is written, for an error message: `{ asset, amount }`. */
  readonly assetForm: string;
  /** Finds the asset that a price names, known or not. */
  nameAsset(price: AssetPrice, network: string): NamedAsset;
  /** The most that anybody can be asked for. Default: all below 2^256. */
  readonly most?: {
    /** Atomic units. */
    readonly amount: bigint;
    /** What is said of more than that: what an amount has to be. */
    readonly expected: string;
  };
}

/** An asset that a price can be in by its ticker, since its decimals are known. */
export interface KnownAsset extends OfferAsset {
  /** 0 to 36. */
  readonly decimals: number;
}

/** The asset that a price names, or why nothing can be sold in it. */
export type NamedAsset = { readonly ok: true; readonly asset: OfferAsset } | ({ readonly ok: false } & TermsIssue);

/** A price converted exactly, or what is wrong with it. */
export type PricedTerms =
  | { readonly ok: true; readonly asset: OfferAsset; readonly amount: bigint }
  | { readonly ok: false; readonly issues: readonly TermsIssue[] };

/** Converts the price of some terms, for `compileTerms` of a scheme. */
export function priceTerms({ network, price }: OfferTerms, pricing: Pricing): PricedTerms {
  const isNamed = typeof price !== "string";
  const priced = isNamed ? priceInNamed(price, network, pricing) : priceInKnown(price, network, pricing);
  const { most } = pricing;
  if (!priced.ok || most === undefined || priced.amount <= most.amount) return priced;
  return refused(isNamed ? "price.amount" : "price", most.expected);
}

/** In dollars, or in a stablecoin by its ticker. */
function priceInKnown(price: string, network: string, { assetsOn, assetForm }: Pricing): PricedTerms {
  const known = assetsOn(network);
  if (known.length === 0) return refused("price", `${assetForm}, because no stablecoin is known on ${network}`);
  const parsed = parsePrice(price, known);
  return parsed.ok ? parsed : refused("price", parsed.expected);
}

function priceInNamed(price: AssetPrice, network: string, { nameAsset }: Pricing): PricedTerms {
  const named = nameAsset(price, network);
  if (!named.ok) return refused(named.term, named.expected);
  const parsed = parseAtomic(price.amount);
  if (!parsed.ok) return refused("price.amount", parsed.expected);
  return { ok: true, asset: named.asset, amount: parsed.amount };
}

function refused(term: TermsIssue["term"], expected: string): PricedTerms {
  return { ok: false, issues: [{ term, expected }] };
}
