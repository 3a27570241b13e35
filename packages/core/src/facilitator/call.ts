/**
 * A call to a facilitator: what it is about, and when it ends at the latest. A facilitator may be in this process, and never respond.
 *
 *   Call        about a payment, in a pool
 *   TimeLimit   ends calls that are not over in time. All calls of one limit end in the order in which they began, so they share one timer
 *   askInTime   a call of which nothing else is noted
 *
 * @module
 */
import { AsyncResource } from "node:async_hooks";
import { FacilitatorError } from "../errors.js";
import type { CallQueue } from "./call-queue.js";
import type { CircuitBreaker, Way } from "./circuit-breaker.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import type { Operation } from "./http-responses.js";
import type { SoleMemory } from "./payment-memory.js";

/**
 * Whether a signature that was not checked yet is not the payer's after all. Asked when the call had to wait for a place, which
 * only checks if others were found to be bad meanwhile, and when `verify` has failed.
 */
export type LateCheck = (when: "waited" | "failed") => boolean;

/** The options of a call about one payment. */
export interface PoolCallOptions extends CallOptions {
  /**
   * The identity of the payment, from its scheme. Default: a digest of the scheme's payload, in which the same payment spelled
   * differently counts as another one.
   */
  readonly payment?: string;
  /** The payer. Settlements that fail for one payer do not pause those of others. Default: `payment`. */
  readonly payer?: string;
  /**
   * The source of a payment to verify, which gets its share of the calls. Default: all payments are of one source that is never paused.
   * Read only when calls are many, or have failed: a getter may find it then.
   */
  readonly source?: string | undefined;
  /** Whether the signature of a payment to verify counts as the payer's. Others have few calls of their own. Default `true`. */
  readonly isSigned?: boolean;
  /** For a signature that was not checked yet. A failure with a forged one proves nothing about the facilitator. */
  readonly isForged?: LateCheck | undefined;
  /** `false`: nobody has verified a payment that is to be settled. Its failure counts only if it is good. Default `true`. */
  readonly isVerified?: boolean | undefined;
  /** The name of the only facilitator to ask. According to the record, an earlier settlement may have reached it. */
  readonly facilitator?: string;
}

/** Calls of one kind to one facilitator, with a circuit breaker of their own. */
export interface Lane<T> {
  readonly operation: "verify" | "settle";
  /** How long a call may take. It waits for its place as long. */
  readonly limit: TimeLimit;
  readonly breaker: CircuitBreaker;
  /** `undefined`: calls need no place. A payment that is settled had one when it was verified. */
  readonly queue: CallQueue | undefined;
  /** Where a payment goes whose signature turns out to be forged while it waits. */
  readonly forForged: Lane<T> | undefined;
  /** Returns `undefined` for an invalid response. */
  readonly read: (response: unknown, network: string) => T | undefined;
  /** Called when a call is over before the facilitator has responded. */
  readonly onCutShort: (error: FacilitatorError, call: Call<unknown>) => void;
}

/** A call whose time is limited. */
export interface LimitedCall {
  /** The caller's own signal: it may give up earlier. */
  readonly signal: AbortSignal | undefined;
  /** Whether nobody waits for the facilitator any more. */
  isOver: boolean;
  /** What the facilitator gets. */
  given: CallOptions | undefined;
  /** When it began, by `performance.now()`; 0 while no other was under way. */
  startedAt: number;
  previous: LimitedCall | undefined;
  next: LimitedCall | undefined;
  giveUp: (() => void) | undefined;
  cutShort(error: FacilitatorError): void;
}

/**
 * A call of a pool about a payment. It is kept by nobody when it is over.
 *
 * Its fields are only declared: V8 would define them by another function, before the constructor sets them.
 */
