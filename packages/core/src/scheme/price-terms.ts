/**
 * Compiles the terms of an offer, on any network: from a price as a seller writes it to an asset and an amount.
 *
 * @module
 */
import { type AssetPrice, parseAtomic, parsePrice } from "../price/price.js";
import { MAX_UINT64 } from "./reading.js";
import type { CompiledTerms, OfferAsset, OfferTerms, TermsIssue } from "./scheme.js";

/** What prices can be in on the networks of a scheme. */
export interface Pricing {
  /** The assets of prices in dollars or by a ticker, the asset of `$` first. Empty where no stablecoin is known. */
  assetsOn(network: string): readonly KnownAsset[];
  /** How a price in any other asset is written, for an error message: `{ asset, amount }`. */
  readonly assetForm: string;
  /** Finds the asset that a price names, known or not. */
  nameAsset(price: AssetPrice, network: string): NamedAsset;
  /** The most that an offer can ask for. Default: all below 2^256. */
  readonly most?: {
    /** Atomic units. */
    readonly amount: bigint;
    /** For the issue about more than that. */
    readonly expected: string;
  };
}

/** An asset that a price can be in by its ticker, since its decimals are known. */
export interface KnownAsset extends OfferAsset {
  /** 0 to 36. */
  readonly decimals: number;
}

/** The asset that a price names, or why no offer can be in it. */
export type NamedAsset = { readonly ok: true; readonly asset: OfferAsset } | ({ readonly ok: false } & TermsIssue);

/** A price converted exactly, or what is wrong with it. */
export type PricedTerms =
  | { readonly ok: true; readonly asset: OfferAsset; readonly amount: bigint }
  | { readonly ok: false; readonly issues: readonly TermsIssue[] };

/**
 * Compiles terms, for `compileTerms` of a scheme.
 *
 * @param check - Finds what is wrong besides the price. Gets the id of the asset, if the price names one.
 */
export function compileTerms(
  terms: OfferTerms,
  pricing: Pricing,
  check: (assetId: string | undefined) => readonly TermsIssue[],
): CompiledTerms {
  const priced = priceTerms(terms, pricing);
  const issues = [...(priced.ok ? [] : priced.issues), ...check(priced.ok ? priced.asset.id : undefined)];
  if (!priced.ok || issues.length > 0) return { ok: false, issues };
  return { ok: true, asset: priced.asset, amount: priced.amount, payTo: terms.payTo };
}

/** Converts the price of terms. */
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

/** Networks where the id of an asset is all that an offer says of it, and where amounts have 64 bits. */
export interface PricingById {
  /** The known assets on a network, the asset of `$` first. */
  assetsOn(network: string): readonly Omit<KnownAsset, "extra">[];
  /** For the issue about an id that cannot be one; `undefined` for any other. */
  checkId(id: string): string | undefined;
}

/** Creates the {@link Pricing} of such networks. */
export function pricingById({ assetsOn, checkId }: PricingById): Pricing {
  const known = (network: string) =>
    assetsOn(network).map(({ id, symbol, decimals }) => ({ id, symbol, decimals, extra: {} }));
  return {
    assetsOn: known,
    assetForm: "{ asset, amount }",
    nameAsset({ asset: id }, network) {
      const expected = checkId(id);
      if (expected !== undefined) return { ok: false, term: "price.asset", expected };
      const asset = known(network).find((each) => each.id === id);
      return { ok: true, asset: asset ?? { id, symbol: id, decimals: undefined, extra: {} } };
    },
    most: { amount: MAX_UINT64, expected: "an amount below 2^64 atomic units, which is all an account can hold" },
  };
}
