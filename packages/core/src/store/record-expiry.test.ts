import { describe, expect, test } from "vitest";
import { CLAIM, createClock, MINUTE, STATES, storeIn } from "./memory-store.fixture.js";

describe("expiry", () => {
  test("keeps a payment for ten minutes after it has expired, and forgets it with the first claim after that", async () => {
    const { store, clock } = createClock();
    await store.claim(CLAIM);
    clock.ms = 15 * MINUTE - 1;
    await store.claim({ ...CLAIM, identity: "q", expiresAtMs: 60 * MINUTE });
    expect(await store.find("p")).toBeDefined();
    clock.ms = 15 * MINUTE;
    await store.claim({ ...CLAIM, identity: "r", expiresAtMs: 60 * MINUTE });
    expect(await store.find("p")).toBeUndefined();
    expect(store.size).toBe(2);
  });

  test("forgets a payment in any state", async () => {
    for (const state of STATES) {
      const { store, clock } = await storeIn(state);
      clock.ms = 15 * MINUTE;
      await store.claim({ ...CLAIM, identity: "q" });
      expect(await store.find("p"), state).toBeUndefined();
      expect(await store.transition({ identity: "p", from: state, to: "settled", owner: "run" })).toBe(false);
    }
  });

  test("follows the current claim, not an earlier one that was released", async () => {
    const { store, clock } = createClock();
    await store.claim(CLAIM);
    await store.release("p", "run");
    await store.claim({ ...CLAIM, expiresAtMs: 60 * MINUTE });
    clock.ms = 20 * MINUTE;
    await store.claim({ ...CLAIM, identity: "q", expiresAtMs: 60 * MINUTE });
    expect(await store.find("p")).toBeDefined();
    clock.ms = 70 * MINUTE;
    await store.claim({ ...CLAIM, identity: "r" });
    expect(await store.find("p")).toBeUndefined();
  });

  test("forgets a payment that expires in the same minute as a released one", async () => {
    const { store, clock } = createClock();
    await store.claim(CLAIM);
    await store.claim({ ...CLAIM, identity: "q" });
    await store.release("q", "run");
    clock.ms = 15 * MINUTE;
    await store.claim({ ...CLAIM, identity: "r", expiresAtMs: 60 * MINUTE });
    expect(store.size).toBe(1);
  });

  test("bounds the memory by the lifetimes of the payments", async () => {
    const { store, clock } = createClock();
    for (let at = 0; at < 10_000; at++) {
      clock.ms = at * 6_000;
      await store.claim({ ...CLAIM, identity: `p${at}`, expiresAtMs: clock.ms + 5 * MINUTE });
      // Ten payments a minute, remembered for fifteen minutes and the one in which they are counted.
      expect(store.size).toBeLessThanOrEqual(10 * 17);
    }
  });

  test("survives a clock that is set back", async () => {
    const { store, clock } = createClock();
    clock.ms = 60 * MINUTE;
    await store.claim({ ...CLAIM, expiresAtMs: 65 * MINUTE });
    clock.ms = 0;
    await store.claim({ ...CLAIM, identity: "q", expiresAtMs: 5 * MINUTE });
    clock.ms = 60 * MINUTE;
    expect((await store.claim({ ...CLAIM, identity: "q", expiresAtMs: 65 * MINUTE })).kind).toBe("claimed");
    expect(await store.find("p")).toBeDefined();
  });

  test("counts time by the minute, and never forgets early", async () => {
    const { clock, claim, known } = createCalendar();
    await claim("a", 5 * MINUTE + 1);
    clock.ms = 15 * MINUTE + 1;
    expect(await known("a")).toEqual(["a"]);
    clock.ms = 16 * MINUTE;
    expect(await known("a")).toEqual([]);
  });

  test("forgets every payment whose time has passed since the last claim", async () => {
    const { clock, claim, known } = createCalendar();
    const all = Array.from({ length: 1_000 }, (_, at) => `${at}`);
    for (const [at, identity] of all.entries()) await claim(identity, at * MINUTE);
    clock.ms = 509 * MINUTE;
    expect(await known(...all)).toEqual(all.slice(500));
    clock.ms = 2_000 * MINUTE;
    expect(await known(...all)).toEqual([]);
  });

  test("goes on after some payments of the same minute are released and another is claimed", async () => {
    const { store, clock, claim, known } = createCalendar();
    for (const identity of ["a", "b", "c", "d", "e"]) await claim(identity);
    for (const identity of ["e", "a", "c"]) await store.release(identity, "run");
    await claim("f");
    clock.ms = 15 * MINUTE - 1;
    expect(await known("a", "b", "c", "d", "e", "f")).toEqual(["b", "d", "f"]);
    clock.ms = 15 * MINUTE;
    expect(await known("a", "b", "c", "d", "e", "f")).toEqual([]);
  });

  test("forgets a payment that had expired before its claim in the next minute", async () => {
    const { clock, claim, known } = createCalendar();
    clock.ms = 60 * MINUTE;
    expect(await known("a")).toEqual([]);
    await claim("a", 0);
    clock.ms = 60 * MINUTE + 1;
    expect(await known("a")).toEqual(["a"]);
    clock.ms = 61 * MINUTE;
    expect(await known("a")).toEqual([]);
  });

  test("follows a clock that was set back", async () => {
    const { clock, claim, known } = createCalendar();
    clock.ms = 60 * MINUTE;
    expect(await known("a")).toEqual([]);
    await claim("a");
    clock.ms = 14 * MINUTE;
    expect(await known("a")).toEqual(["a"]);
    clock.ms = 15 * MINUTE;
    expect(await known("a")).toEqual([]);
  });
});

/** A store whose expired payments are looked for. */
function createCalendar() {
  const { store, clock } = createClock();
  let visitors = 0;
  const claim = async (identity: string, expiresAtMs = 5 * MINUTE) => {
    expect(await store.claim({ ...CLAIM, identity, expiresAtMs })).toEqual({ kind: "claimed" });
  };
  /** Which of these payments have a record after a claim of another payment. */
  const known = async (...identities: readonly string[]) => {
    await claim(`visitor ${visitors++}`, clock.ms + 10_000 * MINUTE);
    const records = await Promise.all(identities.map((identity) => store.find(identity)));
    return records.flatMap((record) => (record === undefined ? [] : [record.identity]));
  };
  return { store, clock, claim, known };
}
