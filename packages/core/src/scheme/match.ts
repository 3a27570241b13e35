/**
 * Matching: which of our offers a payment means. Only the five fields that identify an offer count; unknown fields and
 * `extra` do not, because clients drop the ones and facilitators get ours of the other.
 *
 * @see `docs/background/protocol-notes.md`, "The wire"
 * @module
 */
import { sameNetwork } from "../network/caip2.js";
import type { AcceptedRequirements } from "../protocol/payment-requirements.js";
import type { Offer } from "./offer.js";

/** The fields that identify an offer, in the order in which a difference is reported. */
export const MATCHED_FIELDS = ["scheme", "network", "asset", "payTo", "amount"] as const;

/** A field that identifies an offer. */
export type MatchedField = (typeof MATCHED_FIELDS)[number];

/** The offer a payment means, or the field in which it differs from the nearest one. */
export type Match =
  | { readonly kind: "matched"; readonly offer: Offer }
  | { readonly kind: "mismatched"; readonly field: MatchedField };

/** Finds the offer that a client accepted. */
export function matchOffer(offers: readonly Offer[], accepted: AcceptedRequirements): Match {
  let furthest = 0;
  for (const offer of offers) {
    const differing = MATCHED_FIELDS.findIndex((field) => !agrees(field, offer, accepted));
    if (differing === -1) return { kind: "matched", offer };
    furthest = Math.max(furthest, differing);
  }
  return { kind: "mismatched", field: MATCHED_FIELDS[furthest] ?? "scheme" };
}

function agrees(field: MatchedField, offer: Offer, accepted: AcceptedRequirements): boolean {
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
