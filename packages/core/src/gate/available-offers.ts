/**
 * What of a route can be paid for right now: a way to pay that no facilitator supports would only make payers sign what
 * nobody can settle.
 *
 * @module
 */
import { type Finding, finding } from "../events/findings.js";
import type { FacilitatorPool } from "../facilitator/pool.js";
import type { Extensions } from "../protocol/documents.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";
import { describePrice, type Offer } from "../scheme/offer.js";
import { type ChallengeSubject, type ChallengeWriter, compileChallenge, type Level } from "./challenge.js";
import type { DeclareAt } from "./declarations.js";

/** A route as it can be paid for. */
export interface OnSale extends ChallengeSubject {
  readonly challenge: ChallengeWriter;
}

/** A route and its offers, whether or not somebody supports them. */
export interface ForSale extends ChallengeSubject {
  readonly key: string;
  /** Told of each challenge that is written anew, how much it says. */
  readonly onLevel?: (level: Level) => void;
}

/** Says which facilitator supports what. */
export type Supporters = Pick<FacilitatorPool, "supports" | "kindExtra" | "spelling" | "extensions" | "revision">;

/** What of a route can be paid for. */
export interface Sale {
  /** How it can be paid for right now; `undefined`: in no way. Prepared anew only when facilitators say something else. */
  readonly onSale: () => OnSale | undefined;
  /** Whether an offer waits for a facilitator to say for the first time what it adds, or which extensions it has. */
  readonly isPending: () => boolean;
  /**
   * An offer as it was made to a client: with what a facilitator adds to it, by the `extra` that the client sent back.
   * `undefined` when no facilitator has said yet what it adds.
   */
  readonly offerFor: (offer: Offer, clientsExtra: unknown) => Offer | undefined;
}

/**
 * Prepares what is on sale.
 *
 * @param tell - Takes each finding, whenever there is something new to go by.
 */
export function createSale(route: ForSale, facilitators: Supporters, tell: (finding: Finding) => void): Sale {
  const completions = new Map(route.offers.map((offer) => [offer, createCompletions(offer)]));
  let revision = -1;
  let sale: OnSale | undefined;
  const onSale = () => {
    if (revision !== facilitators.revision) {
      revision = facilitators.revision;
      sale = compile(route, [...completions.values()], facilitators);
      for (const found of inspectSupport(route, facilitators)) tell(found);
    }
    return sale;
  };
  const waiting = route.offers.filter((offer) => offer.scheme.completeExtra !== undefined || isHelpful(offer));
  return {
    onSale,
    isPending: () =>
      waiting.some(({ requirements: { scheme, network } }) => facilitators.supports(scheme, network) === "unknown"),
    offerFor(offer, clientsExtra) {
      onSale();
      return completions.get(offer)?.find(clientsExtra);
    },
  };
}

function compile(
  { offers: _, ...route }: ForSale,
  completions: readonly Completions[],
  facilitators: Supporters,
): OnSale | undefined {
  const offers = completions.flatMap((completion) => completion.update(facilitators) ?? []);
  const helpful = Object.assign({}, ...offers.map((offer) => helpfulExtensions(offer, facilitators)));
  const isHelped = Object.keys(helpful).length > 0;
  const subject = { ...route, offers, ...(isHelped ? { declareAt: declareBeside(helpful, route.declareAt) } : {}) };
  return offers.length === 0 ? undefined : { ...subject, challenge: compileChallenge(subject, route.onLevel) };
}

/** Beside what the seller has written, which comes first. The same declarations yield the same result, to be known again. */
function declareBeside(helpful: Extensions, declareAt: DeclareAt): DeclareAt {
  let last: { readonly declared: Extensions | undefined; readonly all: Extensions } | undefined;
  return (occasion) => {
    const declared = declareAt(occasion);
    if (last === undefined || last.declared !== declared) last = { declared, all: { ...helpful, ...declared } };
    return last.all;
  };
}

