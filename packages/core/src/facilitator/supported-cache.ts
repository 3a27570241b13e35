/**
 * `/supported` of one facilitator, fetched in the background: no request ever waits for it, and nothing that becomes of
 * it is an error to anybody but the operator.
 *
 * An answer is fresh for some minutes and then fetched again; when that fails, the old one stands.
 *
 * @module
 */
import { FacilitatorError } from "../errors.js";
import type { SupportedResponse } from "../protocol/supported-response.js";
import type { Clock } from "./clock.js";
import { unreadable } from "./http-failures.js";
import { readSupportedResponse } from "./read-response.js";

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
