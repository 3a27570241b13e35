/**
 * The payment options of a route that can be used right now: a facilitator supports them. Any other option would only
 * make payers sign a payment that cannot settle.
 *
 * @module
 */
import { type Finding, finding } from "../events/findings.js";
import type { FacilitatorPool } from "../facilitator/pool.js";
import type { Extensions } from "../protocol/documents.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";
import { describePrice, type Offer } from "../scheme/offer.js";
import {
  type AskingWriter,
  type ChallengePart,
  type ChallengeSubject,
  type ChallengeWriter,
  compileAskingChallenge,
  compileChallenge,
} from "./challenge.js";
import type { DeclareAt } from "./declarations.js";

/** A route with the offers that are available, and its challenge. */
export interface AvailableRoute extends ChallengeSubject {
  readonly challenge: ChallengeWriter;
  /** The same, with what extensions say about this one. `undefined`: they have no say in it. */
  readonly askingChallenge: AskingWriter | undefined;
}

/** A route with all its offers, whether or not a facilitator supports them. */
export interface OfferedRoute extends ChallengeSubject {
  readonly key: string;
  /** Nobody can pay for it, so no offer has to be available. Default false. */
  readonly isGrantOnly?: boolean;
  /** Gets what each challenge that is written anew leaves out in its header. */
  readonly onLeftOut?: (parts: readonly ChallengePart[]) => void;
}

/** Says which facilitator supports what. */
export type Supporters = Pick<FacilitatorPool, "supports" | "kindExtra" | "spelling" | "extensions" | "revision">;

/** The offers of one route, as facilitators support them. */
export interface AvailableOffers {
  /** The route as it can be paid for right now; `undefined`: no offer is available. Made anew only when support changes. */
  readonly available: () => AvailableRoute | undefined;
  /** Whether a facilitator that the offers depend on has not been asked yet. `undefined`: they depend on none. */
  readonly isPending: (() => boolean) | undefined;
  /**
   * An offer as a client saw it, with what a facilitator added to it. It is found by the `extra` that the client sent
   * back. `undefined`: no facilitator has said yet what it adds.
   */
  readonly offerFor: (offer: Offer, clientsExtra: unknown) => Offer | undefined;
}

/**
 * Prepares the offers of a route.
 *
 * @param onFinding - Gets each finding whenever support changes. Default: they are not looked for.
 */
export function createAvailableOffers(
  route: OfferedRoute,
  facilitators: Supporters,
  onFinding?: (finding: Finding) => void,
): AvailableOffers {
  const completions = new Map(route.offers.map((offer) => [offer, new Completions(offer)]));
  const waiting = route.offers.filter((offer) => offer.scheme.completeExtra !== undefined || hasExtensions(offer));
  let revision = -1;
  let current: AvailableRoute | undefined;
  let isPending = false;
  const update = () => {
    revision = facilitators.revision;
    isPending = waiting.some(
      ({ requirements: { scheme, network } }) => facilitators.supports(scheme, network) === "unknown",
    );
    current = compile(route, [...completions.values()], facilitators);
    if (onFinding !== undefined) inspectSupport(route, facilitators).forEach(onFinding);
  };
  return {
    available() {
      if (revision !== facilitators.revision) update();
      return current;
    },
    isPending:
      waiting.length === 0
        ? undefined
        : () => {
            if (revision !== facilitators.revision) update();
            return isPending;
          },
    offerFor(offer, clientsExtra) {
      if (revision !== facilitators.revision) update();
      const completed = completions.get(offer);
      return completed?.known.length === 1 ? completed.known[0]?.offer : completed?.find(clientsExtra);
    },
  };
}

function compile(
  { offers: _, ...route }: OfferedRoute,
  completions: readonly Completions[],
  facilitators: Supporters,
): AvailableRoute | undefined {
  const offers = completions.flatMap((completion) => completion.update(facilitators) ?? []);
  const ofSchemes = Object.assign({}, ...offers.map((offer) => supportedExtensions(offer, facilitators)));
  const declareAt = Object.keys(ofSchemes).length === 0 ? route.declareAt : declareBeside(ofSchemes, route.declareAt);
  if (offers.length === 0 && route.isGrantOnly !== true) return undefined;
  const subject = { ...route, offers, declareAt };
  const { asked, onLeftOut } = route;
  return {
    ...subject,
    challenge: compileChallenge(subject, onLeftOut),
    askingChallenge:
      asked?.asksAboutChallenges === true ? compileAskingChallenge(subject, asked, onLeftOut) : undefined,
  };
}

