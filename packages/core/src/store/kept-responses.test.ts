import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../errors.js";
import { bring, CLAIM, createClock, MINUTE, move, RECEIPT } from "./memory-store.fixture.js";
import { createMemoryStore } from "./memory-store.js";
import type { PaymentStore, StoredAnswer } from "./payment-store.js";

const SEED = Number(process.env["FAREBOX_SEED"]);

function responseOf(bytes: number): StoredAnswer {
  return { status: 200, headers: [], body: new Uint8Array(bytes) };
}

/** Keeps a response for a settled payment, or removes it with `null`. */
async function write(store: PaymentStore, identity: string, answer: StoredAnswer | null) {
  await move(store, { identity, owner: "run", from: "settled", to: "settled", answer, receipt: RECEIPT });
}

async function keep(store: PaymentStore, identity: string, bytes: number, expiresAtMs = CLAIM.expiresAtMs) {
  await bring(store, "settled", { identity, expiresAtMs });
  await write(store, identity, responseOf(bytes));
}

/** Which of these payments still have a response. */
async function keptOf(store: PaymentStore, identities: string): Promise<string> {
  const records = await Promise.all([...identities].map((identity) => store.find(identity)));
  return records.flatMap((record) => (record?.answer === undefined ? [] : [record.identity])).join("");
}

describe("kept responses", () => {
  test("kept responses are dropped oldest first, and their records stay", async () => {
    const { store } = createClock({ maxAnswerBytes: 100 });
    for (const identity of ["a", "b", "c"]) await keep(store, identity, 30);
    expect(await keptOf(store, "abc")).toBe("abc");
    await keep(store, "d", 70);
    expect(await keptOf(store, "abcd")).toBe("cd");
    await keep(store, "e", 1);
    expect(await keptOf(store, "abcde")).toBe("de");
    expect(await store.find("a")).toEqual({ ...CLAIM, identity: "a", state: "settled", receipt: RECEIPT });
    expect(Object.isFrozen(await store.find("a"))).toBe(true);
  });

  test("kept responses fill maxAnswerBytes exactly before the first is dropped", async () => {
    const { store } = createClock({ maxAnswerBytes: 100 });
    await keep(store, "a", 60);
    await keep(store, "b", 40);
    expect(await keptOf(store, "ab")).toBe("ab");
    await keep(store, "c", 1);
    expect(await keptOf(store, "abc")).toBe("bc");
  });

  test("kept responses are as old as their writing, in any later state of their payment", async () => {
    const { store } = createClock({ maxAnswerBytes: 100 });
    for (const identity of ["a", "b"]) await keep(store, identity, 40);
    await move(store, { identity: "a", owner: "run", from: "settled", to: "owed" });
    await keep(store, "c", 40);
    expect(await keptOf(store, "abc")).toBe("bc");
  });

  test("kept responses stay as old as their writing when a settlement that copies the body ends", async () => {
    const { store } = createClock({ maxAnswerBytes: 100 });
    await bring(store, "claimed", { identity: "a" });
    const view = { ...responseOf(0), body: new Uint8Array(1000).subarray(0, 40) };
    await move(store, { identity: "a", owner: "run", from: "claimed", to: "settling", answer: view });
    await keep(store, "b", 40);
    await move(store, { identity: "a", owner: "run", from: "settling", to: "unknown" });
    await keep(store, "c", 40);
    expect(await keptOf(store, "abc")).toBe("bc");
  });

  test("kept responses stay when a response that is larger than maxAnswerBytes is refused", async () => {
    const { store } = createClock({ maxAnswerBytes: 100 });
    await keep(store, "a", 50);
    await keep(store, "b", 101);
    expect(await keptOf(store, "ab")).toBe("a");
    await keep(store, "c", 50);
    expect(await keptOf(store, "abc")).toBe("ac");
    await keep(store, "d", 1);
    expect(await keptOf(store, "abcd")).toBe("cd");
  });

  test("kept responses do not include a payment's earlier response after one that is too large", async () => {
    const { store } = createClock({ maxAnswerBytes: 100 });
    await keep(store, "a", 100);
    await write(store, "a", responseOf(101));
    expect(await keptOf(store, "a")).toBe("");
    await keep(store, "b", 100);
    expect(await keptOf(store, "ab")).toBe("b");
  });

  test.each<[what: string, again: StoredAnswer | null, left: number]>([
    ["replaced by a shorter one", responseOf(10), 90],
    ["replaced by a longer one", responseOf(80), 20],
    ["removed", null, 100],
  ])("kept responses are counted again when one is %s", async (_, again, left) => {
    const { store } = createClock({ maxAnswerBytes: 100 });
    await keep(store, "a", 50);
    await write(store, "a", again);
    await keep(store, "b", left);
    expect(await keptOf(store, "ab")).toBe(again === null ? "b" : "ab");
    await keep(store, "c", 1);
    expect(await keptOf(store, "abc")).toBe(again === null ? "c" : "bc");
  });

  test("kept responses are not counted twice when a response is removed twice, or was never kept", async () => {
    const { store } = createClock({ maxAnswerBytes: 10 });
    await keep(store, "a", 10);
    await bring(store, "settled", { identity: "b" });
    for (const identity of ["b", "a", "a"]) await write(store, identity, null);
    await keep(store, "c", 10);
    await keep(store, "d", 1);
    expect(await keptOf(store, "abcd")).toBe("d");
  });

  test("kept responses are counted with their headers, each value of a list included", async () => {
    const headers = [["ETag", "12345"] as const, ["Set-Cookie", ["a=1", "b=2"]] as const];
    const answer = { status: 200, headers, body: new Uint8Array(5) };
    // 4 + 5, 10 + 3 + 3 and a comma, and the body.
    for (const [maxAnswerBytes, kept] of [
      [31, "a"],
      [30, ""],
    ] as const) {
      const { store } = createClock({ maxAnswerBytes });
      await bring(store, "settled", { identity: "a" });
      await write(store, "a", answer);
      expect(await keptOf(store, "a")).toBe(kept);
    }
  });

  test("kept responses are only empty ones when maxAnswerBytes is 0", async () => {
    const { store } = createClock({ maxAnswerBytes: 0 });
    await keep(store, "a", 0);
    await keep(store, "b", 1);
    expect(await keptOf(store, "ab")).toBe("a");
  });

  test("kept responses make room when a payment is released", async () => {
    const { store } = createClock({ maxAnswerBytes: 100 });
    await keep(store, "a", 40);
    await bring(store, "claimed");
    await move(store, { identity: "p", owner: "run", from: "claimed", to: "settling", answer: responseOf(60) });
    await move(store, { identity: "p", owner: "run", from: "settling", to: "rejected" });
    await store.release("p", "run");
    await keep(store, "b", 60);
    expect(await keptOf(store, "ab")).toBe("ab");
  });

  test("kept responses make room when a payment expires", async () => {
    const { store, clock } = createClock({ maxAnswerBytes: 100 });
    await keep(store, "a", 40, 60 * MINUTE);
    await keep(store, "p", 60);
    clock.ms = 15 * MINUTE;
    await keep(store, "b", 60, 60 * MINUTE);
    expect(await store.find("p")).toBeUndefined();
    expect(await keptOf(store, "ab")).toBe("ab");
  });

  test("kept responses hold the body alone when it is a view into a larger buffer", async () => {
    const { store } = createClock();
    await bring(store, "settled");
    for (const body of [Buffer.alloc(10_000, "x").subarray(5, 10), new Uint8Array(10_000).subarray(5, 10)]) {
      await write(store, "p", { status: 200, headers: [], body });
      const kept = (await store.find("p"))?.answer?.body;
      expect(kept).toEqual(body);
      expect(kept?.buffer.byteLength).toBe(5);
    }
  });

  test(`kept responses never exceed maxAnswerBytes, and none is dropped without need (FAREBOX_SEED=${SEED} repeats this)`, async () => {
    const identity = fc.constantFrom("a", "b", "c", "d", "e");
    const step = fc.tuple(identity, fc.option(fc.nat(130), { nil: null }));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { store } = createClock({ maxAnswerBytes: 100 });
        const model = createModel(100);
        for (const name of "abcde") await bring(store, "settled", { identity: name });
        for (const [name, bytes] of steps) {
          await write(store, name, bytes === null ? null : responseOf(bytes));
          expect(await keptOf(store, "abcde")).toBe(model.keep(name, bytes));
        }
      }),
      { seed: SEED, numRuns: 120 },
    );
  });
});

