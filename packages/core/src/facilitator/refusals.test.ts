import { expect, test } from "vitest";
import { Refusals } from "./refusals.js";

function create() {
  let nowMs = 1_000_000;
  const refusals = new Refusals({ now: () => nowMs });
  const refuse = (...payers: string[]) => {
    for (const payer of payers) refusals.note("402", payer);
  };
  const wait = (ms: number) => {
    nowMs += ms;
  };
  return { refusals, refuse, wait };
}

test("are for all after three payers, and not after one, however often", () => {
  const { refusals, refuse } = create();
  refuse("a", "a", "a", "b");
  expect([refusals.areAny, refusals.areForAll]).toEqual([true, false]);
  refuse("c");
  expect([refusals.areForAll, refusals.isPausing]).toEqual([true, true]);
});

test("are not for all while they differ", () => {
  const { refusals, refuse } = create();
  refuse("a", "b");
  refusals.note("409", "c");
  expect(refusals.areForAll).toBe(false);
  refuse("d");
  expect(refusals.areForAll).toBe(true);
});

test("are forgotten after a success", () => {
  const { refusals, refuse } = create();
  refuse("a", "b");
  refusals.clear();
  refuse("c");
  expect([refusals.areAny, refusals.areForAll]).toEqual([true, false]);
});

test("pause for 30 seconds, and twice as long after each trial, at most an hour", () => {
  const { refusals, refuse, wait } = create();
  refuse("a", "b", "c");
  for (const seconds of [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]) {
    wait(seconds * 1000 - 1);
    refusals.begin("settle", false);
    expect(refusals.isPausing).toBe(true);
    wait(1);
    expect(refusals.isPausing).toBe(false);
    refusals.begin("settle", true);
    expect(refusals.isPausing).toBe(false);
    refusals.begin("settle", false);
    refuse("d");
  }
});
