/**
 * Challenges: the documents that ask a client to pay.
 *
 * @see x402 v2 §5.1, and HTTP transport, "Payment Required Signaling"
 * @module
 */

import type { PricedRequest } from "../events/hooks.js";
import type { DeclarationOccasion, Outline } from "../extension.js";
import type { AdvertisedRequirements, Extensions, PaymentRequired, ResourceInfo } from "../protocol/documents.js";
import { encodeBase64 } from "../protocol/headers.js";
import type { Offer } from "../scheme/offer.js";
import type { DeclareAt } from "./declarations.js";
import type { RouteExtensions } from "./route-extensions.js";

/** Name, tags and icon of a service, for catalogs. Each is optional. */
export type ServiceInfo = Pick<ResourceInfo, "serviceName" | "tags" | "iconUrl">;

/** The facts about a route in its challenge. */
export interface ChallengeSubject {
  readonly offers: readonly Offer[];
  readonly description: string;
  readonly mimeType: string;
  readonly service: ServiceInfo;
  readonly declareAt: DeclareAt;
  /** The extensions that have a say in each challenge, if there are any. */
  readonly asked?: RouteExtensions | undefined;
  /** Keys of the declarations that are for catalogs, not for a payment. */
  readonly forCatalogs: readonly string[];
  /** The input and output of the route, in the form of older clients. */
  readonly outline: (extensions: Extensions | undefined, url: string) => Outline | undefined;
}

/** The facts that differ between requests. */
export interface ChallengeOccasion extends DeclarationOccasion {
  /** Absolute URL of the resource. */
  readonly url: string;
  /** Why the client has to pay, or has to pay again. */
  readonly error: string;
  /** For the extensions that have a say in the challenge. `undefined`: there are none, or there is no request. */
  readonly request?: PricedRequest | undefined;
}

/** A challenge, ready to send. */
export interface WrittenChallenge {
  /** Value of `PAYMENT-REQUIRED`. */
  readonly header: string;
  /** The document as JSON text, with all fields. */
  readonly body: string;
  /** What the header leaves out, as it has a limit. The body has it. */
  readonly leftOut: readonly ChallengePart[];
}

/** A part of each offer that repeats what the challenge says elsewhere, or a declaration that is for catalogs alone. */
export type ChallengePart =
  | "outputSchema.output"
  | "outputSchema.input"
  | "description"
  | "mimeType"
  | "resource"
  | "outputSchema"
  | "maxAmountRequired"
  | `extensions.${string}`;

/** Writes the challenge of one route, by itself. */
export type ChallengeWriter = (occasion: ChallengeOccasion) => WrittenChallenge;

/** Writes the challenge of one route, and asks its extensions about it. Never rejects. */
export type AskingWriter = (occasion: ChallengeOccasion, request: PricedRequest) => Promise<WrittenChallenge>;

/**
 * Proxies commonly accept 4 to 8 KiB for all headers of a response. The client sends most of a challenge back with its
 * payment. A longer challenge leaves out fields that repeat others.
 */
export const HEADER_BUDGET = 4096;

/**
 * What a header leaves out, in this order, until it fits. First `outputSchema` gets short: `extensions` has the same input and output.
 * Of the fields that repeat `resource` and `extensions`, it leaves last. The price goes only after them. What catalogs read goes at
 * the end: the facilitator gets it from the seller, and the body has it.
 */
const PARTS: readonly ChallengePart[] = [
  "outputSchema.output",
  "outputSchema.input",
  "description",
  "mimeType",
  "resource",
  "outputSchema",
  "maxAmountRequired",
];

function partsOf({ forCatalogs }: ChallengeSubject, extensions: Extensions = {}): readonly ChallengePart[] {
  const declared = forCatalogs.filter((key) => Object.hasOwn(extensions, key));
  return [...PARTS, ...declared.flatMap((key) => [`extensions.${key}.schema`, `extensions.${key}`] as const)];
}

/**
 * Prepares the challenge of one route. The last challenge is kept, because most routes send the same one again.
 *
 * @param onLeftOut - Receives what each challenge leaves out that is not a repetition.
 */
export function compileChallenge(
  subject: ChallengeSubject,
  onLeftOut: (parts: readonly ChallengePart[]) => void = () => {},
): ChallengeWriter {
  let last: { readonly moment: Moment; readonly written: WrittenChallenge } | undefined;
  return (occasion) => {
    const { url, method, error } = occasion;
    // Keeping the occasion would keep its request in memory.
    const moment = { url, method, error, extensions: subject.declareAt(occasion) };
    if (last !== undefined && isSame(last.moment, moment)) return last.written;
    const written = writeChallenge(subject, moment);
    onLeftOut(written.leftOut);
    if (written.body.length <= MAX_KEPT) last = { moment, written };
    return written;
  };
}

