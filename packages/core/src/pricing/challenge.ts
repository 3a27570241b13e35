/**
 * Challenges: the documents that ask a client to pay.
 *
 * @see x402 v2 §5.1, and HTTP transport, "Payment Required Signaling"
 * @module
 */

import type { DeclarationOccasion, Outline } from "../extension.js";
import type { AdvertisedRequirements, Extensions, PaymentRequired, ResourceInfo } from "../protocol/documents.js";
import { encodeBase64 } from "../protocol/headers.js";
import type { Offer } from "../scheme/offer.js";
import type { DeclareAt } from "./declarations.js";

/** Name, tags and icon of a service, for catalogs. Each is optional. */
export type ServiceInfo = Pick<ResourceInfo, "serviceName" | "tags" | "iconUrl">;

/** The facts about a route in its challenge. */
export interface ChallengeSubject {
  readonly offers: readonly Offer[];
  readonly description: string;
  readonly mimeType: string;
  readonly service: ServiceInfo;
  readonly declareAt: DeclareAt;
  /** The input and output of the route, in the form of older clients. */
  readonly outline: (extensions: Extensions | undefined, url: string) => Outline | undefined;
}

/** The facts that differ between requests. */
export interface ChallengeOccasion extends DeclarationOccasion {
  /** Absolute URL of the resource. */
  readonly url: string;
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
export type ChallengeWriter = (occasion: ChallengeOccasion) => LeveledChallenge;

/** The fields of an offer: all, the protocol's and `maxAmountRequired`, or only the protocol's. */
export type Level = "full" | "lean" | "canonical";

/**
 * Proxies commonly accept 4 to 8 KiB for all headers of a response. The client sends most of a challenge back with its
 * payment. A longer challenge leaves out fields that repeat others.
 */
export const HEADER_BUDGET = 4096;

const LEVELS: readonly Level[] = ["full", "lean", "canonical"];

/** A challenge and its level. */
export interface LeveledChallenge extends WrittenChallenge {
  readonly level: Level;
}

/**
 * Prepares the challenge of one route. The last challenge is kept, because most routes send the same one again.
 *
 * @param onLevel - Receives the level of each challenge that is not a repetition.
 */
export function compileChallenge(
  subject: ChallengeSubject,
  onLevel: (level: Level) => void = () => {},
): ChallengeWriter {
  let last: { readonly moment: Moment; readonly written: LeveledChallenge } | undefined;
  return (occasion) => {
    const { url, method, error } = occasion;
    // Keeping the occasion would keep its request in memory.
    const moment = { url, method, error, extensions: subject.declareAt(occasion) };
    if (last !== undefined && isSame(last.moment, moment)) return last.written;
    const written = writeChallenge(subject, moment);
    onLevel(written.level);
    if (written.header.length <= HEADER_BUDGET) last = { moment, written };
    return written;
  };
}

/** One request and its declarations. */
type Moment = Omit<ChallengeOccasion, "locate"> & { readonly extensions: Extensions | undefined };

function isSame(a: Moment, b: Moment): boolean {
  return a.url === b.url && a.method === b.method && a.error === b.error && a.extensions === b.extensions;
}

/** Writes the challenge with the most fields that fit the budget. */
function writeChallenge(subject: ChallengeSubject, moment: Moment): LeveledChallenge {
  const outputSchema = outputSchemaOf(subject, moment);
  const write = (level: Level): LeveledChallenge => {
    const { description, mimeType, service } = subject;
    const challenge: PaymentRequired = {
      x402Version: 2,
      error: moment.error,
      resource: { url: moment.url, description, mimeType, ...service },
      accepts: subject.offers.map((offer) => advertise(offer, { level, subject, url: moment.url, outputSchema })),
      ...(moment.extensions === undefined ? {} : { extensions: moment.extensions }),
    };
    const body = JSON.stringify(challenge);
    return { header: encodeBase64(body), body, level };
  };
  let written = write("full");
  for (const level of LEVELS.slice(1)) if (written.header.length > HEADER_BUDGET) written = write(level);
  return written;
}

function outputSchemaOf({ outline }: ChallengeSubject, { url, method, extensions }: Moment): Outline {
  return outline(extensions, url) ?? { input: { type: "http", method, resource: url }, output: null };
}

interface Advertising {
  readonly level: Level;
  readonly subject: ChallengeSubject;
  readonly url: string;
  readonly outputSchema: Outline;
}

function advertise(
  { requirements }: Offer,
  { level, subject, url, outputSchema }: Advertising,
): AdvertisedRequirements {
  if (level === "canonical") return requirements;
  const lean = { ...requirements, maxAmountRequired: requirements.amount };
  if (level === "lean") return lean;
  const { description, mimeType } = subject;
  return { ...lean, resource: url, description, mimeType, outputSchema };
}
