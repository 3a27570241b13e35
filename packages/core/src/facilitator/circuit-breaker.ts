/**
 * Circuit breakers: calls to a facilitator that keeps failing are paused, so that payers do not wait for it.
 *
 *   closed     calls pass; after several failures in a row the breaker opens
 *   open       calls are refused at once
 *   half-open  after a pause, one call passes, the probe; its result closes or opens the breaker
 *
 * @module
 */

/** When a breaker opens, and for how long. */
export interface BreakerThresholds {
  /** Failures in a row. A valid response resets the count. */
  readonly failuresToOpen: number;
  readonly openMs: number;
}

/** Five failures in a row are no coincidence, and ten seconds are about the time of a restart. */
export const VERIFY_THRESHOLDS: BreakerThresholds = Object.freeze({ failuresToOpen: 5, openMs: 10_000 });

/** Opens earlier and for longer: each failed settlement, probes included, may leave an unknown outcome. */
export const SETTLE_THRESHOLDS: BreakerThresholds = Object.freeze({ failuresToOpen: 3, openMs: 30_000 });

/** The limit of a facilitator's `Retry-After` here, because no payment is possible during the pause. */
export const LONGEST_OPEN_MS = 60_000;

/** The state of a breaker. */
export type BreakerState = "closed" | "open" | "half-open";

/** One call that may be made. When it ends, exactly one of the three methods is called. */
export interface Permit {
  /** It got a valid response. */
  responded(): void;
  /** It failed. With a `Retry-After` the breaker opens at once. */
  failed(retryAfterSeconds: number | undefined): void;
  /** Its caller gave up, which proves nothing. */
  abandoned(): void;
}

/** Watches the calls of one kind to one facilitator. */
export interface CircuitBreaker {
  state(): BreakerState;
  /** A permit for one call, or `undefined` when calls are refused. */
  enter(): Permit | undefined;
  /** Seconds until a call may pass, at least 1. 0 when closed. */
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
    // A permit holds no state of its call, so all calls share one.
    this.#call = {
      responded: () => this.#close(),
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

  /** There is one probe at a time. */
  #createProbe(): Permit {
    return {
      responded: () => {
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
    // A call that began before the breaker opened changes nothing.
    if (this.#openUntilMs !== undefined) return;
    this.#failures++;
    const mustOpen = (retryAfterSeconds ?? 0) > 0 || this.#failures >= this.#thresholds.failuresToOpen;
    if (mustOpen) this.#open(retryAfterSeconds);
  }
}

/** Time, timers and randomness, which tests replace. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** From 0 up to, not including, 1. */
  random(): number;
  /** Runs a function once, later. Returns a function that cancels it. Does not keep the process alive. */
  schedule(run: () => void, delayMs: number): () => void;
}

/** The clock of the system. */
export const SYSTEM_CLOCK: Clock = Object.freeze({
  now: () => Date.now(),
  random: () => Math.random(),
  schedule: (run: () => void, delayMs: number) => {
    const timer = setTimeout(run, delayMs).unref();
    return () => clearTimeout(timer);
  },
});
