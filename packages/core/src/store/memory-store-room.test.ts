import { describe, expect, test } from "vitest";
import { bring, CLAIM, createClock, MINUTE, move, RECEIPT } from "./memory-store.fixture.js";
import { createMemoryStore } from "./memory-store.js";
import type { PaymentStore, StoredAnswer } from "./payment-store.js";

const ROOM = 100;

function answerOf(bytes: number): StoredAnswer {
  return { status: 200, headers: [], body: new Uint8Array(bytes) };
}

async function keep(store: PaymentStore, identity: string, bytes: number, expiresAtMs = CLAIM.expiresAtMs) {
  await bring(store, "settled", { identity, expiresAtMs });
  const change = { identity, owner: "run", from: "settled", to: "settled" } as const;
  await move(store, { ...change, answer: answerOf(bytes), receipt: RECEIPT });
}

/** Which of these payments have an answer still. */
async function keptOf(store: PaymentStore, identities: string): Promise<string> {
  const records = await Promise.all([...identities].map((identity) => store.find(identity)));
  return records.flatMap((record) => (record?.answer === undefined ? [] : [record.identity])).join("");
}

describe("the room for answers", () => {
  test("is given up by the oldest answers, whose records stay", async () => {
    const { store } = createClock({ maxAnswerBytes: ROOM });
    for (const identity of ["a", "b", "c"]) await keep(store, identity, 40);
    expect(await keptOf(store, "abc")).toBe("bc");
    expect(await store.find("a")).toEqual({ ...CLAIM, identity: "a", state: "settled", receipt: RECEIPT });
    expect(Object.isFrozen(await store.find("a"))).toBe(true);
  });

  test("goes by when an answer was written, not by what became of its payment", async () => {
    const { store } = createClock({ maxAnswerBytes: ROOM });
    for (const identity of ["a", "b"]) await keep(store, identity, 40);
    await move(store, { identity: "a", owner: "run", from: "settled", to: "owed" });
    await keep(store, "c", 40);
    expect(await keptOf(store, "abc")).toBe("bc");
  });

  test("is not taken by an answer that is larger than all of it", async () => {
    const { store } = createClock({ maxAnswerBytes: ROOM });
    await keep(store, "a", 50);
    await keep(store, "b", ROOM + 1);
    expect(await keptOf(store, "ab")).toBe("a");
  });

  test("is free again when a payment is released", async () => {
    const { store } = createClock({ maxAnswerBytes: ROOM });
    await keep(store, "a", 40);
    await bring(store, "claimed");
    await move(store, { identity: "p", owner: "run", from: "claimed", to: "serving", answer: answerOf(60) });
    await store.release("p", "run");
    await keep(store, "b", 60);
    expect(await keptOf(store, "ab")).toBe("ab");
  });

  test("is free again when a payment is forgotten in time", async () => {
    const { store, clock } = createClock({ maxAnswerBytes: ROOM });
    await keep(store, "a", 40, 60 * MINUTE);
    await keep(store, "p", 60);
    clock.ms = 15 * MINUTE;
    await keep(store, "b", 60, 60 * MINUTE);
    expect(await store.find("p")).toBeUndefined();
    expect(await keptOf(store, "ab")).toBe("ab");
  });

  test("keeps of a body no more than the body", async () => {
    const { store } = createClock();
    await bring(store, "settled");
    const change = { identity: "p", owner: "run", from: "settled", to: "settled" } as const;
    for (const body of [Buffer.alloc(10_000, "x").subarray(5, 10), new Uint8Array(10_000).subarray(5, 10)]) {
      await move(store, { ...change, answer: { status: 200, headers: [], body } });
      const kept = (await store.find("p"))?.answer?.body;
      expect(kept).toEqual(body);
      expect(kept?.buffer.byteLength).toBe(5);
    }
  });

  test.each([-1, Number.NaN, "1000", null])("cannot be %s", (maxAnswerBytes) => {
    const create = () => createMemoryStore(Date.now, { maxAnswerBytes: maxAnswerBytes as number });
    expect(create).toThrow(/^maxAnswerBytes: expected a number of bytes, from 0, received /);
  });
});
