import { expect, test } from "vitest";
import { CallQueue } from "./call-queue.js";
import { createManualClock, quiet } from "./pool.fixture.js";

const LIMITS = { inFlight: 8, waiting: 16 };

/** Enters several times. The list has the sources in the order in which they began. */
function createRoom() {
  const clock = createManualClock();
  const queue = new CallQueue(LIMITS, { longestWaitMs: 5_000, clock });
  const begun: string[] = [];
  const refused: string[] = [];
  const enter = async (source: string, count: number) => {
    for (let at = 0; at < count; at++) {
      void Promise.resolve(queue.enter(source)).then((isIn) => void (isIn ? begun : refused).push(source));
    }
    await quiet();
  };
  return { clock, queue, begun, refused, enter };
}

const countOf = (list: readonly string[], source: string) => list.filter((each) => each === source).length;

test("one source has half of the places in flight and half of those that wait", async () => {
  const { begun, refused, enter } = createRoom();
  await enter("a", 20);
  expect([begun.length, refused.length]).toEqual([4, 8]);
});

test("a newcomer begins at once while others wait", async () => {
  const { begun, enter } = createRoom();
  await enter("a", 20);
  await enter("b", 20);
  await enter("c", 1);
  expect([countOf(begun, "a"), countOf(begun, "b"), countOf(begun, "c")]).toEqual([4, 2, 1]);
});

test("waiting sources take turns", async () => {
  const { queue, begun, enter } = createRoom();
  for (const source of ["a", "b", "c", "d", "e", "f", "g", "h"]) await enter(source, 1);
  await enter("x", 3);
  await enter("y", 2);
  for (const source of ["a", "b", "c", "d", "e", "f"]) queue.leave(source);
  await quiet();
  expect(begun.slice(8)).toEqual(["x", "y", "x", "y"]);
});

test("a call that waits too long is refused, and takes no place", async () => {
  const { clock, queue, begun, refused, enter } = createRoom();
  await enter("a", 5);
  await clock.advance(5_000);
  expect([begun.length, refused.length]).toEqual([4, 1]);
  queue.leave("a");
  await enter("a", 1);
  expect([begun.length, refused.length, clock.pendingMs.length]).toEqual([5, 1, 0]);
});

test("places close when the facilitator asks for fewer calls, and open again as it responds", async () => {
  const { queue, begun, enter } = createRoom();
  const call = async (ending: "responded" | "too_many") => {
    await enter("x", 1);
    queue.leave("x", ending);
  };
  for (let at = 0; at < 5; at++) await call("too_many");
  await enter("a", 1);
  await enter("b", 1);
  expect(begun.slice(5)).toEqual(["a"]);
  queue.leave("a", "responded");
  await quiet();
  expect(begun.slice(5)).toEqual(["a", "b"]);
  queue.leave("b", "responded");
  for (let at = 0; at < 20; at++) await call("responded");
  await enter("c", 20);
  expect(countOf(begun, "c")).toBe(4);
});
