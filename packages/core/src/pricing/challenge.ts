/**
 * Challenges: the documents that ask a client to pay.
 *
 * @see x402 v2 §5.1, and HTTP transport, "Payment Required Signaling"
 * @module
 */

import type { PricedRequest } from "../events/hooks.js";
import { type CompiledDeclaration, type DeclarationOccasion, LEFT_OUT_EXTENSION, type Outline } from "../extension.js";
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
  /** The declarations that are for catalogs, not for a payment: by key, what takes the examples out of one. */
  readonly forCatalogs: ReadonlyMap<string, NonNullable<CompiledDeclaration["withoutExamples"]>>;
  /** Up to this many characters, the header has everything. */
  readonly headerBudget: number;
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
  /** What the header leaves out, as it has a limit. The body has it. The header names it, too: see {@link LEFT_OUT_EXTENSION}. */
  readonly leftOut: readonly ChallengePart[];
}

/** A part of a declaration that is for catalogs alone, or a field of each offer that repeats what the challenge says elsewhere. */
export type ChallengePart =
  | `extensions.${string}`
  | "examples"
  | "description"
  | "mimeType"
  | "resource"
  | "outputSchema.output"
  | "outputSchema"
  | "maxAmountRequired";

/** Writes the challenge of one route, by itself. */
export type ChallengeWriter = (occasion: ChallengeOccasion) => WrittenChallenge;

/** Writes the challenge of one route, and asks its extensions about it. Never rejects. */
export type AskingWriter = (occasion: ChallengeOccasion, request: PricedRequest) => Promise<WrittenChallenge>;

/**
 * Above this many characters, a header leaves out what catalogs read, and nobody who pays: they get it from the facilitator, to which
 * the seller sends all of it, and from the body. Some proxies accept 4 KiB for all headers of a response.
 */
export const HEADER_BUDGET = 4096;

/**
 * Above this many characters, a header leaves out fields of the offers, too. Common proxies accept 8 KiB, and clients send most of a
 * challenge back with their payment.
 */
export const HEADER_LIMIT = 8192;

/**
 * What a header leaves out, in this order, each where it is longer than its number of characters. Of the offers' fields, those go first that
 * the challenge has in its `resource`, and last the price under its older name.
 */
function partsOf({ forCatalogs, headerBudget }: ChallengeSubject, { output }: Outline): readonly Part[] {
  const keys = [...forCatalogs.keys()];
  const schema = output === null ? (["outputSchema"] as const) : (["outputSchema.output", "outputSchema"] as const);
  const fields = ["description", "mimeType", "resource", ...schema, "maxAmountRequired"] as const;
  return [
    ...keys.map((key): Part => [`extensions.${key}.schema`, headerBudget]),
    ["examples", headerBudget],
    ...keys.map((key): Part => [`extensions.${key}`, HEADER_LIMIT]),
    ...fields.map((name): Part => [name, HEADER_LIMIT]),
  ];
}

type Part = readonly [part: ChallengePart, above: number];

/**
 * Prepares the challenge of one route. The last challenge is kept, because most routes send the same one again.
 *
 * @param onLeftOut - Receives what each challenge leaves out.
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
    const known = last?.moment;
    const isSame = known?.url === url && known.method === method && known.error === error;
    if (last !== undefined && isSame && known.extensions === moment.extensions) return last.written;
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
    const extensions = await asked.declare(plain, about);
    // An extension knows how to outline its plain declaration.
    const written = writeChallenge(subject, { url, method, error, extensions }, plain);
    onLeftOut(written.leftOut);
    if (written.header.length > HEADER_LIMIT) asked.tellTooLarge(written.header.length);
    return written;
  };
}

/** A client writes the URL, so it could fill the memory with challenges that are longer. */
const MAX_KEPT = 4 * HEADER_BUDGET;

/** One request and its declarations. */
type Moment = Pick<ChallengeOccasion, "url" | "method" | "error"> & { readonly extensions: Extensions | undefined };

/**
 * Writes the challenge, and for the header as much of it as fits.
 *
 * @param outlined - The declarations that the offers repeat in `outputSchema`.
 */
function writeChallenge(subject: ChallengeSubject, moment: Moment, outlined = moment.extensions): WrittenChallenge {
  const { description, mimeType, service, offers } = subject;
  const { url, error, extensions } = moment;
  const resource = { url, description, mimeType, ...service };
  const whole = outputSchemaOf(subject, moment, outlined);
  const documentOf = (leftOut: readonly ChallengePart[]): PaymentRequired => {
    const outputSchema = leftOut.includes("examples")
      ? { ...outputSchemaOf(subject, moment, withoutParts(outlined, subject, ["examples"])), output: whole.output }
      : whole;
    const declared = withoutParts(extensions, subject, leftOut);
    return {
      x402Version: 2,
      error,
      resource,
      accepts: offers.map((offer) => advertise(offer, { leftOut, resource, outputSchema })),
      ...(declared === undefined ? {} : { extensions: declared }),
    };
  };
  const body = JSON.stringify(documentOf([]));
  let header = body;
  let leftOut: readonly ChallengePart[] = [];
  for (const [part, above] of partsOf(subject, whole)) {
    if (lengthInBase64(header) <= above) break;
    const fewer = [...leftOut, part];
    const document = documentOf(fewer);
    const text = JSON.stringify({ ...document, extensions: naming(fewer, document.extensions) });
    // A part that is not there, or is shorter than its name, stays.
    if (text.length >= header.length) continue;
    leftOut = fewer;
    header = text;
  }
  return { header: encodeBase64(header), body, leftOut };
}

/** Says in the header what it leaves out, in the form that the protocol has for extensions. Clients send it back unread. */
function naming(truncated: readonly ChallengePart[], extensions: Extensions | undefined): Extensions {
  return { [LEFT_OUT_EXTENSION]: { truncated, info: {}, schema: {} }, ...extensions };
}

/** Declarations for catalogs may lack their examples, their schema, or all. */
function withoutParts(
  extensions: Extensions | undefined,
  { forCatalogs }: ChallengeSubject,
  leftOut: readonly ChallengePart[],
): Extensions | undefined {
  if (leftOut.length === 0 || extensions === undefined) return extensions;
  const kept = Object.entries(extensions).flatMap(([key, declaration]) => {
    const withoutExamples = forCatalogs.get(key);
    if (withoutExamples === undefined) return [[key, declaration] as const];
    if (leftOut.includes(`extensions.${key}`)) return [];
    const bare = leftOut.includes("examples") ? withoutExamples(declaration) : declaration;
    const { schema: _, ...rest } = bare;
    return [[key, leftOut.includes(`extensions.${key}.schema`) ? rest : bare] as const];
  });
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as Extensions);
}

function lengthInBase64(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3) * 4;
}

function outputSchemaOf(
  { outline }: ChallengeSubject,
  { url, method }: Moment,
  extensions: Extensions | undefined,
): Outline {
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
  const { input } = outputSchema;
  const repeated = {
    maxAmountRequired: requirements.amount,
    resource: url,
    description,
    mimeType,
    outputSchema: leftOut.includes("outputSchema.output") ? { input } : outputSchema,
  };
  if (leftOut.length === 0) return { ...requirements, ...repeated };
  const kept = Object.entries(repeated).filter(([name]) => !leftOut.includes(name as ChallengePart));
  return { ...requirements, ...Object.fromEntries(kept) };
}
