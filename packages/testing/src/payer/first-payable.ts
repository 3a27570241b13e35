/**
 * Which of a challenge's offers a payer can pay.
 *
 * @module
 */
import type { AcceptedRequirements } from "@farebox/core";
import { readExactOffer } from "./exact-offer.js";
import { isByPermit2, readPermitOffer } from "./permit-offer.js";

/**
 * Yields the first offer that a payer can pay. The order is the seller's preference, but for offers by Permit2, which come
 * last: they take an allowance that a payer may not have given.
 */
export function firstPayable<Offer extends AcceptedRequirements>(offers: readonly Offer[]): Offer | undefined {
  return (
    offers.find((offer) => typeof readExactOffer(offer) !== "string") ??
    offers.find((offer) => isByPermit2(offer) && typeof readPermitOffer(offer) !== "string")
  );
}
