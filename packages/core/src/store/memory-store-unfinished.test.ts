import { describe, expect, test } from "vitest";
import { bring, CLAIM, createClock, MINUTE, move, STATES, unfinishedOf } from "./memory-store.fixture.js";
import { RELEASABLE, UNFINISHED } from "./payment-store.js";

const IDENTIFIER = "x".repeat(43);
const IDENTIFIED = { ...CLAIM, identifier: IDENTIFIER };

describe("an identifier", () => {
  test("is one payment's of a thousand that ask for it at once", async () => {
    const { store } = createClock();
    const identities = Array.from({ length: 1000 }, (_, at) => `p${at}`);
    const claims = await Promise.all(identities.map((identity) => store.claim({ ...IDENTIFIED, identity })));
    expect(claims.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === "identifier_taken")).toHaveLength(999);
    expect(store.size).toBe(1);
  });

  test("is looked at after the payment, and changes nothing when that is taken", async () => {
    const { store } = createClock();
    await bring(store, "claimed", { identifier: IDENTIFIER });
    await bring(store, "claimed", { identity: "q", identifier: "y" });
    expect(await store.claim({ ...CLAIM, identifier: "y" })).toMatchObject({ kind: "taken", record: IDENTIFIED });
    expect((await store.claim({ ...CLAIM, identifier: "z" })).kind).toBe("taken");
    expect((await store.claim({ ...CLAIM, identity: "r", identifier: "z" })).kind).toBe("claimed");
  });

  test.each(STATES)("of a payment that is %s is free once the payment is released, and not before", async (state) => {
    const { store } = createClock();
    await bring(store, state, { identifier: IDENTIFIER });
    expect(await store.find("p")).toMatchObject({ identifier: IDENTIFIER });
    await store.release("p", "other");
    expect((await store.claim({ ...IDENTIFIED, identity: "q" })).kind).toBe("identifier_taken");
    await store.release("p", "run");
    const isFree = RELEASABLE.includes(state);
    expect((await store.claim({ ...IDENTIFIED, identity: "q" })).kind).toBe(isFree ? "claimed" : "identifier_taken");
  });

  test("that a transition frees is another payment's, whatever becomes of the first", async () => {
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

  test("is forgotten with its payment", async () => {
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

test("one of several runs takes over a settlement, and the one before it can do nothing", async () => {
  const { store } = createClock();
  await bring(store, "settling");
  const takeOver = { identity: "p", from: "settling", to: "settling", owner: "run" } as const;
  const runs = ["a", "b", "c"];
  const taken = await Promise.all(
    runs.map((newOwner) => store.transition({ ...takeOver, newOwner, leaseUntilMs: 90_000 })),
  );
  expect(taken).toEqual([true, false, false]);
  for (const to of STATES) expect(await store.transition({ ...takeOver, to })).toBe(false);
  await store.release("p", "run");
  expect(await store.find("p")).toEqual({ ...CLAIM, owner: "a", state: "settling", leaseUntilMs: 90_000 });
});

describe("unfinished", () => {
  test("yields what is settling or unknown, and nothing else", async () => {
    const { store } = createClock();
    for (const state of STATES) await bring(store, state, { identity: state });
    const found = await unfinishedOf(store);
    expect(found.map(({ identity }) => identity).sort()).toEqual([...UNFINISHED].sort());
    for (const record of found) expect(record).toBe(await store.find(record.identity));
  });

  test("yields a payment as it is when its turn comes, and none whose settlement has ended by then", async () => {
    const { store } = createClock();
    for (const identity of ["p", "q", "r"]) await bring(store, "settling", { identity });
    const walk = store.unfinished()[Symbol.asyncIterator]();
    expect((await walk.next()).value).toMatchObject({ identity: "p" });
    await move(store, { identity: "q", owner: "run", from: "settling", to: "settled" });
    await move(store, { identity: "r", owner: "run", from: "settling", to: "unknown" });
    expect((await walk.next()).value).toMatchObject({ identity: "r", state: "unknown" });
    expect((await walk.next()).done).toBe(true);
  });

  test("meets a payment once, though it is released and settled anew meanwhile", async () => {
    const { store } = createClock();
    for (const identity of ["p", "q"]) await bring(store, "settling", { identity });
    const met: string[] = [];
    for await (const { identity } of store.unfinished()) {
      met.push(identity);
      await move(store, { identity, owner: "run", from: "settling", to: "rejected" });
      await store.release(identity, "run");
      await bring(store, "settling", { identity });
    }
    expect(met).toEqual(["p", "q"]);
  });

  test("ends, though each payment that it yields is followed by another", async () => {
    const { store } = createClock();
    for (const identity of ["p", "q"]) await bring(store, "settling", { identity });
    for await (const { identity } of store.unfinished()) await bring(store, "settling", { identity: `${identity}+` });
    expect(store.size).toBe(4);
  });
});
