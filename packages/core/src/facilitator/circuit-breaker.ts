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

/** What a breaker knows about a call before it is made. */
export interface BreakerCall {
  /** The payer, or another source of the payment; `undefined`: the failure of this call has nothing to do with a payer. */
  readonly payer?: string | undefined;
  /** Whether an earlier call for the same payment has an unknown outcome. */
  readonly isRetry?: boolean;
}

/** One call that may be made. When it ends, exactly one of the three methods is called. */
export interface Permit {
  /** It got a valid response. */
  responded(): void;
  /**
   * It failed. With a `Retry-After` the breaker opens at once, or the payer is paused at once.
   *
   * @param isUnreachable - Whether no server got the call, which no payer can cause.
   */
  failed(retryAfterSeconds: number | undefined, isUnreachable?: boolean, more?: FailedPayment): void;
  /** Its caller gave up, which proves nothing. */
  abandoned(): void;
}

/** What a failure may have to do with its payment. */
export interface FailedPayment {
  /** Whether the facilitator has said that it gets too many calls, which is not about the payment. */
  readonly isBusy?: boolean;
  /** Whether the payment is good, if nobody knew. Otherwise its failure is only the payer's. Never rejects. */
  readonly isGood?: Promise<boolean> | undefined;
}

/** Watches the calls of one kind to one facilitator. */
export interface CircuitBreaker {
  state(): BreakerState;
  /** A permit for one call, or `undefined` when calls are refused. */
  enter(call?: BreakerCall): Permit | undefined;
  /** Seconds until a call for a payer may pass, at least 1. 0 when closed. */
  retryAfterSeconds(payer?: string): number;
  /**
   * Seconds until a handler may run for a payer whose payment is settled afterwards; 0: now. While half-open, one handler
   * may run every few seconds.
   */
  admit(payer: string): number;
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

/** Creates a closed breaker. */
export function createCircuitBreaker(
  thresholds: BreakerThresholds,
  clock: Pick<Clock, "now">,
  options: BreakerOptions = {},
): CircuitBreaker {
  return new Breaker(thresholds, clock, options);
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

class Breaker implements CircuitBreaker {
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

  constructor(thresholds: BreakerThresholds, clock: Pick<Clock, "now">, options: BreakerOptions) {
    this.#thresholds = thresholds;
    this.#clock = clock;
    this.#options = options;
  }

  state(): BreakerState {
    if (this.#openUntilMs === undefined) return "closed";
    return this.#clock.now() < this.#openUntilMs ? "open" : "half-open";
  }

  enter({ payer, isRetry = false }: BreakerCall = {}): Permit | undefined {
    if (this.#openUntilMs === undefined && this.#payers.size === 0)
      return new CallPermit(this, payer, isRetry ? "again" : "closed");
    const current = this.state();
    if (current === "open") return undefined;
    if (isRetry) return this.#enterAgain(payer, current);
    if (this.#failuresOf(payer, current) !== undefined) return undefined;
    if (current === "closed") return new CallPermit(this, payer, "closed");
    if (this.#probing) return undefined;
    this.#probing = true;
    return new CallPermit(this, payer, "probe");
  }

  retryAfterSeconds(payer?: string): number {
    const current = this.state();
    const { pausedUntilMs = 0, rememberedUntilMs = 0 } = this.#failuresOf(payer, current) ?? {};
    const payersMs = current === "half-open" ? rememberedUntilMs : pausedUntilMs;
    if (this.#openUntilMs === undefined && payersMs === 0) return 0;
    const untilMs = Math.max(this.#openUntilMs ?? 0, payersMs);
    return Math.max(Math.ceil((untilMs - this.#clock.now()) / 1000), 1);
  }

  admit(payer: string): number {
    if (this.#openUntilMs === undefined && this.#payers.size === 0) return 0;
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

  /** Beside the probe, so that a payment is resolved even if no other one comes. Only its success says anything. */
  #enterAgain(payer: string | undefined, current: BreakerState): Permit | undefined {
    if (current === "closed") return new CallPermit(this, payer, "again");
    if (this.#retrying) return undefined;
    this.#retrying = true;
    return new CallPermit(this, payer, "again beside the probe");
  }

  /** A call has ended. */
  end(way: Way): void {
    if (way === "probe") this.#probing = false;
    if (way === "again beside the probe") this.#retrying = false;
  }

  /** A call got a valid response. */
  close(payer: string | undefined): void {
    if (this.#failures.size > 0) this.#failures.clear();
    this.#openUntilMs = undefined;
    if (payer !== undefined) this.#payers.delete(payer);
  }

  failed(failure: Failure, isGood: Promise<boolean> | undefined): void {
    if (failure.cause !== undefined) this.#blame(failure.cause, failure.retryAfterSeconds);
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

  #count({ cause, isBusy, isProbe, retryAfterSeconds }: Failure): void {
    const isHalfOpen = isProbe && this.#openUntilMs !== undefined;
    if (this.#openUntilMs !== undefined && !isHalfOpen) return;
    this.#failures.set(cause ?? Symbol("no payer"), cause !== undefined && !isBusy);
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
    if (isClosing) this.close(undefined);
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

/** How a call came to be made. */
type Way = "closed" | "probe" | "again" | "again beside the probe";

class CallPermit implements Permit {
  readonly #breaker: Breaker;
  readonly #payer: string | undefined;
  readonly #way: Way;

  constructor(breaker: Breaker, payer: string | undefined, way: Way) {
    this.#breaker = breaker;
    this.#payer = payer;
    this.#way = way;
  }

  responded(): void {
    if (this.#way !== "closed") this.#breaker.end(this.#way);
    this.#breaker.close(this.#payer);
  }

  failed(
    retryAfterSeconds: number | undefined,
    isUnreachable = false,
    { isBusy = false, isGood }: FailedPayment = {},
  ): void {
    this.#breaker.end(this.#way);
    if (this.#way !== "closed" && this.#way !== "probe") return;
    // A call that began while closed says nothing once the breaker is open. A probe does.
    const isProbe = this.#way === "probe";
    const cause = isUnreachable ? undefined : this.#payer;
    this.#breaker.failed({ cause, isBusy, isProbe, retryAfterSeconds }, isGood);
  }

  abandoned(): void {
    this.#breaker.end(this.#way);
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
