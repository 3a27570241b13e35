/**
 * Circuit breakers: calls to a facilitator that keeps failing are paused, so that payers do not wait for it.
 *
 *   closed     calls pass; after several failures in a row the breaker opens
 *   open       calls are refused at once
 *   half-open  after a pause, one call passes, the probe; its result closes or opens the breaker
 *
 * A call fails for a payer, or for another source. One source may send payments that make a facilitator fail, so all failures of
 * a source count once, and a source that keeps failing, or is told to wait, is paused alone. A settlement that was tried before
 * is never the probe and never counts. Before a breaker opens because of sources' payments, it may ask whether the facilitator is alive.
 *
 * @module
 */

/** When a breaker opens, and for how long. */
export interface BreakerThresholds {
  /** Failures in a row, those of one payer counted once; or failures of one payer in a row. A valid response resets the count. */
  readonly failuresToOpen: number;
  readonly openMs: number;
  /** How long the failures of a payer are remembered. Until then the payer does not get the probe. */
  readonly rememberedMs: number;
}

/** The limit of a facilitator's `Retry-After` here, because no payment is possible during the pause. */
export const LONGEST_OPEN_MS = 60_000;

/** Five failures in a row are no coincidence, and ten seconds are about the time of a restart. */
export const VERIFY_THRESHOLDS: BreakerThresholds = Object.freeze({
  failuresToOpen: 5,
  openMs: 10_000,
  rememberedMs: 10_000,
});

/** Opens earlier and for longer: each failed settlement, probes included, may leave an unknown outcome. */
export const SETTLE_THRESHOLDS: BreakerThresholds = Object.freeze({
  failuresToOpen: 3,
  openMs: 30_000,
  rememberedMs: LONGEST_OPEN_MS,
});

/** The failures of how many payers are remembered. */
const MAX_PAYERS = 1_000;

/** While half-open, one handler may run per this time: its settlement is to be the probe. */
const TRIAL_MS = 5_000;

/** The state of a breaker. */
export type BreakerState = "closed" | "open" | "half-open";

/** How a call came to be made. Says what its end is worth. */
export type Way = "closed" | "probe" | "again" | "again beside the probe";

/** A call that failed, and what that may have to do with its payment. */
export interface FailedCall {
  /** The payer, or another source of the payment; `undefined`: the failure has nothing to do with a payer. */
  readonly payer: string | undefined;
  /** With a `Retry-After` the breaker opens at once, or the payer is paused at once. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether no server got the call, which no payer can cause. Default false. */
  readonly isUnreachable?: boolean;
  /** Whether the facilitator has said that it gets too many calls, which is not about the payment. Default false. */
  readonly isBusy?: boolean;
  /** Whether the payment is good, if nobody knew. Otherwise its failure is only the payer's. Never rejects. */
  readonly isGood?: Promise<boolean> | undefined;
}

/** What a breaker asks and tells. */
export interface BreakerOptions {
  /**
   * Whether the facilitator responds to what is no source's doing. Asked before the breaker opens because of sources. Never rejects.
   * Default: it is not asked, and the breaker opens.
   */
  readonly isAlive?: () => Promise<boolean>;
  /** Called when the state may have changed after a call had ended. */
  readonly onChange?: () => void;
}

/** The failures of one payer in a row. */
interface PayerFailures {
  readonly count: number;
  readonly pausedUntilMs: number;
  readonly rememberedUntilMs: number;
}

/** One failed call. */
interface Failure {
  /** The payer who may be its cause. */
  readonly cause: string | undefined;
  readonly isBusy: boolean;
  readonly isProbe: boolean;
  readonly retryAfterSeconds: number | undefined;
}

/** Watches the calls of one kind to one facilitator. Closed at first. */
export class CircuitBreaker {
  /** Whether no failure is remembered: each call may be made, and a valid response changes nothing. A field, which each call reads. */
  isQuiet = true;
  readonly #thresholds: BreakerThresholds;
  readonly #clock: Pick<Clock, "now">;
  readonly #options: BreakerOptions;
  /** The failures in a row: a payer, or a symbol for a failure that no payer caused. And whether a payment may be the reason. */
  readonly #failures = new Map<string | symbol, boolean>();
  /** By payer, the latest failure last. */
  readonly #payers = new Map<string, PayerFailures>();
  #openUntilMs: number | undefined;
  #trialUntilMs = 0;
  #probing = false;
  #retrying = false;
  #isAsking = false;

  constructor(thresholds: BreakerThresholds, clock: Pick<Clock, "now">, options: BreakerOptions = {}) {
    this.#thresholds = thresholds;
    this.#clock = clock;
    this.#options = options;
  }

