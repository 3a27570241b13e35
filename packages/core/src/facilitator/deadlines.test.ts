import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { FacilitatorError } from "../errors.js";
import { askInTime, TimeLimit } from "./call.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import { DEFAULT_DEADLINES } from "./pool-member.js";

const REQUEST = {} as FacilitatorRequest;
const RESPONSES = {
  verify: { isValid: true },
  settle: { success: true, transaction: "0x1", network: "eip155:1" },
  supported: { kinds: [], extensions: [], signers: {} },
} as const;

type Operation = keyof typeof RESPONSES;
const OPERATIONS = Object.keys(RESPONSES) as Operation[];

/** A facilitator with one behaviour for all calls, which keeps the signals that it got. */
function facilitatorThat(behave: (operation: Operation) => unknown) {
  const signals: AbortSignal[] = [];
  const respond = (operation: Operation, options?: CallOptions) => {
    signals.push(options!.signal!);
    return behave(operation) as Promise<never>;
  };
  const facilitator: Facilitator = {
    verify: (_, options) => respond("verify", options),
    settle: (_, options) => respond("settle", options),
    supported: (options) => respond("supported", options),
  };
  const limits = new Map(OPERATIONS.map((one) => [one, new TimeLimit(one, DEADLINES_MS[one])]));
  const call = (operation: Operation, { signal }: CallOptions = {}): Promise<unknown> => {
    const request = operation === "supported" ? undefined : REQUEST;
    return askInTime(facilitator, { operation, request, limit: limits.get(operation)!, signal });
  };
  return { call, signals };
}

const DEADLINES_MS = { verify: 100, settle: 200, supported: 300 };

/** The timers that were started. */
let started: () => NodeJS.Timeout[];

/** A timer may wait on for calls that have ended. It keeps no process alive, and starts no other. */
async function expectNothingLeft(): Promise<void> {
  expect(started().filter((timer) => timer.hasRef())).toEqual([]);
  const count = started().length;
  await vi.advanceTimersByTimeAsync(Math.max(...Object.values(DEADLINES_MS)));
  expect(vi.getTimerCount()).toBe(0);
  expect(started()).toHaveLength(count);
}

beforeEach(() => {
  vi.useFakeTimers();
  const set = vi.spyOn(globalThis, "setTimeout");
  started = () => set.mock.results.map(({ value }) => value as NodeJS.Timeout);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe.each(OPERATIONS)("%s with a deadline", (operation) => {
  test("passes the response on and leaves no timer behind that keeps the process alive", async () => {
    const { call, signals } = facilitatorThat(async (asked) => RESPONSES[asked]);
    await expect(call(operation)).resolves.toEqual(RESPONSES[operation]);
    await expectNothingLeft();
    expect(signals[0]?.aborted).toBe(false);
  });

  test("passes an error on unchanged", async () => {
    const error = new RangeError("of its own");
    await expect(facilitatorThat(() => Promise.reject(error)).call(operation)).rejects.toBe(error);
    await expectNothingLeft();
  });

  test("rejects when the facilitator throws", async () => {
    const { call } = facilitatorThat(() => {
      throw new RangeError("at once");
    });
    await expect(call(operation)).rejects.toThrow("at once");
    await expectNothingLeft();
  });

  test("accepts a response that is not a promise", async () => {
    await expect(facilitatorThat((asked) => RESPONSES[asked]).call(operation)).resolves.toEqual(RESPONSES[operation]);
  });

  test("ends a call at its deadline, aborts its signal, and rejects with the outcome", async () => {
    const { call, signals } = facilitatorThat(() => new Promise(() => {}));
    const failure = call(operation).catch((error: FacilitatorError) => error);
    await vi.advanceTimersByTimeAsync(DEADLINES_MS[operation] - 1);
    expect(signals[0]?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await failure).toMatchObject({
      name: "FacilitatorError",
      code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
      operation,
      outcome: operation === "settle" ? "unknown" : "none",
      message: `facilitator did not respond to ${operation} within ${DEADLINES_MS[operation]} ms`,
    });
    expect(signals[0]?.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("ends a call whose caller gives up, and aborts its signal", async () => {
    const { call, signals } = facilitatorThat(() => new Promise(() => {}));
    const caller = new AbortController();
    const failure = call(operation, { signal: caller.signal }).catch((error: FacilitatorError) => error);
    await vi.advanceTimersByTimeAsync(50);
    caller.abort();
    expect(await failure).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
      outcome: operation === "settle" ? "unknown" : "none",
      message: `facilitator did not respond to ${operation} before its caller gave up`,
    });
    expect(signals[0]?.aborted).toBe(true);
    await expectNothingLeft();
  });

  test("does not begin a call whose caller gave up before", async () => {
    const { call, signals } = facilitatorThat(async (asked) => RESPONSES[asked]);
    await expect(call(operation, { signal: AbortSignal.abort() })).rejects.toMatchObject({ outcome: "none" });
    expect(signals).toEqual([]);
  });

  test("ignores a call that fails after its deadline", async () => {
    const unheard: unknown[] = [];
    const listen = (reason: unknown) => unheard.push(reason);
    process.on("unhandledRejection", listen);
    const { call } = facilitatorThat(
      () => new Promise((_, reject) => void setTimeout(() => reject(new RangeError("late")), 1_000)),
    );
    const failure = call(operation).catch((error: FacilitatorError) => error.code);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await failure).toBe("ERR_FAREBOX_FACILITATOR_TIMEOUT");
    vi.useRealTimers();
    await new Promise(setImmediate);
    process.off("unhandledRejection", listen);
    expect(unheard).toEqual([]);
  });
});

test("a settlement has a longer default deadline, because it waits for a block", () => {
  expect(DEFAULT_DEADLINES).toEqual({ verifyMs: 5_000, settleMs: 30_000, supportedMs: 5_000, hookMs: 5_000 });
});
