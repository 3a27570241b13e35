/**
 * A time limit for each call to a facilitator, which may be in this process and never respond.
 *
 * @module
 */
import { FacilitatorError } from "../errors.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import type { Operation } from "./http-responses.js";

/** A call, and when it ends at the latest. */
export interface LimitedCall {
  readonly operation: Operation;
  /** `undefined` for `supported`. */
  readonly request: FacilitatorRequest | undefined;
  readonly limitMs: number;
  /** The caller's own signal: it may give up earlier. */
  readonly signal: AbortSignal | undefined;
}

const GIVEN_UP = "before its caller gave up";

/**
 * Makes a call that ends at its limit, or when its caller gives up, whichever is first. It then rejects with
 * `ERR_FAREBOX_FACILITATOR_TIMEOUT`. The outcome is `"unknown"` for `settle`, because the money may have moved, and `"none"` otherwise.
 */
export function askInTime(
  facilitator: Facilitator,
  { operation, request, limitMs, signal }: LimitedCall,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) throw timedOut(operation, GIVEN_UP, "none");
    const options = Object.defineProperty({}, "signal", SIGNAL) as CallOptions;
    const responded = (response: unknown) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
      resolve(response);
    };
    const failed = (error: unknown) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
      reject(error);
    };
    const end = (when: string) => {
      failed(timedOut(operation, when, operation === "settle" ? "unknown" : "none"));
      controllerOf(options).abort();
    };
    const giveUp = () => end(GIVEN_UP);
    signal?.addEventListener("abort", giveUp);
    const timer = setTimeout(() => end(`within ${limitMs} ms`), limitMs);
    // `/supported` is fetched in the background and must not keep the process alive.
    if (operation === "supported") timer.unref();
    try {
      const isSupported = operation === "supported" || request === undefined;
      const sent = isSupported ? facilitator.supported(options) : facilitator[operation](request, options);
      // A seller's own facilitator may return a value that is not a promise.
      Promise.resolve(sent).then(responded, failed);
    } catch (error) {
      failed(error);
    }
  });
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
