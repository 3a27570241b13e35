/**
 * Deadlines: no call to a facilitator waits for ever, wherever the facilitator lives.
 *
 * @module
 */
import { FacilitatorError } from "../errors.js";
import type { Facilitator } from "./facilitator.js";
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
    verify: (request, options) => {
      const limits = { operation: "verify", deadlineMs: deadlines.verifyMs, signal: options?.signal } as const;
      return within(limits, (signal) => facilitator.verify(request, { ...options, signal }));
    },
    settle: (request, options) => {
      const limits = { operation: "settle", deadlineMs: deadlines.settleMs, signal: options?.signal } as const;
      return within(limits, (signal) => facilitator.settle(request, { ...options, signal }));
    },
    supported: (options) => {
      const limits = { operation: "supported", deadlineMs: deadlines.supportedMs, signal: options?.signal } as const;
      return within(limits, (signal) => facilitator.supported({ ...options, signal }));
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

async function within<T>(limits: Limits, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { operation, deadlineMs, signal } = limits;
  if (signal?.aborted) throw unanswered(operation, GIVEN_UP, "none");
  const controller = new AbortController();
  let [giveUp, runOver] = [() => {}, () => {}];
  const ended = new Promise<never>((_, reject) => {
    const end = (when: string) => {
      reject(unanswered(operation, when, operation === "settle" ? "unknown" : "none"));
      controller.abort();
    };
    giveUp = () => end(GIVEN_UP);
    runOver = () => end(`within ${deadlineMs} ms`);
  });
  const timer = setTimeout(runOver, deadlineMs);
  // What is asked in the background keeps no process alive.
  if (operation === "supported") timer.unref();
  signal?.addEventListener("abort", giveUp);
  try {
    return await Promise.race([call(controller.signal), ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

function unanswered(operation: Operation, when: string, outcome: "none" | "unknown"): FacilitatorError {
  return new FacilitatorError(`facilitator did not answer ${operation} ${when}`, {
    code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
    operation,
    outcome,
  });
}
