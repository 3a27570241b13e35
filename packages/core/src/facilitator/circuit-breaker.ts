/**
 * Circuit breakers: a facilitator that keeps failing is left alone for a while, so that its payers do not wait for it.
 *
 * Closed, calls go through. After some failures in a row it opens, and calls are refused at once. After a while it is
 * half open: one call, the probe, goes through, and its end decides.
 *
 * @module
 */

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
  return new Breaker(thresholds, clock);
}

class Breaker implements CircuitBreaker {
  readonly #thresholds: BreakerThresholds;
  readonly #clock: Pick<Clock, "now">;
  readonly #call: Permit;
  readonly #probe: Permit;
  #failures = 0;
  #openUntilMs: number | undefined;
  #probing = false;

  constructor(thresholds: BreakerThresholds, clock: Pick<Clock, "now">) {
    this.#thresholds = thresholds;
    this.#clock = clock;
    // Nothing is known of a call but how it ends, so that all share one permit.
    this.#call = {
      answered: () => this.#close(),
      failed: (retryAfterSeconds) => this.#fail(retryAfterSeconds),
      abandoned: () => {},
    };
    this.#probe = this.#createProbe();
  }

  state(): BreakerState {
    if (this.#openUntilMs === undefined) return "closed";
    return this.#clock.now() < this.#openUntilMs ? "open" : "half-open";
  }

  enter(): Permit | undefined {
    const current = this.state();
    if (current === "closed") return this.#call;
    if (current === "open" || this.#probing) return undefined;
    this.#probing = true;
    return this.#probe;
  }

  retryAfterSeconds(): number {
    if (this.#openUntilMs === undefined) return 0;
    return Math.max(Math.ceil((this.#openUntilMs - this.#clock.now()) / 1000), 1);
  }

  /** There is one at a time. */
  #createProbe(): Permit {
    return {
      answered: () => {
        this.#probing = false;
        this.#close();
      },
      failed: (retryAfterSeconds) => {
        this.#probing = false;
        this.#failures++;
        this.#open(retryAfterSeconds);
      },
      abandoned: () => {
        this.#probing = false;
      },
    };
  }

  #close(): void {
    this.#failures = 0;
    this.#openUntilMs = undefined;
  }

  #open(retryAfterSeconds: number | undefined): void {
    const asked = (retryAfterSeconds ?? 0) * 1000;
    this.#openUntilMs = this.#clock.now() + Math.min(Math.max(this.#thresholds.openMs, asked), LONGEST_OPEN_MS);
  }

  #fail(retryAfterSeconds: number | undefined): void {
    // What began before the breaker opened, and fails after it, is no news.
    if (this.#openUntilMs !== undefined) return;
    this.#failures++;
    const mustOpen = (retryAfterSeconds ?? 0) > 0 || this.#failures >= this.#thresholds.failuresToOpen;
    if (mustOpen) this.#open(retryAfterSeconds);
  }
}

/** Tells the time, schedules, and throws dice. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** From 0 up to, not including, 1. */
  random(): number;
  /** Runs something once, later, unless what is returned is called before. Does not keep the process alive. */
  schedule(run: () => void, delayMs: number): () => void;
}

/** The real one. */
export const SYSTEM_CLOCK: Clock = Object.freeze({
  now: () => Date.now(),
  random: () => Math.random(),
  schedule: (run: () => void, delayMs: number) => {
    const timer = setTimeout(run, delayMs).unref();
    return () => clearTimeout(timer);
  },
});
