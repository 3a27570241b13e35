/**
 * `/supported` of one facilitator: fetched in the background, and read for each offer.
 *
 *   createSupportedCache   fetches and keeps the latest response
 *   findKind, spelledAs    the kind for an offer, and its spelling of the network
 *   ownsAnyAddress         whether an offer names this facilitator
 *   mergeSupported         the responses of several facilitators as one
 *
 * No request waits for a fetch. A response is fetched again after five minutes. If that fails, the old one stays in use.
 *
 * @see x402 v2 §7.3
 * @module
 */
import { FacilitatorError } from "../errors.js";
import { matchesNetwork, sameNetwork } from "../protocol/caip2.js";
import type { PaymentRequirements, SupportedKind, SupportedResponse } from "../protocol/documents.js";
import type { Clock } from "./circuit-breaker.js";
import { readSupportedResponse, unreadable } from "./http-responses.js";

/** How long a response is fresh. Facilitators change networks by the week, fee payers by the hour. */
export const SUPPORTED_TTL_MS: number = 5 * 60_000;

/** The pause after the first failure. It doubles with each further one. */
export const FIRST_BACKOFF_MS = 1_000;

/** The longest pause between two attempts. */
export const LONGEST_BACKOFF_MS = 60_000;

/** The options of a cache. */
export interface SupportedSource {
  /** Fetches `/supported`. It has its own deadline, and ends early when the signal is aborted. */
  fetch(signal: AbortSignal): Promise<unknown>;
  readonly clock: Clock;
  /** Called after each valid response. */
  onResponse(changed: boolean): void;
  /** Called after each failure. */
  onFailure(error: FacilitatorError): void;
}

/** The latest response to `/supported`. */
export interface SupportedCache {
  /** The latest valid response, of any age; `undefined` before the first. */
  latest(): SupportedResponse | undefined;
  /** When it was fetched, in Unix milliseconds. */
  fetchedAtMs(): number | undefined;
  /** Begins to fetch, now and repeatedly. Further calls do nothing. */
  start(): void;
  /** Resolves after the first fetch, successful or not, or when closed. Never rejects. */
  readonly asked: Promise<void>;
  /** Stops for good. */
  close(): void;
}

/** Creates a cache. It makes no request until it is started. */
export function createSupportedCache(source: SupportedSource): SupportedCache {
  const { clock } = source;
  const controller = new AbortController();
  const { promise: asked, resolve: markAsked } = createSignal();
  let latest: SupportedResponse | undefined;
  let fetchedAtMs: number | undefined;
  let failures = 0;
  let started = false;
  let cancelNext = () => {};

  const take = (body: unknown) => {
    const response = readSupportedResponse(body);
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
      if (!controller.signal.aborted) source.onResponse(changed);
      return jittered(SUPPORTED_TTL_MS, clock);
    } catch (cause) {
      const error = cause instanceof FacilitatorError ? cause : unreadable("supported", cause);
      if (!controller.signal.aborted) source.onFailure(error);
      return pauseAfter(failures++, error, clock);
    }
  };
  // The next fetch is scheduled when this one has ended, so two never overlap.
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

/** A facilitator's `Retry-After` is a minimum. It was limited to an hour when it was read. */
function pauseAfter(failures: number, { retryAfterSeconds = 0 }: FacilitatorError, clock: Clock): number {
  const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(failures, 16), LONGEST_BACKOFF_MS);
  return retryAfterSeconds * 1000 + jittered(backoffMs, clock);
}

/** Between half and all of it, so that sellers started together do not keep fetching together. */
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

/** Whether an offer is supported. `unknown`: `/supported` was not fetched yet, and the call is tried. */
export type Support = "yes" | "no" | "unknown";

/** Fields of an offer's `extra` that name an address of the one facilitator that can settle it. */
const NAMES_A_FACILITATOR = ["feePayer", "facilitatorAddress"] as const;

/**
 * Finds the kind for an offer: first for the exact spelling of its network, then for another spelling, then for a pattern. Kinds
 * should have concrete networks, but some facilitators list patterns.
 */
export function findKind(response: SupportedResponse, scheme: string, network: string): SupportedKind | undefined {
  const kinds = response.kinds.filter((kind) => kind.x402Version === 2 && kind.scheme === scheme);
  return (
    kinds.find((kind) => kind.network === network) ??
    kinds.find((kind) => sameNetwork(kind.network, network)) ??
    kinds.find((kind) => matchesNetwork(kind.network, network))
  );
}

/** Spells a network as the facilitator's kind does, or as given if the kind has a pattern. */
export function spelledAs(kind: SupportedKind | undefined, network: string): string {
  return kind !== undefined && sameNetwork(kind.network, network) ? kind.network : network;
}

/** The addresses in an offer that bind it to one facilitator, e.g. the one that pays the network's fee. */
export function facilitatorAddresses({ extra }: PaymentRequirements): readonly string[] {
  return NAMES_A_FACILITATOR.map((field) => extra[field]).filter((value) => typeof value === "string");
}

/**
 * Whether one of the addresses belongs to this facilitator: as a signer, or in its kind. Facilitators may name another of their
 * signers in each response, so the kind alone is not enough.
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

/** Merges responses. Of two kinds for the same offers, the first counts. */
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