test.each([-1, Number.NaN, "1000", null])("createMemoryStore throws for a maxAnswerBytes of %s", (maxAnswerBytes) => {
  const create = () => createMemoryStore(Date.now, { maxAnswerBytes: maxAnswerBytes as number });
  expect(create).toThrow(/^maxAnswerBytes: expected a number of bytes, from 0, received /);
});

test.each<[given: readonly unknown[], message: RegExp]>([
  [[{ maxAnswerBytes: 1000 }], /^now: expected a function .*createMemoryStore\(Date\.now, \{ maxAnswerBytes \}\)/],
  [[1000], /^now: expected a function/],
  [[null], /^now: expected a function/],
  [[Date.now, null], /^options: expected an object/],
  [[Date.now, 1000], /^options: expected an object/],
  [[Date.now, { maxAnswersBytes: 1000 }], /^maxAnswersBytes: expected no such option/],
  [[{}, { maxAnswersBytes: 1000, maxAnswerBytes: "1" }], /^now: .*\nmaxAnswersBytes: .*\nmaxAnswerBytes: /],
])("createMemoryStore throws at start-up when it is called with %o", (given, message) => {
  const create = createMemoryStore as (...given: readonly unknown[]) => unknown;
  expect(() => create(...given)).toThrow(ConfigError);
  expect(() => create(...given)).toThrow(message);
});

/** The same in a list, oldest first. */
function createModel(maxBytes: number) {
  let kept: readonly { readonly name: string; readonly bytes: number }[] = [];
  const isTooMuch = () => kept.reduce((sum, { bytes }) => sum + bytes, 0) > maxBytes;
  /** Returns the payments that have a response now. */
  const keep = (name: string, bytes: number | null): string => {
    kept = kept.filter((one) => one.name !== name);
    if (bytes !== null && bytes <= maxBytes) kept = [...kept, { name, bytes }];
    while (isTooMuch()) kept = kept.slice(1);
    const names = kept.map((one) => one.name);
    return names.sort().join("");
  };
  return { keep };
}