/** Adds extensions to what the seller declares, which wins. The same declarations return the same object. */
function declareBeside(added: Extensions, declareAt: DeclareAt): DeclareAt {
  let last: { readonly declared: Extensions | undefined; readonly all: Extensions } | undefined;
  return (occasion) => {
    const declared = declareAt(occasion);
    if (last === undefined || last.declared !== declared) last = { declared, all: { ...added, ...declared } };
    return last.all;
  };
}

function hasExtensions({ scheme, requirements }: Offer): boolean {
  return Object.keys(scheme.extensionsFor?.(requirements) ?? {}).length > 0;
}

/** The extensions of an offer's scheme that the facilitator supports. */
function supportedExtensions({ scheme, requirements }: Offer, facilitators: Supporters): Extensions {
  const declared = scheme.extensionsFor?.(requirements);
  if (declared === undefined) return {};
  const listed = facilitators.extensions(requirements.scheme, requirements.network);
  return Object.fromEntries(Object.entries(declared).filter(([identifier]) => listed.includes(identifier)));
}

/**
 * A facilitator may add another of its addresses each time it is asked. A client pays by the one that it saw, so the last
 * ones are remembered.
 */
const MAX_COMPLETIONS = 16;

interface Completion {
  readonly added: Added;
  readonly offer: Offer;
}

/** One offer, with what facilitators added to it lately. */
class Completions {
  /** Most recent first. Most offers have one: nothing is added to them. */
  known: readonly Completion[] = [];
  readonly #offer: Offer;

  constructor(offer: Offer) {
    this.#offer = offer;
  }

  /** The offer as it is available now; `undefined`: it is not. */
  update(facilitators: Supporters): Offer | undefined {
    const added = addedTo(this.#offer, facilitators);
    if (added === undefined) return undefined;
    const same = this.known.find((completion) => isSame(completion.added, added));
    const current = same ?? { added, offer: complete(this.#offer, added) };
    this.known = [current, ...this.known.filter((completion) => completion !== current)].slice(0, MAX_COMPLETIONS);
    return current.offer;
  }

  /** The offer as a client saw it. */
  find(clientsExtra: unknown): Offer | undefined {
    const seen = isJsonObject(clientsExtra) ? clientsExtra : {};
    const match = this.known.find(({ added: { extra } }) =>
      Object.entries(extra).every(([key, value]) => seen[key] === value),
    );
    return (match ?? this.known[0])?.offer;
  }
}

/** What a facilitator adds to an offer, and how it spells its network. */
interface Added {
  readonly extra: JsonObject;
  readonly network: string;
}

/** `undefined`: the offer is not available. A facilitator that was not asked yet may support anything. */
function addedTo({ scheme, requirements }: Offer, facilitators: Supporters): Added | undefined {
  const support = facilitators.supports(requirements.scheme, requirements.network);
  if (support === "no") return undefined;
  const network = facilitators.spelling(requirements.scheme, requirements.network);
  if (scheme.completeExtra === undefined) return { extra: {}, network };
  if (support === "unknown") return undefined;
  const extra = scheme.completeExtra(facilitators.kindExtra(requirements.scheme, requirements.network) ?? {});
  return extra && { extra, network };
}

/** The seller's own `extra` wins. */
function complete(offer: Offer, { extra: added, network }: Added): Offer {
  const extra = Object.freeze({ ...added, ...offer.requirements.extra });
  return Object.freeze({ ...offer, requirements: Object.freeze({ ...offer.requirements, network, extra }) });
}

function isSame(a: Added, b: Added): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The offers of a route that no facilitator supports right now. */
export function inspectSupport({ key, offers }: OfferedRoute, facilitators: Supporters): readonly Finding[] {
  return offers
    .filter((offer) => isUnsupported(offer, facilitators))
    .map((offer) => {
      const { scheme, network } = offer.requirements;
      const option = `${describePrice(offer)} by ${scheme} on ${network}`;
      return finding("FAREBOX_OFFER_UNSUPPORTED", key, `No facilitator supports ${option}, so it is left out for now`);
    });
}

function isUnsupported(offer: Offer, facilitators: Supporters): boolean {
  const { scheme, network } = offer.requirements;
  const support = facilitators.supports(scheme, network);
  return support === "no" || (support === "yes" && addedTo(offer, facilitators) === undefined);
}
