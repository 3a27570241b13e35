import { describe, expect, test } from "vitest";
import { bring, CLAIM, createClock, MINUTE, move, STATES, unfinishedOf } from "./memory-store.fixture.js";
import { RELEASABLE } from "./payment-store.js";

const IDENTIFIER = "x".repeat(43);
const IDENTIFIED = { ...CLAIM, identifier: IDENTIFIER };

describe("an identifier", () => {
  test("an identifier is given to one of a thousand payments that claim it at once", async () => {
    const { store } = createClock();
    const identities = Array.from({ length: 1000 }, (_, at) => `p${at}`);
    const claims = await Promise.all(identities.map((identity) => store.claim({ ...IDENTIFIED, identity })));
    expect(claims.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === "identifier_taken")).toHaveLength(999);
    expect(store.size).toBe(1);
  });

  test("an identifier is checked after the payment, and a taken payment reserves none", async () => {
    const { store } = createClock();
    await bring(store, "claimed", { identifier: IDENTIFIER });
    await bring(store, "claimed", { identity: "q", identifier: "y" });
    expect(await store.claim({ ...CLAIM, identifier: "y" })).toMatchObject({ kind: "taken", record: IDENTIFIED });
    expect((await store.claim({ ...CLAIM, identifier: "z" })).kind).toBe("taken");
    expect((await store.claim({ ...CLAIM, identity: "r", identifier: "z" })).kind).toBe("claimed");
  });

  test.each(STATES)("the identifier of a payment that is %s is free only after its release", async (state) => {
    const { store } = createClock();
    await bring(store, state, { identifier: IDENTIFIER });
    expect(await store.find("p")).toMatchObject({ identifier: IDENTIFIER });
    await store.release("p", "other");
    expect((await store.claim({ ...IDENTIFIED, identity: "q" })).kind).toBe("identifier_taken");
    await store.release("p", "run");
    const isFree = RELEASABLE.includes(state);
    expect((await store.claim({ ...IDENTIFIED, identity: "q" })).kind).toBe(isFree ? "claimed" : "identifier_taken");
  });

  test("an identifier that a transition frees belongs to the next payment, even after the first is released", async () => {
    const { store, clock } = createClock();
    await bring(store, "settling", { identifier: IDENTIFIER });
    const change = { identity: "p", owner: "run", from: "settling", to: "rejected", identifier: null } as const;
    expect(await store.transition({ ...change, owner: "other" })).toBe(false);
    expect((await store.claim({ ...IDENTIFIED, identity: "q" })).kind).toBe("identifier_taken");

    await move(store, change);
    expect(await store.find("p")).not.toHaveProperty("identifier");
    await bring(store, "claimed", { identity: "q", identifier: IDENTIFIER, expiresAtMs: 60 * MINUTE });
    await store.release("p", "run");
    clock.ms = 20 * MINUTE;
    expect((await store.claim({ ...IDENTIFIED, identity: "r" })).kind).toBe("identifier_taken");
  });

  test("an identifier is forgotten with its payment", async () => {
    const { store, clock } = createClock();
    for (let at = 0; at < 3_000; at++) await bring(store, "settling", { identity: `p${at}`, identifier: `${at}` });
    clock.ms = 15 * MINUTE;
    for (let at = 0; at < 3_000; at++) {
      expect((await store.claim({ ...CLAIM, identity: `q${at}`, identifier: `${at}` })).kind).toBe("claimed");
    }
    expect(store.size).toBe(3_000);
    expect(await unfinishedOf(store)).toEqual([]);
  });
});
