/**
 * Which of a challenge's offers a payer can pay.
 *
 * @module
 */
import type { AcceptedRequirements } from "@farebox/core";
import { readExactOffer } from "./exact-offer.js";
import { isByPermit2, readPermitOffer } from "./permit-offer.js";

/** Yields the first offer that a payer can pay. The order is the seller's preference. */
export function firstPayable<Offer extends AcceptedRequirements>(offers: readonly Offer[]): Offer | undefined {
  return offers.find(
    (offer) => typeof (isByPermit2(offer) ? readPermitOffer(offer) : readExactOffer(offer)) !== "string",
  );
}
