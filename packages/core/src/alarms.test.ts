import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setAlarm } from "./alarms.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Alarms by their delays; yields when each went off. */
function setAll(delays: readonly number[], kind: "ref" | "unref" = "unref") {
  const rang: [delayMs: number, afterMs: number][] = [];
  const startMs = performance.now();
  const alarms = delays.map((delayMs) =>
    setAlarm(() => rang.push([delayMs, performance.now() - startMs]), delayMs, kind),
  );
  return { rang, alarms };
}

test.each([0, 1, 999, 1_000, 1_001, 1_999, 2_000, 5_000, 30_000, 294_001])(
  "one of %i ms is on time",
  async (delayMs) => {
    // Wherever in a second it is set.
    for (const offsetMs of [0, 1, 250, 998]) {
      await vi.advanceTimersByTimeAsync(offsetMs);
      const { rang } = setAll([delayMs]);
      await vi.advanceTimersByTimeAsync(Math.max(delayMs - 1, 0));
      if (delayMs > 0) expect(rang).toEqual([]);
      await vi.advanceTimersByTimeAsync(2);
      expect(rang).toHaveLength(1);
    }
  },
);

test("each goes off by itself, in the order of their times", async () => {
  const { rang } = setAll([9_000, 1_500, 3_000, 1_200, 100, 3_000]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(rang.map(([delayMs]) => delayMs)).toEqual([100, 1_200, 1_500, 3_000, 3_000, 9_000]);
  for (const [delayMs, afterMs] of rang) expect(Math.abs(afterMs - delayMs)).toBeLessThanOrEqual(1);
});

test("what is stopped never happens: first, last or in between, before its last second or in it, and twice", async () => {
  const { rang, alarms } = setAll([5_000, 5_001, 5_002, 5_003, 5_004]);
  alarms[4]?.stop();
  alarms[0]?.stop();
  await vi.advanceTimersByTimeAsync(4_999);
  alarms[2]?.stop();
  alarms[2]?.stop();
  await vi.advanceTimersByTimeAsync(10);
  expect(rang.map(([delayMs]) => delayMs)).toEqual([5_001, 5_003]);
  for (const alarm of alarms) alarm.stop();
});

test("a thousand of them are one timer, which is gone a second after the last of them", async () => {
  const { alarms } = setAll(Array.from({ length: 1_000 }, (_, at) => 5_000 + at));
  expect(vi.getTimerCount()).toBe(1);
  for (const alarm of alarms) alarm.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("a tick that was taken away with its timers is made up for", async () => {
  setAll([5_000]);
  vi.useRealTimers();
  vi.useFakeTimers();
  await vi.advanceTimersByTimeAsync(60_000);
  const { rang } = setAll([5_000]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(rang).toHaveLength(1);
});

test("the process stays for those that are not unref, and for no longer", () => {
  vi.useRealTimers();
  const active = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = active();
  const { alarms: others } = setAll([5_000, 500]);
  expect(active()).toBe(before);
  const { alarms } = setAll([5_000, 6_000], "ref");
  expect(active()).toBe(before + 1);
  alarms[0]?.stop();
  expect(active()).toBe(before + 1);
  alarms[1]?.stop();
  expect(active()).toBe(before);
  for (const alarm of others) alarm.stop();
});
