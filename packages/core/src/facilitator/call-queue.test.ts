import { expect, test } from "vitest";
import { type Caller, CallQueue } from "./call-queue.js";
import { createManualClock, quiet } from "./pool.fixture.js";

const LIMITS = { inFlight: 8, waiting: 16 };

/** Enters several times. The list has the sources in the order in which they began. */
function createRoom() {
  const clock = createManualClock();
  const queue = new CallQueue(LIMITS, { longestWaitMs: 5_000, clock });
  const begun: string[] = [];
  const refused: string[] = [];
  const inFlight: Caller[] = [];
  const enter = async (source: string, count: number) => {
    for (let at = 0; at < count; at++) {
      const caller = { source };
      void Promise.resolve(queue.enter(caller)).then((isIn) => {
        (isIn ? begun : refused).push(source);
        if (isIn) inFlight.push(caller);
      });
    }
    await quiet();
  };
  /** The call of a source that is in flight for longest leaves. */
  const leave = (source: string, ending?: "responded" | "too_many") => {
    const [caller] = inFlight.splice(
      inFlight.findIndex((one) => one.source === source),
      1,
    );
    queue.leave(caller!, ending);
  };
  return { clock, queue, begun, refused, enter, leave };
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
  const { begun, enter, leave } = createRoom();
  for (const source of ["a", "b", "c", "d", "e", "f", "g", "h"]) await enter(source, 1);
  await enter("x", 3);
  await enter("y", 2);
  for (const source of ["a", "b", "c", "d", "e", "f"]) leave(source);
  await quiet();
  expect(begun.slice(8)).toEqual(["x", "y", "x", "y"]);
});

test("a call that waits too long is refused, and takes no place", async () => {
  const { clock, begun, refused, enter, leave } = createRoom();
  await enter("a", 5);
  await clock.advance(5_000);
  expect([begun.length, refused.length]).toEqual([4, 1]);
  leave("a");
  await enter("a", 1);
  expect([begun.length, refused.length, clock.pendingMs.length]).toEqual([5, 1, 0]);
});

test("places close when the facilitator asks for fewer calls, and open again as it responds", async () => {
  const { begun, enter, leave } = createRoom();
  const call = async (ending: "responded" | "too_many") => {
    await enter("x", 1);
    leave("x", ending);
  };
  for (let at = 0; at < 5; at++) await call("too_many");
  await enter("a", 1);
  await enter("b", 1);
  expect(begun.slice(5)).toEqual(["a"]);
  leave("a", "responded");
  await quiet();
  expect(begun.slice(5)).toEqual(["a", "b"]);
  leave("b", "responded");
  for (let at = 0; at < 20; at++) await call("responded");
  await enter("c", 20);
  expect(countOf(begun, "c")).toBe(4);
});

test("while less than half of the places are taken, nobody is asked for a source, and later all are counted", async () => {
  const queue = new CallQueue(LIMITS, { longestWaitMs: 5_000, clock: createManualClock() });
  const asked = new Set<number>();
  const callers = Array.from({ length: 9 }, (_, at): Caller => {
    return {
      get source() {
        asked.add(at);
        return "a";
      },
    };
  });
  const [first, second, third, fourth, ...others] = callers as [Caller, Caller, Caller, Caller, ...Caller[]];
  const enter = (...some: Caller[]) => some.map((caller) => queue.enter(caller));
  expect(enter(first, second, third, fourth)).toEqual([true, true, true, true]);
  queue.leave(second, "responded");
  expect(enter(second)).toEqual([true]);
  expect([...asked]).toEqual([]);

  // One source has half of the places, however late it is seen.
  const [fifth] = others as [Caller];
  const waits = queue.enter(fifth);
  expect(waits).toBeInstanceOf(Promise);
  expect(queue.enter({ source: "b" })).toBe(true);
  queue.leave(third, "responded");
  expect(await waits).toBe(true);
  expect([...asked].sort()).toEqual([0, 1, 2, 3, 4]);

  for (const caller of [first, second, fourth, fifth]) queue.leave(caller, "responded");
  const [sixth] = others.slice(1) as [Caller];
  expect(enter(sixth)).toEqual([true]);
  expect(asked.has(5)).toBe(false);
});
