import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TimeLimit } from "./time-limit.js";

/** How many timers were started since the test began, and the last of them. */
function watchTimers() {
  const started = vi.spyOn(globalThis, "setTimeout");
  return {
    count: () => started.mock.calls.length,
    keepsProcess: () => (started.mock.results.at(-1)?.value as NodeJS.Timeout | undefined)?.hasRef(),
  };
}

/** Calls that say when they have timed out, by name. */
function recorder() {
  const over: string[] = [];
  return { over, call: (name: string) => ({ timeOut: () => void over.push(name) }) };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("each call ends at its own limit, in the order in which they began", () => {
  const { over, call } = recorder();
  const limit = new TimeLimit(100);
  for (const name of ["a", "b", "c"]) {
    limit.begin(call(name));
    vi.advanceTimersByTime(30);
  }
  vi.advanceTimersByTime(9);
  expect(over).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(over).toEqual(["a"]);
  vi.advanceTimersByTime(29);
  expect(over).toEqual(["a"]);
  vi.advanceTimersByTime(1);
  expect(over).toEqual(["a", "b"]);
  vi.advanceTimersByTime(30);
  expect(over).toEqual(["a", "b", "c"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a call that ends in time is not ended, and the one behind it keeps its limit", () => {
  const { over, call } = recorder();
  const limit = new TimeLimit(100);
  const first = call("first");
  limit.begin(first);
  vi.advanceTimersByTime(60);
  limit.begin(call("second"));
  limit.end(first);
  vi.advanceTimersByTime(99);
  expect(over).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(over).toEqual(["second"]);
});

test("calls that end in time share one timer", () => {
  const timers = watchTimers();
  const { over, call } = recorder();
  const limit = new TimeLimit(100);
  for (let at = 0; at < 1_000; at++) {
    const one = call(`${at}`);
    limit.begin(one);
    limit.end(one);
  }
  expect(timers.count()).toBe(1);
  vi.advanceTimersByTime(1_000);
  expect([over, timers.count(), vi.getTimerCount()]).toEqual([[], 1, 0]);
});

test("the timer keeps the process alive while a call is under way, unless it is in the background", () => {
  const timers = watchTimers();
  const { call } = recorder();
  const limit = new TimeLimit(100);
  const one = call("one");
  for (let at = 0; at < 2; at++) {
    limit.begin(one);
    expect(timers.keepsProcess()).toBe(true);
    limit.end(one);
    expect(timers.keepsProcess()).toBe(false);
  }
  const background = new TimeLimit(100, true);
  for (let at = 0; at < 2; at++) {
    background.begin(one);
    expect(timers.keepsProcess()).toBe(false);
    background.end(one);
  }
});

test("a call that begins where another has timed out has a limit of its own", () => {
  const { over, call } = recorder();
  const limit = new TimeLimit(100);
  limit.begin({
    timeOut() {
      over.push("first");
      limit.begin(call("next"));
    },
  });
  vi.advanceTimersByTime(199);
  expect(over).toEqual(["first"]);
  vi.advanceTimersByTime(1);
  expect(over).toEqual(["first", "next"]);
});