export class Call<T> implements LimitedCall {
  /** Ends when the call does. Rejects with a `FacilitatorError` only; one that names no facilitator says that nothing was sent. */
  declare readonly promise: Promise<T>;
  declare readonly resolve: (response: unknown) => void;
  declare readonly reject: (error: unknown) => void;
  /** Another one, if the payment turns out to be forged while it waits. */
  declare lane: Lane<T>;
  declare readonly request: FacilitatorRequest;
  declare readonly options: PoolCallOptions;
  declare readonly signal: AbortSignal | undefined;
  /** The identity of a payment to settle; `""` to verify. */
  declare readonly payment: string;
  /** Whether an earlier call for the same payment has an unknown outcome. */
  declare isRetry: boolean;
  /** Where the end of the settlement is noted, if no other facilitator may be asked after it. */
  declare memory: SoleMemory | undefined;
  /** `undefined` until the call is made. */
  declare way: Way | undefined;
  /** When it was made, in Unix milliseconds. */
  declare madeAtMs: number;
  declare isOver: boolean;
  declare given: CallOptions | undefined;
  declare startedAt: number;
  declare previous: LimitedCall | undefined;
  declare next: LimitedCall | undefined;
  declare giveUp: (() => void) | undefined;
  declare private knownSource: string | undefined;

  constructor(lane: Lane<T>, request: FacilitatorRequest, options: PoolCallOptions, payment = "") {
    this.promise = new Promise<T>(keepEnds);
    this.resolve = resolveLast;
    this.reject = rejectLast;
    resolveLast = rejectLast = endNothing;
    this.lane = lane;
    this.request = request;
    this.options = options;
    this.signal = options.signal;
    this.payment = payment;
    this.isRetry = false;
    this.memory = undefined;
    this.way = undefined;
    this.madeAtMs = 0;
    this.isOver = false;
    this.given = undefined;
    this.startedAt = 0;
    this.previous = undefined;
    this.next = undefined;
    this.giveUp = undefined;
    this.knownSource = undefined;
  }

  /** The payer, or another source of the payment. `undefined`: a failure of this call has nothing to do with a payer. */
  get source(): string | undefined {
    const { options, payment } = this;
    this.knownSource ??= payment === "" ? options.source : (options.payer ?? payment).toLowerCase();
    return this.knownSource;
  }

  /** Later, as with a call that fails: first the calls end whose time is over, and then comes what that leads to. */
  cutShort(error: FacilitatorError): void {
    queueMicrotask(() => this.lane.onCutShort(error, this));
  }
}

/** What ends the promise that was made last. One function takes it for all calls, where each would need a closure. */
let resolveLast: (response: unknown) => void = endNothing;
let rejectLast: (error: unknown) => void = endNothing;

function keepEnds<T>(resolve: (response: T) => void, reject: (error: unknown) => void): void {
  resolveLast = resolve as (response: unknown) => void;
  rejectLast = reject;
}

function endNothing(): void {}

const GIVEN_UP = "before its caller gave up";

/**
 * Ends calls at a limit, or when their callers give up, whichever is first: with `ERR_FAREBOX_FACILITATOR_TIMEOUT`. The outcome is
 * `"unknown"` for `settle`, because the money may have moved, and `"none"` otherwise.
 *
 * The timer is that of the call under way that began first. It stays armed when that call ends, without keeping the process alive, and
 * then waits for the call that is first by now. A call that begins alone has the whole timer.
 */
export class TimeLimit {
  readonly #operation: Operation;
  readonly #ms: number;
  #first: LimitedCall | undefined;
  #last: LimitedCall | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerMs = 0;
  /** The `setTimeout` that has started the timer: a test may put another one in its place. */
  #startedBy: typeof setTimeout | undefined;
  /** The call that is over when the timer fires, if it is still under way. */
  #armedFor: LimitedCall | undefined;

  constructor(operation: Operation, ms: number) {
    this.#operation = operation;
    this.#ms = ms;
  }

