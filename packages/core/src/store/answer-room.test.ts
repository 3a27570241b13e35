import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAnswerRoom } from "./answer-room.js";
import type { StoredAnswer } from "./payment-store.js";

const SEED = Number(process.env["FAREBOX_SEED"] ?? Date.now() % 2 ** 31);

function answerOf(bytes: number): StoredAnswer {
  return { status: 200, headers: [], body: new Uint8Array(bytes) };
}

describe("the room for answers", () => {
  test("is given up by the oldest answers first", () => {
    const room = createAnswerRoom(100);
    for (const identity of ["a", "b", "c"]) expect(room.keep(identity, answerOf(30))).toEqual([]);
    expect(room.keep("d", answerOf(70))).toEqual(["a", "b"]);
    expect(room.keep("e", answerOf(1))).toEqual(["c"]);
  });

  test("is all used before anything goes", () => {
    const room = createAnswerRoom(100);
    expect(room.keep("a", answerOf(60))).toEqual([]);
    expect(room.keep("b", answerOf(40))).toEqual([]);
    expect(room.keep("c", answerOf(1))).toEqual(["a"]);
  });

  test("has none for an answer that is larger than all of it, and the others stay", () => {
    const room = createAnswerRoom(100);
    room.keep("a", answerOf(50));
    expect(room.keep("b", answerOf(101))).toEqual(["b"]);
    expect(room.keep("c", answerOf(50))).toEqual([]);
    expect(room.keep("d", answerOf(1))).toEqual(["a"]);
  });

  test("has none for the answer that a payment had before one that is too large", () => {
    const room = createAnswerRoom(100);
    room.keep("a", answerOf(100));
    expect(room.keep("a", answerOf(101))).toEqual(["a"]);
    expect(room.keep("b", answerOf(100))).toEqual([]);
  });

  test.each<[what: string, again: StoredAnswer | undefined, left: number]>([
    ["replaced by a shorter one", answerOf(10), 90],
    ["replaced by a longer one", answerOf(80), 20],
    ["forgotten", undefined, 100],
  ])("is counted again when an answer is %s", (_, again, left) => {
    const room = createAnswerRoom(100);
    room.keep("a", answerOf(50));
    expect(room.keep("a", again)).toEqual([]);
    expect(room.keep("b", answerOf(left))).toEqual([]);
    expect(room.keep("c", answerOf(1))).toEqual(again === undefined ? ["b"] : ["a"]);
  });

  test("does not grow when what was never kept is forgotten, or is forgotten twice", () => {
    const room = createAnswerRoom(10);
    room.keep("a", answerOf(10));
    for (const identity of ["b", "a", "a"]) expect(room.keep(identity, undefined)).toEqual([]);
    room.keep("c", answerOf(10));
    expect(room.keep("d", answerOf(1))).toEqual(["c"]);
  });

  test("counts headers, each value of a list too", () => {
    const headers = [["ETag", "12345"] as const, ["Set-Cookie", ["a=1", "b=2"]] as const];
    const answer = { status: 200, headers, body: new Uint8Array(5) };
    // 4 + 5, 10 + 3 + 3 and a comma, and the body.
    expect(createAnswerRoom(31).keep("a", answer)).toEqual([]);
    expect(createAnswerRoom(30).keep("a", answer)).toEqual(["a"]);
  });

  test("without a byte of it takes answers that are empty alone", () => {
    const room = createAnswerRoom(0);
    expect(room.keep("a", answerOf(0))).toEqual([]);
    expect(room.keep("b", answerOf(1))).toEqual(["b"]);
  });

  test(`is never exceeded, and nothing goes without need (FAREBOX_SEED=${SEED} repeats this)`, () => {
    const identity = fc.constantFrom("a", "b", "c", "d", "e");
    const step = fc.tuple(identity, fc.option(fc.nat(130), { nil: undefined }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const room = createAnswerRoom(100);
        const model = createModel(100);
        for (const [name, bytes] of steps) {
          const crowdedOut = room.keep(name, bytes === undefined ? undefined : answerOf(bytes));
          expect(crowdedOut).toEqual(model.keep(name, bytes));
        }
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});

/** The same in a list, oldest first. */
function createModel(maxBytes: number) {
  let kept: readonly { readonly name: string; readonly bytes: number }[] = [];
  const isTooMuch = () => kept.reduce((sum, { bytes }) => sum + bytes, 0) > maxBytes;
  const keep = (name: string, bytes: number | undefined): readonly string[] => {
    kept = kept.filter((one) => one.name !== name);
    if (bytes === undefined) return [];
    if (bytes > maxBytes) return [name];
    kept = [...kept, { name, bytes }];
    const before = kept;
    while (isTooMuch()) kept = kept.slice(1);
    return before.slice(0, before.length - kept.length).map((one) => one.name);
  };
  return { keep };
}
