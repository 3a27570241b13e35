import { describe, expect, test } from "vitest";
import { bring, createClock, move, STATES, unfinishedOf } from "./memory-store.fixture.js";
import { UNFINISHED } from "./payment-store.js";

describe("unfinished", () => {
  test("yields the records in the unfinished states, and no others", async () => {
    const { store } = createClock();
    for (const state of STATES) await bring(store, state, { identity: state });
    const found = await unfinishedOf(store);
    expect(found.map(({ identity }) => identity).sort()).toEqual([...UNFINISHED].sort());
    for (const record of found) expect(record).toBe(await store.find(record.identity));
  });

  test("yields each record in its current state, and skips those whose settlement has ended during the walk", async () => {
    const { store } = createClock();
    for (const identity of ["p", "q", "r"]) await bring(store, "settling", { identity });
    const walk = store.unfinished()[Symbol.asyncIterator]();
    expect((await walk.next()).value).toMatchObject({ identity: "p" });
    await move(store, { identity: "q", owner: "run", from: "settling", to: "settled" });
    await move(store, { identity: "r", owner: "run", from: "settling", to: "unknown" });
    expect((await walk.next()).value).toMatchObject({ identity: "r", state: "unknown" });
    expect((await walk.next()).done).toBe(true);
  });

  test("yields a payment once, even if it is released and settled again during the walk", async () => {
    const { store } = createClock();
    for (const identity of ["p", "q"]) await bring(store, "settling", { identity });
    const seen: string[] = [];
    for await (const { identity } of store.unfinished()) {
      seen.push(identity);
      await move(store, { identity, owner: "run", from: "settling", to: "rejected" });
      await store.release(identity, "run");
      await bring(store, "settling", { identity });
    }
    expect(seen).toEqual(["p", "q"]);
  });

  test("ends, even if a payment is added for each one that it yields", async () => {
    const { store } = createClock();
    for (const identity of ["p", "q"]) await bring(store, "settling", { identity });
    for await (const { identity } of store.unfinished()) await bring(store, "settling", { identity: `${identity}+` });
    expect(store.size).toBe(4);
  });
});
