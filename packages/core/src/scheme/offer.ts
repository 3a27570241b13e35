/**
 * Offers: our prepared payment requirements. Computed once at start, shared by every request, never changed.
 *
 * @module
 */
import { formatAmount } from "../price/price.js";
import type { PaymentRequirements } from "../protocol/payment-requirements.js";
import type { OfferAsset, Scheme } from "./scheme.js";

/** One way to pay for one route. */
export interface Offer {
  readonly scheme: Scheme;
  readonly asset: OfferAsset;
  /** Atomic units. */
  readonly amount: bigint;
  /** The seven fields of the protocol: what facilitators get. */
  readonly requirements: PaymentRequirements;
}

/** Freezes an offer from compiled terms. */
export function createOffer(
  scheme: Scheme,
  terms: { readonly asset: OfferAsset; readonly amount: bigint; readonly payTo: string },
  wire: {
    readonly network: string;
    readonly maxTimeoutSeconds: number;
    readonly extra: Readonly<Record<string, unknown>>;
  },
): Offer {
  const requirements: PaymentRequirements = Object.freeze({
    scheme: scheme.scheme,
    network: wire.network,
    amount: terms.amount.toString(),
    asset: terms.asset.id,
    payTo: terms.payTo,
    maxTimeoutSeconds: wire.maxTimeoutSeconds,
    extra: Object.freeze({ ...terms.asset.extra, ...wire.extra }),
  });
  return Object.freeze({ scheme, asset: terms.asset, amount: terms.amount, requirements });
}

/** For people: `0.01 USDC`. */
export function describePrice({ asset, amount }: Offer): string {
  const { decimals, symbol } = asset;
  return decimals === undefined ? `${amount} units of ${symbol}` : `${formatAmount(amount, decimals)} ${symbol}`;
}
