import { describe, expect, test } from "vitest";
import { AgingMap, Attempts, isAttemptFor } from "./settlement-desk.js";

const HASH = `0x${"1".repeat(64)}` as const;
const OTHER = `0x${"2".repeat(64)}` as const;
const HOUR_MS = 3_600_000;

function authorization(nonce: number, to = "0xcc") {
  return { identity: `0xaa|0xbb|${nonce}`, fingerprint: `${to}|5|0x11` };
}

function createAttempts(now: () => number): Attempts {
  return new Attempts({ rememberedMs: 25 * HOUR_MS, now });
}

describe("Attempts", () => {
  test("an attempt is found by its identity, and compared by its fingerprint", () => {
    const attempts = createAttempts(() => 0);
    attempts.remember(authorization(1), { transaction: HASH, amount: 5n, state: "sent" });
    const found = attempts.find(authorization(1, "0xdd"));
    expect(found).toMatchObject({ transaction: HASH, state: "sent" });
    expect(found && isAttemptFor(found, authorization(1))).toBe(true);
    expect(found && isAttemptFor(found, authorization(1, "0xdd"))).toBe(false);
    expect(attempts.find(authorization(2))).toBeUndefined();
  });

  test("attempts are forgotten after the time, so that memory is bounded", () => {
    let now = 0;
    const attempts = createAttempts(() => now);
    for (let nonce = 0; nonce < 100; nonce += 1) {
      now += HOUR_MS;
      attempts.remember(authorization(nonce), { transaction: HASH, amount: 5n, state: "settled" });
      expect(attempts.size).toBeLessThanOrEqual(25);
    }
    expect(attempts.find(authorization(99))).toBeDefined();
    expect(attempts.find(authorization(74))).toBeUndefined();
  });

  test("an attempt is forgotten when its own transaction is given up", () => {
    const attempts = createAttempts(() => 0);
    attempts.remember(authorization(1), { transaction: HASH, amount: 5n, state: "sent" });
    attempts.drop(authorization(1), OTHER);
    expect(attempts.size).toBe(1);
    attempts.drop(authorization(1), HASH);
    expect(attempts.size).toBe(0);
  });

  test("a settled attempt stays settled, regardless of another transaction", () => {
    const attempts = createAttempts(() => 0);
    const settled = { transaction: HASH, amount: 5n, state: "settled" } as const;
    attempts.remember(authorization(1), settled);
    attempts.remember(authorization(1), { transaction: OTHER, amount: 5n, state: "sent" });
    attempts.remember(authorization(1), { transaction: OTHER, amount: 5n, state: "failed" });
    for (const transaction of [OTHER, HASH]) attempts.drop(authorization(1), transaction);
    expect(attempts.find(authorization(1))).toMatchObject(settled);
  });

  test("a failed attempt is not forgotten when its transaction is given up late", () => {
    const attempts = createAttempts(() => 0);
    attempts.remember(authorization(1), { transaction: HASH, amount: 5n, state: "failed" });
    attempts.drop(authorization(1), HASH);
    expect(attempts.find(authorization(1))).toMatchObject({ state: "failed" });
  });

  test("a given-up transaction is known for the payment that it was sent for, and for no other", () => {
    const attempts = createAttempts(() => 0);
    attempts.remember(authorization(1), { transaction: HASH, amount: 5n, state: "sent" });
    expect(attempts.wasDropped(authorization(1), HASH)).toBe(false);
    attempts.drop(authorization(1), HASH);
    expect(attempts.wasDropped(authorization(1), HASH)).toBe(true);
    expect(attempts.wasDropped(authorization(1), OTHER)).toBe(false);
    expect(attempts.wasDropped(authorization(1, "0xdd"), HASH)).toBe(false);
    expect(attempts.wasDropped(authorization(2), HASH)).toBe(false);
    attempts.drop(authorization(1), OTHER);
    expect([HASH, OTHER].map((transaction) => attempts.wasDropped(authorization(1), transaction))).toEqual([
      true,
      true,
    ]);
  });

  test("a settlement clears the given-up transactions of its payment, also after it is forgotten", () => {
    let now = 0;
    const attempts = createAttempts(() => now);
    attempts.drop(authorization(1), HASH);
    attempts.remember(authorization(1), { transaction: HASH, amount: 5n, state: "settled" });
    attempts.drop(authorization(1), OTHER);
    now += 26 * HOUR_MS;
    attempts.remember(authorization(2), { transaction: OTHER, amount: 5n, state: "sent" });
    expect(attempts.find(authorization(1))).toBeUndefined();
    expect([HASH, OTHER].map((transaction) => attempts.wasDropped(authorization(1), transaction))).toEqual([
      false,
      false,
    ]);
  });

  test("callers work on a payment one at a time, in order, and a failure does not stop the next", async () => {
    const attempts = createAttempts(() => 0);
    const order: string[] = [];
    const work = (name: string, fails = false) =>
      attempts.exclusively(authorization(1), async () => {
        order.push(`${name} begins`);
        await Promise.resolve();
        order.push(`${name} ends`);
        if (fails) throw new RangeError(name);
        return name;
      });
    const other = attempts.exclusively(authorization(2), async () => order.push("another nonce"));
    const all = await Promise.allSettled([work("first"), work("second", true), work("third"), other]);
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(order.filter((entry) => entry !== "another nonce")).toEqual([
      "first begins",
      "first ends",
      "second begins",
      "second ends",
      "third begins",
      "third ends",
    ]);
    expect(order.indexOf("another nonce")).toBeLessThan(2);
  });
});

test("AgingMap forgets an entry after its time since it was last set, the oldest first", () => {
  let nowMs = 0;
  const attempts = new AgingMap<string>({ rememberedMs: 5000, now: () => nowMs });
  attempts.set("a", "sent");
  nowMs = 1000;
  attempts.set("b", "sent");
  nowMs = 4999;
  attempts.set("b", "settled");
  expect(attempts.size).toBe(2);
  nowMs = 5000;
  attempts.set("c", "sent");
  expect([attempts.get("a"), attempts.get("b"), attempts.size]).toEqual([undefined, "settled", 2]);
});

test("AgingMap deletes one entry and no other", () => {
  const attempts = new AgingMap<string>({ rememberedMs: 5000, now: () => 0 });
  attempts.set("a", "sent");
  attempts.set("b", "sent");
  attempts.delete("a");
  attempts.delete("c");
  expect([attempts.get("a"), attempts.get("b"), attempts.size]).toEqual([undefined, "sent", 1]);
});

test("a caller waits for the same payment only, also after a failure", async () => {
  const attempts = createAttempts(() => 0);
  const order: string[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const first = attempts.exclusively({ identity: "a" }, async () => {
    await gate;
    order.push("first");
    throw new RangeError("failed");
  });
  const second = attempts.exclusively({ identity: "a" }, async () => order.push("second"));
  await attempts.exclusively({ identity: "b" }, async () => order.push("other"));
  open();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(order).toEqual(["other", "first", "second"]);
});
