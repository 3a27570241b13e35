/**
 * Compiles the terms of an offer, on any network: turns a seller's price into an asset and an amount.
 *
 * @module
 */
import { type AssetPrice, parseAtomic, parsePrice } from "../price/price.js";
import { copyJsonObject } from "../protocol/json.js";
import { MAX_UINT64 } from "./reading.js";
import type { CompiledTerms, OfferAsset, OfferTerms, TermsIssue } from "./scheme.js";

/** The assets that prices can name on the networks of a scheme. */
export interface Pricing {
  /** The assets with tickers on a network, the asset of `$` first. Empty if no stablecoin is known. */
  assetsOn(network: string): readonly KnownAsset[];
  /** The form of a price in another asset, for error messages: `{ asset, amount }`. */
  readonly assetForm: string;
  /** Finds the asset that a price names by its id. */
  nameAsset(price: AssetPrice, network: string): NamedAsset;
  /** The fields of `extra` that decide how a payment is signed. A price cannot set them but by `nameAsset`. */
  readonly ownExtra?: readonly string[];
  /** The maximum of an offer. Default: below 2^256. */
  readonly most?: {
    /** Atomic units. */
    readonly amount: bigint;
    /** A description of valid amounts, for error messages. */
    readonly expected: string;
  };
}

/** An asset with a ticker and known decimals. */
export interface KnownAsset extends OfferAsset {
  /** 0 to 36. */
  readonly decimals: number;
}

/** The asset that a price names, or an issue. */
export type NamedAsset = { readonly ok: true; readonly asset: OfferAsset } | ({ readonly ok: false } & TermsIssue);

/** An exact price, or all issues. */
export type PricedTerms =
  | { readonly ok: true; readonly asset: OfferAsset; readonly amount: bigint }
  | { readonly ok: false; readonly issues: readonly TermsIssue[] };

/**
 * Compiles terms, for `compileTerms` of a scheme.
 *
 * @param check - Finds issues besides the price. Gets the id of the asset, if the price is valid.
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

/** Reads a price in dollars or with a ticker. */
function priceInKnown(price: string, network: string, { assetsOn, assetForm }: Pricing): PricedTerms {
  const known = assetsOn(network);
  if (known.length === 0) return refused("price", `${assetForm}, because no stablecoin is known on ${network}`);
  const parsed = parsePrice(price, known);
  return parsed.ok ? parsed : refused("price", parsed.expected);
}

function priceInNamed(price: AssetPrice, network: string, { nameAsset, ownExtra = [] }: Pricing): PricedTerms {
  const named = nameAsset(price, network);
  if (!named.ok) return refused(named.term, named.expected);
  const parsed = parseAtomic(price.amount);
  if (!parsed.ok) return refused("price.amount", parsed.expected);
  const { asset } = named;
  if (price.extra === undefined) return { ok: true, asset, amount: parsed.amount };
  const copy = copyJsonObject(price.extra);
  if (copy === undefined) return refused("price.extra", "an object of JSON values");
  const added = Object.entries(copy).filter(
    ([name]) => !ownExtra.includes(name) && !RESERVED.includes(name) && !Object.hasOwn(asset.extra, name),
  );
  const isPlain = added.length === 0;
  const extended = isPlain ? asset : { ...asset, priceExtra: Object.freeze(Object.fromEntries(added)) };
  return { ok: true, asset: extended, amount: parsed.amount };
}

/** Fields of `extra` that are the engine's to set. */
const RESERVED: readonly string[] = ["quote", "paymentFlow"];

function refused(term: TermsIssue["term"], expected: string): PricedTerms {
  return { ok: false, issues: [{ term, expected }] };
}

/** Networks where an offer names an asset by its id only, and amounts have 64 bits. */
export interface PricingById {
  /** The known assets on a network, the asset of `$` first. */
  assetsOn(network: string): readonly Omit<KnownAsset, "extra">[];
  /** A description of valid ids if an id is invalid; otherwise `undefined`. */
  checkId(id: string): string | undefined;
}

/** Creates the {@link Pricing} of such networks. */
export function pricingById({ assetsOn, checkId }: PricingById): Pricing {
  const known = (network: string) =>
    assetsOn(network).map(({ id, symbol, decimals }) => ({ id, symbol, decimals, extra: {} }));
  return {
    assetsOn: known,
    assetForm: "{ asset, amount }",
    ownExtra: ["feePayer", "memo"],
    nameAsset({ asset: id }, network) {
      const expected = checkId(id);
      if (expected !== undefined) return { ok: false, term: "price.asset", expected };
      const asset = known(network).find((each) => each.id === id);
      return { ok: true, asset: asset ?? { id, symbol: id, decimals: undefined, extra: {} } };
    },
    most: { amount: MAX_UINT64, expected: "an amount below 2^64 atomic units, which is all an account can hold" },
  };
}
