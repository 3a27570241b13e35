import { expect, test } from "vitest";
import { createAttempts } from "./attempts.js";

test("attempts are forgotten after their time since they were last heard of, the oldest first", () => {
  let nowMs = 0;
  const attempts = createAttempts<string>({ rememberedMs: 5000, now: () => nowMs });
  attempts.remember("a", "sent");
  nowMs = 1000;
  attempts.remember("b", "sent");
  nowMs = 4999;
  attempts.remember("b", "settled");
  expect(attempts.size).toBe(2);
  nowMs = 5000;
  attempts.remember("c", "sent");
  expect([attempts.find("a"), attempts.find("b"), attempts.size]).toEqual([undefined, "settled", 2]);
});

test("an attempt is forgotten on demand, and no other with it", () => {
  const attempts = createAttempts<string>({ rememberedMs: 5000, now: () => 0 });
  attempts.remember("a", "sent");
  attempts.remember("b", "sent");
  attempts.forget("a");
  attempts.forget("c");
  expect([attempts.find("a"), attempts.find("b"), attempts.size]).toEqual([undefined, "sent", 1]);
});

test("one works on a payment at a time, after a failure too, and others are not waited for", async () => {
  const attempts = createAttempts<string>({ rememberedMs: 5000, now: () => 0 });
  const order: string[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const first = attempts.exclusively("a", async () => {
    await gate;
    order.push("first");
    throw new RangeError("failed");
  });
  const second = attempts.exclusively("a", async () => order.push("second"));
  await attempts.exclusively("b", async () => order.push("other"));
  open();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(order).toEqual(["other", "first", "second"]);
});
