/**
 * Circuit breakers: a facilitator that keeps failing is left alone for a while, so that its payers do not wait for it.
 *
 * Closed, calls go through. After some failures in a row it opens, and calls are refused at once. After a while it is
 * half open: one call, the probe, goes through, and its end decides.
 *
 * @module
 */
import type { Clock } from "./clock.js";

/** When a breaker opens, and for how long. */
export interface BreakerThresholds {
  /** In a row: any answer in between starts the count anew. */
  readonly failuresToOpen: number;
  readonly openMs: number;
}

/** Five in a row are no accident; ten seconds are about what a restart takes. */
export const VERIFY_THRESHOLDS: BreakerThresholds = Object.freeze({ failuresToOpen: 5, openMs: 10_000 });

/** Sooner and for longer: each settlement that fails may leave a payer in doubt, and so does each probe. */
export const SETTLE_THRESHOLDS: BreakerThresholds = Object.freeze({ failuresToOpen: 3, openMs: 30_000 });

/** A facilitator that asks to be left alone for longer is probed earlier: nobody can be paid meanwhile. */
export const LONGEST_OPEN_MS = 60_000;

/** What a breaker does with calls now. */
export type BreakerState = "closed" | "open" | "half-open";

/** One call that was let through. Exactly one of the three is called, when it ends. */
export interface Permit {
  /** It was answered, whatever the answer. */
  answered(): void;
  /** It failed. One that was asked to stay away stays away at once. */
  failed(retryAfterSeconds: number | undefined): void;
  /** Its caller lost interest, so it proves nothing. */
  abandoned(): void;
}

/** Watches the calls of one kind to one facilitator. */
export interface CircuitBreaker {
  state(): BreakerState;
  /** Lets a call through, or not. */
  enter(): Permit | undefined;
  /** How long until a call may be let through again, at least 1 unless closed. */
  retryAfterSeconds(): number;
}

/** Creates a closed breaker. */
export function createCircuitBreaker(thresholds: BreakerThresholds, clock: Pick<Clock, "now">): CircuitBreaker {
  let failures = 0;
  let openUntilMs: number | undefined;
  let probing = false;

  const state = (): BreakerState => {
    if (openUntilMs === undefined) return "closed";
    return clock.now() < openUntilMs ? "open" : "half-open";
  };
  const close = () => {
    failures = 0;
    openUntilMs = undefined;
  };
  const open = (retryAfterSeconds: number | undefined) => {
    const asked = (retryAfterSeconds ?? 0) * 1000;
    openUntilMs = clock.now() + Math.min(Math.max(thresholds.openMs, asked), LONGEST_OPEN_MS);
  };
  const fail = (isProbe: boolean, retryAfterSeconds: number | undefined) => {
    // What began before the breaker opened, and fails after it, is no news.
    if (openUntilMs !== undefined && !isProbe) return;
    failures++;
    const mustOpen = isProbe || (retryAfterSeconds ?? 0) > 0 || failures >= thresholds.failuresToOpen;
    if (mustOpen) open(retryAfterSeconds);
  };
  const permit = (isProbe: boolean): Permit => {
    const end = () => {
      if (isProbe) probing = false;
    };
    return {
      answered: () => {
        end();
        close();
      },
      failed: (retryAfterSeconds) => {
        end();
        fail(isProbe, retryAfterSeconds);
      },
      abandoned: end,
    };
  };

  return {
    state,
    enter() {
      const current = state();
      if (current === "closed") return permit(false);
      if (current === "open" || probing) return undefined;
      probing = true;
      return permit(true);
    },
    retryAfterSeconds() {
      if (openUntilMs === undefined) return 0;
      return Math.max(Math.ceil((openUntilMs - clock.now()) / 1000), 1);
    },
  };
}
