import { describe, expect, test } from "vitest";
import type { UnsettledPayment } from "./outcome.js";
import { type Attempted, createPendingSettlements } from "./pending.js";
import type { StartTimer } from "./run.js";
import { createTestScheme } from "./shop.fixture.js";

const AGAIN: Attempted = { kind: "again", retryAfterSeconds: 0 };

function paymentOf(identity: string): UnsettledPayment {
  return {
    claim: { identity, binding: "[]", owner: "run", expiresAtMs: 0 },
    payer: "0x",
    scheme: createTestScheme(),
    routeKey: "GET /",
    facilitatorRequest: {} as never,
  };
}

/** Half-way, so that delays are as long as they say. */
function createSchedule({ random = (): number => 0.5, answers = [] as Attempted[] } = {}) {
  const timers: { act: () => void; delayMs: number; stopped: boolean }[] = [];
  const timer: StartTimer = (act, delayMs) => {
    const started = { act, delayMs, stopped: false };
    timers.push(started);
    return () => {
      started.stopped = true;
    };
  };
  const tried: string[] = [];
  const pending = createPendingSettlements({ timer, random });
  pending.attemptBy(async ({ claim }) => {
    tried.push(claim.identity);
    return answers.shift() ?? { kind: "done" };
  });
  const fire = async () => {
    timers.at(-1)?.act();
    await new Promise(setImmediate);
  };
  return { pending, timers, tried, fire };
}

test("a payment is tried until it is done, less and less often", async () => {
  const { pending, timers, tried, fire } = createSchedule({ answers: Array.from({ length: 7 }, () => AGAIN) });
  pending.add(paymentOf("p"), 0);
  expect(pending.size).toBe(1);
  for (let times = 0; times < 8; times++) await fire();
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000));
  expect([tried.length, pending.size]).toEqual([8, 0]);
});

test.each([
  [0, 1_500],
  [0.999, 2_499],
])("delays differ by a quarter: %d", (random, delayMs) => {
  const { pending, timers } = createSchedule({ random: () => random });
  pending.add(paymentOf("p"), 0);
  expect(Math.floor(timers[0]?.delayMs ?? 0)).toBe(delayMs);
});

test.each([
  [30, 30_000],
  [1e9, 60_000],
])("a facilitator that asks for %d seconds is left alone for %d ms", (asked, delayMs) => {
  const { pending, timers } = createSchedule();
  pending.add(paymentOf("p"), asked);
  expect(timers[0]?.delayMs).toBe(delayMs);
});

test("a payment that waits is not added twice", () => {
  const { pending, timers } = createSchedule();
  pending.add(paymentOf("p"), 0);
  pending.add(paymentOf("p"), 30);
  pending.add(paymentOf("q"), 0);
  expect([timers.length, pending.size]).toEqual([2, 2]);
});

describe("closed", () => {
  test("nothing is tried any more, and nothing waits", async () => {
    const { pending, timers, tried } = createSchedule();
    pending.add(paymentOf("p"), 0);
    pending.close();
    pending.add(paymentOf("q"), 0);
    expect([timers.map(({ stopped }) => stopped), pending.size, tried]).toEqual([[true], 0, []]);
  });

  test("while a payment is tried, it is not tried again", async () => {
    const { pending, timers, fire } = createSchedule({ answers: [AGAIN] });
    pending.add(paymentOf("p"), 0);
    const fired = fire();
    pending.close();
    await fired;
    expect([timers.length, pending.size]).toEqual([1, 0]);
  });
});
