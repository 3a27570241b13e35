import { AsyncLocalStorage } from "node:async_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FacilitatorError } from "../errors.js";
import { type LimitedCall, TimeLimit } from "./call.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const LIMIT_MS = 100;

/** Calls by name, and the names of those that were cut short. */
function createRecorder(limit = new TimeLimit("settle", LIMIT_MS)) {
  const cut: string[] = [];
  const errors: FacilitatorError[] = [];
  const begin = (name: string, signal?: AbortSignal): LimitedCall => {
    const call: LimitedCall = {
      ...{ signal, isOver: false, given: undefined, startedAt: 0 },
      ...{ previous: undefined, next: undefined, giveUp: undefined },
      cutShort(error) {
        cut.push(name);
        errors.push(error);
      },
    };
    limit.begin(call);
    return call;
  };
  return { limit, cut, errors, begin };
}

function watchTimers() {
  const set = vi.spyOn(globalThis, "setTimeout");
  return {
    count: () => set.mock.calls.length,
    keepsProcess: () => (set.mock.results.at(-1)?.value as NodeJS.Timeout | undefined)?.hasRef(),
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("each call ends at its own limit, in the order in which they began", () => {
  const { cut, errors, begin } = createRecorder();
  for (const name of ["a", "b", "c"]) {
    begin(name);
    vi.advanceTimersByTime(30);
  }
  const seen: string[][] = [];
  for (const ms of [9, 1, 29, 1, 29, 1]) {
    vi.advanceTimersByTime(ms);
    seen.push([...cut]);
  }
  expect(seen).toEqual([[], ["a"], ["a"], ["a", "b"], ["a", "b"], ["a", "b", "c"]]);
  expect(new Set(errors.map(({ code, outcome }) => `${code} ${outcome}`))).toEqual(
    new Set(["ERR_FAREBOX_FACILITATOR_TIMEOUT unknown"]),
  );
  expect(vi.getTimerCount()).toBe(0);
});

test.each([0, 1, 2])("calls keep their limits when number %i of three ends in time", (ending) => {
  const { limit, cut, begin } = createRecorder();
  const calls = ["a", "b", "c"].map((name) => {
    const call = begin(name);
    vi.advanceTimersByTime(20);
    return call;
  });
  limit.end(calls[ending]!);
  const left = ["a", "b", "c"].filter((_, at) => at !== ending);
  for (let atMs = 60; atMs <= 160; atMs++) {
    expect(cut).toEqual(left.filter((name) => "abc".indexOf(name) * 20 + LIMIT_MS <= atMs));
    vi.advanceTimersByTime(1);
  }
  expect(vi.getTimerCount()).toBe(0);
});

test("calls one after the other share one timer, and so do calls that end out of order", () => {
  const timers = watchTimers();
  const { limit, cut, begin } = createRecorder();
  for (let at = 0; at < 1_000; at++) limit.end(begin(`${at}`));
  const [first, second, third] = ["a", "b", "c"].map((name) => begin(name));
  for (const call of [second, first, third]) limit.end(call!);
  expect(timers.count()).toBe(1);
  vi.advanceTimersByTime(1_000);
  expect([cut, timers.count(), vi.getTimerCount()]).toEqual([[], 1, 0]);
});

test("a call that begins alone ends at its limit, although no clock but that of timers moves", () => {
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { limit, cut, begin } = createRecorder();
  limit.end(begin("first"));
  vi.advanceTimersByTime(60);
  begin("second");
  vi.advanceTimersByTime(LIMIT_MS - 1);
  expect(cut).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(cut).toEqual(["second"]);
});

test("a call has a timer that fires, although a test has put another clock in the place of the one that was there", () => {
  const { limit, cut, begin } = createRecorder();
  limit.end(begin("first"));
  vi.useRealTimers();
  limit.end(begin("second"));
  vi.useFakeTimers();
  begin("third");
  vi.advanceTimersByTime(LIMIT_MS);
  expect(cut).toEqual(["third"]);
});

test("a timer that was left behind for another one ends no call", () => {
  const { limit, cut, begin } = createRecorder();
  limit.end(begin("first"));
  vi.advanceTimersByTime(60);
  // As a test does that replaces the function once more.
  vi.spyOn(globalThis, "setTimeout");
  begin("second");
  vi.advanceTimersByTime(LIMIT_MS - 1);
  expect(cut).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(cut).toEqual(["second"]);
});

test("a call that begins while another one is cut short has its whole limit", () => {
  const { limit, cut, begin } = createRecorder();
  const call = begin("first");
  call.cutShort = () => void begin("second");
  vi.advanceTimersByTime(LIMIT_MS);
  vi.advanceTimersByTime(LIMIT_MS - 1);
  expect(cut).toEqual([]);
  limit.end(begin("third"));
  vi.advanceTimersByTime(1);
  expect(cut).toEqual(["second"]);
});

test("a caller that gives up ends its call alone, and its signal is not listened to any more", () => {
  const { limit, cut, begin } = createRecorder();
  const caller = new AbortController();
  const listened = vi.spyOn(caller.signal, "removeEventListener");
  begin("first");
  begin("second", caller.signal);
  limit.end(begin("third", caller.signal));
  caller.abort();
  expect(cut).toEqual(["second"]);
  expect(listened).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(LIMIT_MS);
  expect(cut).toEqual(["second", "first"]);
});

test("a caller that has given up before begins no call, and others keep their limits", () => {
  const { limit, cut, begin } = createRecorder();
  begin("first");
  begin("second");
  expect(() => begin("third", AbortSignal.abort())).toThrow(
    "facilitator did not respond to settle before its caller gave up",
  );
  const never = { ...begin("fourth"), isOver: false, given: undefined };
  limit.end(never);
  vi.advanceTimersByTime(LIMIT_MS);
  expect(cut).toEqual(["first", "second", "fourth"]);
});

test("the timer keeps the process alive while a call is under way, unless it is in the background", () => {
  const timers = watchTimers();
  const { limit, begin } = createRecorder();
  for (let at = 0; at < 2; at++) {
    const [first, second] = [begin("first"), begin("second")];
    expect(timers.keepsProcess()).toBe(true);
    limit.end(first);
    expect(timers.keepsProcess()).toBe(true);
    limit.end(second);
    expect(timers.keepsProcess()).toBe(false);
  }
  const background = createRecorder(new TimeLimit("supported", LIMIT_MS));
  for (let at = 0; at < 2; at++) {
    const call = background.begin("call");
    expect(timers.keepsProcess()).toBe(false);
    background.limit.end(call);
  }
  expect(timers.count()).toBe(2);
});

test("nothing is kept of a call that is over, nor of the request that it was for", async () => {
  vi.useRealTimers();
  const requests = new AsyncLocalStorage<object>();
  const { limit, begin } = createRecorder(new TimeLimit("settle", 600_000));
  const kept = (() => {
    const first = { of: "the first call" };
    return [
      new WeakRef(first),
      ...requests.run(first, () => {
        const [one, two, three] = ["one", "two", "three"].map((name) => begin(name));
        const all = [one, two, three].map((call) => new WeakRef(call!));
        for (const call of [two, one, three]) limit.end(call!);
        return all;
      }),
    ];
  })();
  await new Promise(setImmediate);
  collectGarbage();
  expect(kept.map((one) => one.deref())).toEqual([undefined, undefined, undefined, undefined]);
});