  state(): BreakerState {
    if (this.#openUntilMs === undefined) return "closed";
    return this.#clock.now() < this.#openUntilMs ? "open" : "half-open";
  }

  /**
   * Lets a call through: when it ends, exactly one of {@link responded}, {@link failed} and {@link abandoned} is called. `undefined`: it is
   * refused.
   *
   * @param isRetry - Whether an earlier call for the same payment has an unknown outcome.
   */
  enter(payer: string | undefined, isRetry: boolean): Way | undefined {
    if (this.isQuiet) return isRetry ? "again" : "closed";
    const current = this.state();
    if (current === "open") return undefined;
    if (isRetry) return this.#enterAgain(current);
    if (this.#failuresOf(payer, current) !== undefined) return undefined;
    if (current === "closed") return "closed";
    if (this.#probing) return undefined;
    this.#probing = true;
    return "probe";
  }

  /** Seconds until a call for a payer may pass, at least 1. 0 when closed. */
  retryAfterSeconds(payer?: string): number {
    const current = this.state();
    const { pausedUntilMs = 0, rememberedUntilMs = 0 } = this.#failuresOf(payer, current) ?? {};
    const payersMs = current === "half-open" ? rememberedUntilMs : pausedUntilMs;
    if (this.#openUntilMs === undefined && payersMs === 0) return 0;
    const untilMs = Math.max(this.#openUntilMs ?? 0, payersMs);
    return Math.max(Math.ceil((untilMs - this.#clock.now()) / 1000), 1);
  }

  /**
   * Seconds until a handler may run for a payer whose payment is settled afterwards; 0: now. While half-open, one handler
   * may run every few seconds.
   */
  admit(payer: string): number {
    if (this.isQuiet) return 0;
    const current = this.state();
    const isBarred = current === "open" || this.#failuresOf(payer, current) !== undefined;
    if (isBarred) return this.retryAfterSeconds(payer);
    if (current === "closed") return 0;
    const nowMs = this.#clock.now();
    if (this.#probing || nowMs < this.#trialUntilMs) {
      return Math.max(Math.ceil((this.#trialUntilMs - nowMs) / 1000), 1);
    }
    this.#trialUntilMs = nowMs + TRIAL_MS;
    return 0;
  }

  /** A call got a valid response. */
  responded(way: Way, payer: string | undefined): void {
    this.abandoned(way);
    this.#close(payer);
  }

  /** A call failed. */
  failed(way: Way, { payer, isUnreachable = false, isBusy = false, retryAfterSeconds, isGood }: FailedCall): void {
    this.abandoned(way);
    if (way !== "closed" && way !== "probe") return;
    const cause = isUnreachable ? undefined : payer;
    if (cause !== undefined) this.#blame(cause, retryAfterSeconds);
    // A call that began while closed says nothing once the breaker is open. A probe does.
    const failure = { cause, isBusy, isProbe: way === "probe", retryAfterSeconds };
    if (isGood === undefined) {
      this.#count(failure);
      return;
    }
    void isGood.then((is) => {
      if (!is) return;
      this.#count(failure);
      this.#options.onChange?.();
    });
  }

  /** The caller gave up, which proves nothing. */
  abandoned(way: Way): void {
    if (way === "probe") this.#probing = false;
    if (way === "again beside the probe") this.#retrying = false;
  }

  /** Beside the probe, so that a payment is resolved even if no other one comes. Only its success says anything. */
  #enterAgain(current: BreakerState): Way | undefined {
    if (current === "closed") return "again";
    if (this.#retrying) return undefined;
    this.#retrying = true;
    return "again beside the probe";
  }

  #close(payer: string | undefined): void {
    this.#failures.clear();
    this.#openUntilMs = undefined;
    if (payer !== undefined) this.#payers.delete(payer);
    this.isQuiet = this.#payers.size === 0;
  }

  #count({ cause, isBusy, isProbe, retryAfterSeconds }: Failure): void {
    const isHalfOpen = isProbe && this.#openUntilMs !== undefined;
    if (this.#openUntilMs !== undefined && !isHalfOpen) return;
    this.#failures.set(cause ?? Symbol("no payer"), cause !== undefined && !isBusy);
    this.isQuiet = false;
    const isAsked = cause === undefined && (retryAfterSeconds ?? 0) > 0;
    if (!isHalfOpen && !isAsked && this.#failures.size < this.#thresholds.failuresToOpen) return;
    const { isAlive } = this.#options;
    const mayBePayments = [...this.#failures.values()].includes(true);
    if (isAlive === undefined || isAsked || !mayBePayments) this.#openUntilMs = this.#pauseUntil(retryAfterSeconds);
    else void this.#openUnless(isAlive, retryAfterSeconds);
  }

  async #openUnless(isAlive: () => Promise<boolean>, retryAfterSeconds: number | undefined): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const isClosing = await isAlive();
    this.#isAsking = false;
    if (isClosing) this.#close(undefined);
    // A valid response meanwhile says that it is alive.
    else if (this.#failures.size > 0) this.#openUntilMs = this.#pauseUntil(retryAfterSeconds);
    this.#options.onChange?.();
  }

  /** What bars a payer: a pause; and while half-open any failure, so that the probe belongs to another payer. */
  #failuresOf(payer: string | undefined, current: BreakerState): PayerFailures | undefined {
    const known = payer === undefined ? undefined : this.#payers.get(payer);
    if (known === undefined) return undefined;
    const untilMs = current === "closed" ? known.pausedUntilMs : known.rememberedUntilMs;
    return this.#clock.now() < untilMs ? known : undefined;
  }

  #blame(payer: string, retryAfterSeconds: number | undefined): void {
    const nowMs = this.#clock.now();
    const { count: before = 0, rememberedUntilMs = 0 } = this.#payers.get(payer) ?? {};
    const count = nowMs < rememberedUntilMs ? before + 1 : 1;
    const isPaused = count >= this.#thresholds.failuresToOpen || (retryAfterSeconds ?? 0) > 0;
    const pausedUntilMs = isPaused ? this.#pauseUntil(retryAfterSeconds) : 0;
    this.#payers.delete(payer);
    const untilMs = Math.max(nowMs + this.#thresholds.rememberedMs, pausedUntilMs);
    this.#payers.set(payer, { count, pausedUntilMs, rememberedUntilMs: untilMs });
    this.isQuiet = false;
    for (const oldest of this.#payers.keys()) {
      if (this.#payers.size <= MAX_PAYERS) break;
      this.#payers.delete(oldest);
    }
  }

  #pauseUntil(retryAfterSeconds: number | undefined): number {
    const asked = (retryAfterSeconds ?? 0) * 1000;
    return this.#clock.now() + Math.min(Math.max(this.#thresholds.openMs, asked), LONGEST_OPEN_MS);
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
