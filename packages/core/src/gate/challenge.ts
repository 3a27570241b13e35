/**
 * Challenges: what a client is told when it has to pay.
 *
 * @see x402 v2 §5.1, and HTTP transport, "Payment Required Signaling"
 * @module
 */
import { encodePaymentRequired } from "../http/payment-required.js";
import type { Extensions } from "../protocol/extensions.js";
import type { JsonObject } from "../protocol/json.js";
import type { AdvertisedRequirements, PaymentRequired } from "../protocol/payment-required.js";
import type { Offer } from "../scheme/offer.js";

/** What a challenge says about its route; the same for every request. */
export interface ChallengeSubject {
  readonly offers: readonly Offer[];
  readonly description: string;
  readonly mimeType: string;
  readonly extensions: Extensions | undefined;
  /** How the resource is called, where that is not by HTTP. */
  readonly input?: JsonObject | undefined;
}

/** What differs from request to request. */
export interface ChallengeOccasion {
  /** Absolute URL of the resource. */
  readonly url: string;
  readonly method: string;
  /** Why the client has to pay, or has to pay again. */
  readonly error: string;
}

/** A challenge, ready to send. */
export interface WrittenChallenge {
  /** Value of `PAYMENT-REQUIRED`. */
  readonly header: string;
  /** The same document as JSON text. */
  readonly body: string;
}

/** Writes the challenge of one route. */
export type ChallengeWriter = (occasion: ChallengeOccasion) => WrittenChallenge;

/**
 * Proxies commonly take 4 to 8 KiB for all headers of a response, and the client sends most of this back with its
 * payment. Beyond this many characters the fields that only repeat others are left out.
 */
const HEADER_BUDGET = 4096;

/** How much is said about each offer: everything, the protocol's fields and the older name of one, only those. */
type Level = "full" | "lean" | "canonical";

/** Prepares the challenge of one route. */
export function compileChallenge(subject: ChallengeSubject): ChallengeWriter {
  return (occasion) => {
    const full = write(subject, occasion, "full");
    if (full.header.length <= HEADER_BUDGET) return full;
    const lean = write(subject, occasion, "lean");
    return lean.header.length <= HEADER_BUDGET ? lean : write(subject, occasion, "canonical");
  };
}

function write(subject: ChallengeSubject, occasion: ChallengeOccasion, level: Level): WrittenChallenge {
  const { description, mimeType, extensions } = subject;
  const challenge: PaymentRequired = {
    x402Version: 2,
    error: occasion.error,
    resource: { url: occasion.url, description, mimeType },
    accepts: subject.offers.map((offer) => advertise(offer, subject, { occasion, level })),
    ...(extensions === undefined ? {} : { extensions }),
  };
  return { header: encodePaymentRequired(challenge), body: JSON.stringify(challenge) };
}

function advertise(
  { requirements }: Offer,
  { description, mimeType, input }: ChallengeSubject,
  { occasion, level }: { readonly occasion: ChallengeOccasion; readonly level: Level },
): AdvertisedRequirements {
  if (level === "canonical") return requirements;
  const lean = { ...requirements, maxAmountRequired: requirements.amount };
  if (level === "lean") return lean;
  const { url, method } = occasion;
  return {
    ...lean,
    resource: url,
    description,
    mimeType,
    outputSchema: { input: input ?? { type: "http", method, resource: url }, output: null },
  };
}