function isHelpful({ scheme, requirements }: Offer): boolean {
  return Object.keys(scheme.extensionsFor?.(requirements) ?? {}).length > 0;
}

/** What an offer's scheme has to declare, as far as the facilitator can do it. */
function helpfulExtensions({ scheme, requirements }: Offer, facilitators: Supporters): Extensions {
  const declared = scheme.extensionsFor?.(requirements);
  if (declared === undefined) return {};
  const listed = facilitators.extensions(requirements.scheme, requirements.network);
  return Object.fromEntries(Object.entries(declared).filter(([identifier]) => listed.includes(identifier)));
}

/** One offer, with what facilitators have added to it lately. */
interface Completions {
  /** The offer as it is made now; `undefined`: it is not. */
  update(facilitators: Supporters): Offer | undefined;
  find(clientsExtra: unknown): Offer | undefined;
}

/**
 * Facilitators choose another of their addresses each time they are asked, and a client that was told of one pays by that.
 * Old ones stay good for as long as their facilitator has them; this many are remembered.
 */
const MAX_COMPLETIONS = 16;

interface Completion {
  readonly added: Added;
  readonly offer: Offer;
}

function createCompletions(offer: Offer): Completions {
  // Most recent first.
  let known: readonly Completion[] = [];
  return {
    update(facilitators) {
      const added = addedTo(offer, facilitators);
      if (added === undefined) return undefined;
      const same = known.find((completion) => isSame(completion.added, added));
      const current = same ?? { added, offer: complete(offer, added) };
      known = [current, ...known.filter((completion) => completion !== current)].slice(0, MAX_COMPLETIONS);
      return current.offer;
    },
    find(clientsExtra) {
      const told = isJsonObject(clientsExtra) ? clientsExtra : {};
      const meant = known.find(({ added: { extra } }) =>
        Object.entries(extra).every(([key, value]) => told[key] === value),
      );
      return (meant ?? known[0])?.offer;
    },
  };
}

/** What a facilitator adds to an offer, and how it spells its network. */
interface Added {
  readonly extra: JsonObject;
  readonly network: string;
}

/** `undefined`: the offer cannot be made. As long as a facilitator has not said what it supports, it may support anything. */
function addedTo({ scheme, requirements }: Offer, facilitators: Supporters): Added | undefined {
  const support = facilitators.supports(requirements.scheme, requirements.network);
  if (support === "no") return undefined;
  const network = facilitators.spelling(requirements.scheme, requirements.network);
  if (scheme.completeExtra === undefined) return { extra: {}, network };
  if (support === "unknown") return undefined;
  const extra = scheme.completeExtra(facilitators.kindExtra(requirements.scheme, requirements.network) ?? {});
  return extra && { extra, network };
}

/** What the seller has written comes first. */
function complete(offer: Offer, { extra: added, network }: Added): Offer {
  const extra = Object.freeze({ ...added, ...offer.requirements.extra });
  return Object.freeze({ ...offer, requirements: Object.freeze({ ...offer.requirements, network, extra }) });
}

function isSame(a: Added, b: Added): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The offers of a route that no facilitator supports right now. */
export function inspectSupport({ key, offers }: ForSale, facilitators: Supporters): readonly Finding[] {
  return offers
    .filter((offer) => isUnsupported(offer, facilitators))
    .map((offer) => {
      const { scheme, network } = offer.requirements;
      const way = `${describePrice(offer)} by ${scheme} on ${network}`;
      return finding("FAREBOX_OFFER_UNSUPPORTED", key, `No facilitator supports ${way}, so it is left out for now`);
    });
}

function isUnsupported(offer: Offer, facilitators: Supporters): boolean {
  const { scheme, network } = offer.requirements;
  const support = facilitators.supports(scheme, network);
  return support === "no" || (support === "yes" && addedTo(offer, facilitators) === undefined);
}
