/**
 * Deadlines: no call to a facilitator waits for ever, wherever the facilitator lives.
 *
 * @module
 */
import { FacilitatorError } from "../errors.js";
import type { CallOptions, Facilitator } from "./facilitator.js";

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
    verify: (request) => within("verify", deadlines.verifyMs, (options) => facilitator.verify(request, options)),
    settle: (request) => within("settle", deadlines.settleMs, (options) => facilitator.settle(request, options)),
    supported: () => within("supported", deadlines.supportedMs, (options) => facilitator.supported(options)),
  };
}

async function within<T>(
  operation: "verify" | "settle" | "supported",
  deadlineMs: number,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(timeout(operation, deadlineMs));
      controller.abort();
    }, deadlineMs);
  });
  try {
    return await Promise.race([call({ signal: controller.signal }), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function timeout(operation: "verify" | "settle" | "supported", deadlineMs: number): FacilitatorError {
  return new FacilitatorError(`facilitator did not answer ${operation} within ${deadlineMs} ms`, {
    code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
    operation,
    outcome: operation === "settle" ? "unknown" : "none",
  });
}
