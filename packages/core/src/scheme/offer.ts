/**
 * Offers: prepared payment requirements, and the match of a payment with one of them. An offer is never changed.
 *
 * Only the five fields that identify an offer are compared, because clients drop unknown fields and `extra`.
 *
 * @see `docs/background/protocol-notes.md`, "The wire"
 * @module
 */
import { formatAmount } from "../price/price.js";
import type { Authorized } from "../price/settlement-amount.js";
import { canonicalNetwork, sameNetwork } from "../protocol/caip2.js";
import type { AcceptedRequirements, PaymentRequirements } from "../protocol/documents.js";
import { isJsonObject } from "../protocol/json.js";
import type { OfferAsset, Scheme } from "./scheme.js";

/** When the money moves, relative to the handler. `metered`: after it, while its response goes out before that. */
export type SettleTime = "after" | "before" | "metered";

/** One way to pay for a route. */
export interface Offer {
  readonly scheme: Scheme;
  readonly asset: OfferAsset;
  /** Atomic units. */
  readonly amount: bigint;
  /** Whether the seller wrote the price in dollars. */
  readonly isInDollars: boolean;
  /** When the money moves, relative to the handler. */
  readonly settle: SettleTime;
  /** The seven fields of the protocol, for facilitators. */
  readonly requirements: PaymentRequirements;
  /** Network and asset, equal for all spellings of both: `eip155:84532|0x036c…`. */
  readonly assetKey: string;
}

/** Creates a frozen offer from compiled terms. */
export function createOffer(
  scheme: Scheme,
  terms: {
    readonly asset: OfferAsset;
    readonly amount: bigint;
    readonly payTo: string;
    readonly isInDollars: boolean;
  },
  wire: {
    readonly network: string;
    readonly maxTimeoutSeconds: number;
    readonly extra: Readonly<Record<string, unknown>>;
    /** Default: after the handler. */
    readonly settle?: SettleTime;
  },
): Offer {
  const requirements: PaymentRequirements = Object.freeze({
    scheme: scheme.scheme,
    network: wire.network,
    amount: terms.amount.toString(),
    asset: terms.asset.id,
    payTo: terms.payTo,
    maxTimeoutSeconds: wire.maxTimeoutSeconds,
    extra: Object.freeze({ ...terms.asset.priceExtra, ...terms.asset.extra, ...wire.extra }),
  });
  return Object.freeze({
    scheme,
    asset: terms.asset,
    amount: terms.amount,
    isInDollars: terms.isInDollars,
    settle: wire.settle ?? "after",
    requirements,
    assetKey: `${canonicalNetwork(wire.network)}|${terms.asset.id}`.toLowerCase(),
  });
}

const boundTerms = new WeakMap<PaymentRequirements, string>();

/** The terms that a payment is bound to, as JSON: scheme, network, asset, recipient and amount. */
export function boundTermsOf(requirements: PaymentRequirements): string {
  let terms = boundTerms.get(requirements);
  if (terms === undefined) {
    const { scheme, network, asset, payTo, amount } = requirements;
    terms = JSON.stringify([scheme, canonicalNetwork(network), asset, payTo, amount]);
    boundTerms.set(requirements, terms);
  }
  return terms;
}

/** What a handler may take of a payment. */
export function authorizedBy({ asset, amount, isInDollars }: Offer, maximum: bigint = amount): Authorized {
  return { maximum, decimals: asset.decimals, isInDollars };
}

/** The price for display, e.g. `0.01 USDC`. */
export function describePrice({ asset, amount }: Offer): string {
  const { decimals, symbol } = asset;
  return decimals === undefined ? `${amount} units of ${symbol}` : `${formatAmount(amount, decimals)} ${symbol}`;
}

/** The fields that identify an offer. The first difference is reported. */
export const MATCHED_FIELDS = ["scheme", "network", "asset", "payTo", "amount"] as const;

/** A field that identifies an offer. `extra`: the other ones leave several. */
export type MatchedField = (typeof MATCHED_FIELDS)[number] | "extra";

/** The accepted offer, or the field that differs from the nearest offer. */
export type Match =
  | { readonly kind: "matched"; readonly offer: Offer }
  | { readonly kind: "mismatched"; readonly field: MatchedField };

/**
 * Finds the offer that a client accepted. Offers may agree in the five fields, and differ in how or when the money moves: then the
 * client's `extra` decides.
 */
export function matchOffer(offers: readonly Offer[], accepted: AcceptedRequirements): Match {
  let furthest = 0;
  let matched: Offer | undefined;
  let isAmbiguous = false;
  for (const offer of offers) {
    const { scheme, network, asset, payTo, amount } = offer.requirements;
    // Clients echo what they were told. Others spell networks, addresses or amounts in their own way.
    const isEchoed =
      accepted.scheme === scheme &&
      accepted.network === network &&
      accepted.asset === asset &&
      accepted.payTo === payTo &&
      accepted.amount === amount;
    const differing = isEchoed ? -1 : MATCHED_FIELDS.findIndex((field) => !agrees(field, offer, accepted));
    if (differing !== -1) furthest = Math.max(furthest, differing);
    else if (matched === undefined) matched = offer;
    else isAmbiguous = true;
  }
  if (matched === undefined) return { kind: "mismatched", field: MATCHED_FIELDS[furthest] ?? "scheme" };
  if (!isAmbiguous) return { kind: "matched", offer: matched };
  const chosen = chooseByExtra(offers, accepted);
  return chosen === undefined ? { kind: "mismatched", field: "extra" } : { kind: "matched", offer: chosen };
}

/**
 * Of the offers with the same five fields, the one whose `extra` the client sent back, as far as they differ in it. If the client sent
 * nothing of that, the offer that charges the least counts: one that settles after the handler, which may yet charge nothing. A quote is
 * new with each request.
 */
function chooseByExtra(all: readonly Offer[], accepted: AcceptedRequirements): Offer | undefined {
  const offers = all.filter((offer) => MATCHED_FIELDS.every((field) => agrees(field, offer, accepted)));
  const seen = isJsonObject(accepted.extra) ? accepted.extra : {};
  const names = new Set(offers.flatMap(({ requirements }) => Object.keys(requirements.extra)));
  names.delete("quote");
  const textsOf = (name: string) => offers.map(({ requirements }) => JSON.stringify(requirements.extra[name]));
  const deciding = [...names].filter((name) => new Set(textsOf(name)).size > 1);
  const isSeen = ({ requirements: { extra } }: Offer) =>
    deciding.every((name) => JSON.stringify(extra[name]) === JSON.stringify(seen[name]));
  const isSilent = deciding.every((name) => !Object.hasOwn(seen, name));
  const least = offers.find(({ settle }) => settle !== "before") ?? offers[0];
  return offers.find(isSeen) ?? (isSilent ? least : undefined);
}

function agrees(field: (typeof MATCHED_FIELDS)[number], offer: Offer, accepted: AcceptedRequirements): boolean {
  const ours = offer.requirements;
  switch (field) {
    case "scheme":
      return accepted[field] === ours[field];
    case "network":
      return sameNetwork(accepted[field], ours[field]);
    case "asset":
    case "payTo":
      return offer.scheme.sameAddress(accepted[field], ours[field]);
    case "amount":
      return (accepted.amount ?? accepted.maxAmountRequired) === ours.amount;
    default:
      return field satisfies never;
  }
}
