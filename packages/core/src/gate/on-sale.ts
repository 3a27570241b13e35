/**
 * What of a route can be paid for right now: a way to pay that no facilitator supports would only make payers sign what
 * nobody can settle.
 *
 * @module
 */
import type { Finding } from "../events/findings.js";
import type { FacilitatorPool } from "../facilitator/facilitator-pool.js";
import { describePrice, type Offer } from "../scheme/offer.js";
import { type ChallengeSubject, type ChallengeWriter, compileChallenge } from "./challenge.js";
import { finding } from "./findings.js";

/** A route as it can be paid for. */
export interface OnSale extends ChallengeSubject {
  readonly challenge: ChallengeWriter;
}

/** A route and its offers, whether or not somebody supports them. */
export interface ForSale extends ChallengeSubject {
  readonly key: string;
}

/** Says which facilitator supports what. */
export type Supporters = Pick<FacilitatorPool, "supports" | "revision">;

/**
 * Prepares what is on sale, anew only when the facilitators say something else.
 *
 * @param tell - Takes each finding, whenever there is something new to go by.
 * @returns Yields `undefined` when no facilitator supports any of the offers.
 */
export function createSale(
  route: ForSale,
  facilitators: Supporters,
  tell: (finding: Finding) => void,
): () => OnSale | undefined {
  let revision = -1;
  let sale: OnSale | undefined;
  return () => {
    if (revision !== facilitators.revision) {
      revision = facilitators.revision;
      sale = compile(route, facilitators);
      for (const found of inspectSupport(route, facilitators)) tell(found);
    }
    return sale;
  };
}

function compile({ offers, ...route }: ForSale, facilitators: Supporters): OnSale | undefined {
  const supported = offers.filter((offer) => isSupported(offer, facilitators));
  const subject = { ...route, offers: supported };
  return supported.length === 0 ? undefined : { ...subject, challenge: compileChallenge(subject) };
}

/** As long as one has not said what it supports, it may support anything. */
function isSupported({ requirements: { scheme, network } }: Offer, facilitators: Supporters): boolean {
  return facilitators.supports(scheme, network) !== "no";
}

/** The offers of a route that no facilitator supports right now. */
export function inspectSupport({ key, offers }: ForSale, facilitators: Supporters): readonly Finding[] {
  return offers
    .filter((offer) => !isSupported(offer, facilitators))
    .map((offer) => {
      const { scheme, network } = offer.requirements;
      const way = `${describePrice(offer)} by ${scheme} on ${network}`;
      return finding("FAREBOX_OFFER_UNSUPPORTED", key, `No facilitator supports ${way}, so it is left out for now`);
    });
}
