/**
 * Deadlines: no call to a facilitator waits for ever, wherever the facilitator lives.
 *
 * @module
 */
import { type Alarm, setAlarm } from "../alarms.js";
import { FacilitatorError } from "../errors.js";
import { LazyAbort } from "../lazy-abort.js";
import type { CallOptions, Facilitator } from "./facilitator.js";
import type { Operation } from "./http-failures.js";

/** How long each call may take, in milliseconds. */
export interface Deadlines {
  /** Default 5000. */
  readonly verifyMs: number;
  /** Default 30000: a settlement waits for a block. */
  readonly settleMs: number;
  /** Default 5000. */
  readonly supportedMs: number;
}

/** Used where a seller says nothing. */
export const DEFAULT_DEADLINES: Deadlines = Object.freeze({ verifyMs: 5_000, settleMs: 30_000, supportedMs: 5_000 });

/**
 * Puts deadlines on a facilitator. A call that runs over rejects with `ERR_FAREBOX_FACILITATOR_TIMEOUT`, whose outcome
 * for `settle` is `"unknown"`: the money may have moved.
 */
export function withDeadlines(facilitator: Facilitator, deadlines: Deadlines): Facilitator {
  return {
    verify: (request, { signal } = {}) => {
      const limits = { operation: "verify", deadlineMs: deadlines.verifyMs, signal } as const;
      return within(limits, (options) => facilitator.verify(request, options));
    },
    settle: (request, { signal } = {}) => {
      const limits = { operation: "settle", deadlineMs: deadlines.settleMs, signal } as const;
      return within(limits, (options) => facilitator.settle(request, options));
    },
    supported: ({ signal } = {}) => {
      const limits = { operation: "supported", deadlineMs: deadlines.supportedMs, signal } as const;
      return within(limits, (options) => facilitator.supported(options));
    },
  };
}

const GIVEN_UP = "before its caller gave up";

interface Limits {
  readonly operation: Operation;
  readonly deadlineMs: number;
  /** The caller's own: it may give up before. */
  readonly signal: AbortSignal | undefined;
}

function within<T>(limits: Limits, call: (options: CallOptions) => Promise<T>): Promise<T> {
  const { operation, signal } = limits;
  if (signal?.aborted) return Promise.reject(unanswered(operation, GIVEN_UP, "none"));
  return new Promise((resolve, reject) => {
    const limited = new LimitedCall(limits, reject);
    answerOf(call, limited.theirs).then(
      (answered) => {
        limited.over();
        resolve(answered);
      },
      (error) => {
        limited.over();
        reject(error);
      },
    );
  });
}

/** A call under way, which ends with its deadline, or when its caller gives up. */
class LimitedCall {
  readonly theirs = new LazyAbort();
  readonly #limits: Limits;
  readonly #reject: (error: FacilitatorError) => void;
  readonly #alarm: Alarm;
  #ignore: (() => void) | undefined;

  constructor(limits: Limits, reject: (error: FacilitatorError) => void) {
    this.#limits = limits;
    this.#reject = reject;
    // What is asked in the background keeps no process alive.
    const kind = limits.operation === "supported" ? "unref" : "ref";
    this.#alarm = setAlarm(() => this.#end(`within ${limits.deadlineMs} ms`), limits.deadlineMs, kind);
    if (limits.signal !== undefined) this.#heed(limits.signal);
  }

  over(): void {
    this.#alarm.stop();
    this.#ignore?.();
  }

  #heed(signal: AbortSignal): void {
    const giveUp = () => this.#end(GIVEN_UP);
    signal.addEventListener("abort", giveUp);
    this.#ignore = () => signal.removeEventListener("abort", giveUp);
  }

  #end(when: string): void {
    const { operation } = this.#limits;
    this.over();
    this.#reject(unanswered(operation, when, operation === "settle" ? "unknown" : "none"));
    this.theirs.abort();
  }
}

/** A seller's own facilitator may throw, or yield what is no promise. */
function answerOf<T>(call: (options: CallOptions) => Promise<T>, options: CallOptions): Promise<T> {
  try {
    return Promise.resolve(call(options));
  } catch (error) {
    return Promise.reject(error);
  }
}

function unanswered(operation: Operation, when: string, outcome: "none" | "unknown"): FacilitatorError {
  return new FacilitatorError(`facilitator did not answer ${operation} ${when}`, {
    code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
    operation,
    outcome,
  });
}
