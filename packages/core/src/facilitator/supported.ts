/**
 * `/supported` of one facilitator: fetched in the background, and what it says about an offer.
 *
 * No request waits for it. A response is fresh for five minutes and is then fetched again; if that fails, the old one stands.
 *
 * @see x402 v2 §7.3
 *
 * @module
 */
import { FacilitatorError } from "../errors.js";
import { matchesNetwork, sameNetwork } from "../protocol/caip2.js";
import type { PaymentRequirements, SupportedKind, SupportedResponse } from "../protocol/documents.js";
import type { Clock } from "./circuit-breaker.js";
import { readSupportedResponse, unreadable } from "./http-responses.js";

/** How long an answer is fresh. Networks are added and dropped by the week, fee payers by the hour. */
export const SUPPORTED_TTL_MS: number = 5 * 60_000;

/** The first pause after a failure; it doubles with each further one. */
export const FIRST_BACKOFF_MS = 1_000;

/** A facilitator that is down for long is asked about once a minute. */
export const LONGEST_BACKOFF_MS = 60_000;

/** What a cache needs. */
export interface SupportedSource {
  /** Asks the facilitator. Has a deadline of its own, and ends early when the signal says so. */
  fetch(signal: AbortSignal): Promise<unknown>;
  readonly clock: Clock;
  /** Called after each answer. */
  onAnswer(changed: boolean): void;
  /** Called after each failure. */
  onFailure(error: FacilitatorError): void;
}

/** The latest that is known of `/supported`. */
export interface SupportedCache {
  /** The latest answer, however old; `undefined` before the first. */
  latest(): SupportedResponse | undefined;
  /** When that was fetched, in Unix milliseconds. */
  fetchedAtMs(): number | undefined;
  /** Begins to fetch, now and from time to time. Only the first call counts. */
  start(): void;
  /** Resolves once it was asked once, whatever came of it, or is closed. Never rejects. */
  readonly asked: Promise<void>;
  /** Stops for good. */
  close(): void;
}

/** Creates a cache that does nothing until it is started. */
export function createSupportedCache(source: SupportedSource): SupportedCache {
  const { clock } = source;
  const controller = new AbortController();
  const { promise: asked, resolve: markAsked } = createSignal();
  let latest: SupportedResponse | undefined;
  let fetchedAtMs: number | undefined;
  let failures = 0;
  let started = false;
  let cancelNext = () => {};

  const take = (answer: unknown) => {
    const response = readSupportedResponse(answer);
    if (response === undefined) throw unreadable("supported");
    const changed = JSON.stringify(response) !== JSON.stringify(latest);
    latest = response;
    fetchedAtMs = clock.now();
    failures = 0;
    return changed;
  };
  const attempt = async (): Promise<number> => {
    try {
      const changed = take(await source.fetch(controller.signal));
      if (!controller.signal.aborted) source.onAnswer(changed);
      return jittered(SUPPORTED_TTL_MS, clock);
    } catch (cause) {
      const error = cause instanceof FacilitatorError ? cause : unreadable("supported", cause);
      if (!controller.signal.aborted) source.onFailure(error);
      return pauseAfter(failures++, error, clock);
    }
  };
  // The next one is scheduled only when this one has ended, so there is never more than one under way.
  const run = async (): Promise<void> => {
    const pauseMs = await attempt();
    markAsked();
    if (!controller.signal.aborted) cancelNext = clock.schedule(() => void run(), pauseMs);
  };

  return {
    latest: () => latest,
    fetchedAtMs: () => fetchedAtMs,
    asked,
    start() {
      if (started || controller.signal.aborted) return;
      started = true;
      void run();
    },
    close() {
      cancelNext();
      controller.abort();
      markAsked();
    },
  };
}

/** What a facilitator asks for is a minimum; an hour is the most it can ask for. */
function pauseAfter(failures: number, { retryAfterSeconds = 0 }: FacilitatorError, clock: Clock): number {
  const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(failures, 16), LONGEST_BACKOFF_MS);
  return retryAfterSeconds * 1000 + jittered(backoffMs, clock);
}

/** Between half and all of it: sellers that were started together must not ask together for ever. */
function jittered(ms: number, clock: Clock): number {
  return Math.round((ms * (1 + clock.random())) / 2);
}

function createSignal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}

/** `unknown`: nobody could say yet. It is no reason not to try. */
export type Support = "yes" | "no" | "unknown";

/** Fields of an offer's `extra` that name an address of the one facilitator that can settle it. */
const NAMES_A_FACILITATOR = ["feePayer", "facilitatorAddress"] as const;

/**
 * Finds the kind for an offer. Kinds should be of concrete networks, but some facilitators list patterns, and an offer
 * withheld earns nothing. Of a network with two spellings the one that is asked for comes first.
 */
export function findKind(response: SupportedResponse, scheme: string, network: string): SupportedKind | undefined {
  const kinds = response.kinds.filter((kind) => kind.x402Version === 2 && kind.scheme === scheme);
  return (
    kinds.find((kind) => kind.network === network) ??
    kinds.find((kind) => sameNetwork(kind.network, network)) ??
    kinds.find((kind) => matchesNetwork(kind.network, network))
  );
}

/** A network as the kind for it spells it, which its facilitator is sure to know; as given where that is a pattern. */
export function spelledAs(kind: SupportedKind | undefined, network: string): string {
  return kind !== undefined && sameNetwork(kind.network, network) ? kind.network : network;
}

/** The addresses in an offer that bind it to one facilitator, e.g. the one that pays the network's fee. */
export function facilitatorAddresses({ extra }: PaymentRequirements): readonly string[] {
  return NAMES_A_FACILITATOR.map((field) => extra[field]).filter((value) => typeof value === "string");
}

/**
 * Whether one of the addresses is this facilitator's: a signer, or the one its kind names. Facilitators choose another of
 * their signers each time they are asked, so the kind alone does not tell.
 */
export function ownsAnyAddress(
  response: SupportedResponse,
  addresses: readonly string[],
  { scheme, network }: PaymentRequirements,
): boolean {
  const signers = Object.entries(response.signers).filter(([pattern]) => matchesNetwork(pattern, network));
  const named = NAMES_A_FACILITATOR.map((field) => findKind(response, scheme, network)?.extra?.[field]);
  const own = new Set([...signers.flatMap(([, listed]) => listed), ...named].map(withoutChecksum));
  return addresses.some((address) => own.has(withoutChecksum(address)));
}

/** Puts lists together; of two kinds for the same offers the first counts. */
export function mergeSupported(responses: readonly SupportedResponse[]): SupportedResponse {
  const kinds = new Map<string, SupportedKind>();
  const signers = new Map<string, Set<string>>();
  for (const response of responses) {
    for (const kind of response.kinds) {
      const key = JSON.stringify([kind.x402Version, kind.scheme, kind.network]);
      if (!kinds.has(key)) kinds.set(key, kind);
    }
    for (const [pattern, addresses] of Object.entries(response.signers)) {
      signers.set(pattern, new Set([...(signers.get(pattern) ?? []), ...addresses]));
    }
  }
  return {
    kinds: [...kinds.values()],
    extensions: [...new Set(responses.flatMap(({ extensions }) => extensions))],
    signers: Object.fromEntries([...signers].map(([pattern, addresses]) => [pattern, [...addresses]])),
  };
}

/** `0x` addresses differ in case only by their checksum. */
function withoutChecksum(address: unknown): unknown {
  return typeof address === "string" && address.startsWith("0x") ? address.toLowerCase() : address;
}