/**
 * Prepares the challenge of a route whose extensions have a say in it. Each is written anew.
 *
 * @param onLeftOut - As of {@link compileChallenge}.
 */
export function compileAskingChallenge(
  subject: ChallengeSubject,
  asked: RouteExtensions,
  onLeftOut: (parts: readonly ChallengePart[]) => void = () => {},
): AskingWriter {
  const { description, mimeType, service } = subject;
  const offers = Object.freeze(subject.offers.map(({ requirements }) => requirements));
  return async (occasion, request) => {
    const { url, method, error } = occasion;
    const resource = { url, description, mimeType, ...service };
    const about = { request, resource, offers, error };
    const plain = subject.declareAt(occasion);
    // Made of the plain declarations, which an extension knows how to outline.
    const outputSchema = outputSchemaOf(subject, { url, method, error, extensions: plain });
    const extensions = await asked.declare(plain, about);
    const written = writeChallenge(subject, { url, method, error, extensions }, outputSchema);
    onLeftOut(written.leftOut);
    asked.checkSize(written.header.length);
    return written;
  };
}

/** A client writes the URL, so it could fill the memory with challenges that are longer. */
const MAX_KEPT = 4 * HEADER_BUDGET;

/** One request and its declarations. */
type Moment = Pick<ChallengeOccasion, "url" | "method" | "error"> & { readonly extensions: Extensions | undefined };

function isSame(a: Moment, b: Moment): boolean {
  return a.url === b.url && a.method === b.method && a.error === b.error && a.extensions === b.extensions;
}

/** Writes the challenge, and for the header the longest one that fits the budget. */
function writeChallenge(
  subject: ChallengeSubject,
  moment: Moment,
  outputSchema: Outline = outputSchemaOf(subject, moment),
): WrittenChallenge {
  const { description, mimeType, service, offers } = subject;
  const { url, error, extensions } = moment;
  const resource = { url, description, mimeType, ...service };
  const documentOf = (leftOut: readonly ChallengePart[]): PaymentRequired => ({
    x402Version: 2,
    error,
    resource,
    accepts: offers.map((offer) => advertise(offer, { leftOut, resource, outputSchema })),
    ...(extensions === undefined ? {} : withoutParts(extensions, leftOut)),
  });
  const body = JSON.stringify(documentOf([]));
  let header = body;
  let leftOut: readonly ChallengePart[] = [];
  const parts = partsOf(subject, extensions);
  for (let level = 1; level <= parts.length && lengthInBase64(header) > HEADER_BUDGET; level++) {
    leftOut = parts.slice(0, level);
    header = JSON.stringify(documentOf(leftOut));
  }
  return { header: encodeBase64(header), body, leftOut };
}

/** A declaration in the header may lack its schema. */
function withoutParts(extensions: Extensions, leftOut: readonly ChallengePart[]): Pick<PaymentRequired, "extensions"> {
  if (!leftOut.some((part) => part.startsWith("extensions."))) return { extensions };
  const kept = Object.entries(extensions)
    .filter(([key]) => !leftOut.includes(`extensions.${key}`))
    .map(([key, declaration]) => {
      const { schema: _, ...rest } = declaration;
      return [key, leftOut.includes(`extensions.${key}.schema`) ? rest : declaration] as const;
    });
  return kept.length === 0 ? {} : { extensions: Object.fromEntries(kept) as Extensions };
}

function lengthInBase64(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3) * 4;
}

function outputSchemaOf({ outline }: ChallengeSubject, { url, method, extensions }: Moment): Outline {
  return outline(extensions, url) ?? { input: { type: "http", method, resource: url }, output: null };
}

interface Advertising {
  readonly leftOut: readonly ChallengePart[];
  readonly resource: Required<Pick<ResourceInfo, "url" | "description" | "mimeType">>;
  readonly outputSchema: Outline;
}

function advertise(
  { requirements }: Offer,
  { leftOut, resource: { url, description, mimeType }, outputSchema }: Advertising,
): AdvertisedRequirements {
  const repeated = { maxAmountRequired: requirements.amount, resource: url, description, mimeType };
  if (leftOut.length === 0) return { ...requirements, ...repeated, outputSchema };
  const parts = Object.entries({ ...repeated, outputSchema: shorten(outputSchema, leftOut) });
  return { ...requirements, ...Object.fromEntries(parts.filter(([name]) => !leftOut.includes(name as ChallengePart))) };
}

/** The fields of `outputSchema.input` that clients need for a call. */
const NEEDED: readonly string[] = ["type", "method", "resource", "toolName", "inputSchema"];

function shorten({ input, output }: Outline, leftOut: readonly ChallengePart[]): Outline {
  const needed = Object.entries(input).filter(([name]) => NEEDED.includes(name));
  return {
    input: leftOut.includes("outputSchema.input") ? Object.fromEntries(needed) : input,
    output: leftOut.includes("outputSchema.output") ? null : output,
  };
}