  /**
   * A call begins. Returns what its facilitator gets.
   *
   * @throws {@link FacilitatorError} if its caller has given up before
   */
  begin(call: LimitedCall): CallOptions {
    const { signal } = call;
    if (signal !== undefined) this.#listen(call, signal);
    const last = this.#last;
    this.#last = call;
    if (last === undefined) {
      this.#first = call;
      if (this.#timerMs === this.#ms && this.#startedBy === setTimeout) {
        this.#armedFor = call;
        // `/supported` is fetched in the background and must not keep the process alive.
        if (this.#operation !== "supported") this.#timer?.ref();
        this.#timer?.refresh();
      } else this.#arm(call, this.#ms);
    } else {
      call.startedAt = performance.now();
      call.previous = last;
      last.next = call;
    }
    call.given = Object.defineProperty({}, "signal", SIGNAL) as CallOptions;
    return call.given;
  }

  /** A call is over. Does nothing if it was before, or if it has not begun. */
  end(call: LimitedCall): void {
    if (call.isOver || call.given === undefined) return;
    const { previous, next, giveUp } = call;
    call.isOver = true;
    if (giveUp !== undefined) call.signal?.removeEventListener("abort", giveUp);
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    call.previous = call.next = undefined;
    if (this.#armedFor === call) this.#armedFor = undefined;
    if (this.#first === undefined) this.#timer?.unref();
  }

  #listen(call: LimitedCall, signal: AbortSignal): void {
    if (signal.aborted) throw timedOut(this.#operation, GIVEN_UP, "none");
    call.giveUp = () => this.#cutShort(call, GIVEN_UP);
    signal.addEventListener("abort", call.giveUp);
  }

  /** Of a timer that was left behind, nothing is heard. It is not of the request that needs it first, whose context it would keep. */
  #arm(call: LimitedCall, ms: number): void {
    const timer = NO_REQUEST.runInAsyncScope(() => setTimeout(() => this.#timer === timer && this.#fire(), ms));
    if (this.#operation === "supported") timer.unref();
    this.#timer = timer;
    this.#timerMs = ms;
    this.#startedBy = setTimeout;
    this.#armedFor = call;
  }

  #fire(): void {
    const within = `within ${this.#ms} ms`;
    this.#timer = undefined;
    this.#timerMs = 0;
    // Whatever a clock says: this is what the timer was for.
    if (this.#armedFor !== undefined) this.#cutShort(this.#armedFor, within);
    for (let call = this.#first; call !== undefined && call !== this.#armedFor; call = this.#first) {
      const leftMs = call.startedAt + this.#ms - performance.now();
      if (leftMs > 0) this.#arm(call, Math.ceil(leftMs));
      else this.#cutShort(call, within);
    }
  }

  #cutShort(call: LimitedCall, when: string): void {
    this.end(call);
    call.cutShort(timedOut(this.#operation, when, this.#operation === "settle" ? "unknown" : "none"));
    if (call.given !== undefined) controllerOf(call.given).abort();
  }
}

/** The place of no request. A timer keeps the asynchronous context in which it was started. */
const NO_REQUEST = new AsyncResource("farebox.time-limit");

/** Asks a facilitator what it supports, or about a payment. */
export function askInTime(
  facilitator: Facilitator,
  { operation, request, limit, signal }: AskedInTime,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call: LimitedCall = {
      ...{ signal, isOver: false, given: undefined, startedAt: 0 },
      ...{ previous: undefined, next: undefined, giveUp: undefined },
      cutShort: reject,
    };
    const options = limit.begin(call);
    const ending = (settle: (value: unknown) => void) => (value: unknown) => {
      limit.end(call);
      settle(value);
    };
    try {
      const isSupported = operation === "supported" || request === undefined;
      const sent = isSupported ? facilitator.supported(options) : facilitator[operation](request, options);
      // A seller's own facilitator may return a value that is not a promise.
      Promise.resolve(sent).then(ending(resolve), ending(reject));
    } catch (error) {
      ending(reject)(error);
    }
  });
}

/** A question to a facilitator. */
export interface AskedInTime {
  readonly operation: Operation;
  /** `undefined` for `supported`. */
  readonly request: FacilitatorRequest | undefined;
  readonly limit: TimeLimit;
  readonly signal: AbortSignal | undefined;
}

/**
 * The signal is made when it is asked for: few facilitators in this process do. Shared by all calls: V8 keeps a getter of one call, with
 * all that it holds, until the next full collection. Enumerable, because a seller's facilitator may copy its options.
 */
const SIGNAL: PropertyDescriptor & ThisType<CallOptions> = {
  enumerable: true,
  get() {
    return controllerOf(this).signal;
  },
};

/** Of calls whose signal was asked for, or that ended early. */
const controllers = new WeakMap<CallOptions, AbortController>();

function controllerOf(options: CallOptions): AbortController {
  const controller = controllers.get(options) ?? new AbortController();
  controllers.set(options, controller);
  return controller;
}

function timedOut(operation: Operation, when: string, outcome: "none" | "unknown"): FacilitatorError {
  return new FacilitatorError(`facilitator did not respond to ${operation} ${when}`, {
    code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
    operation,
    outcome,
  });
}
