import { describe, expect, test } from "vitest";
import { createPaymentEvents } from "../events/events.js";
import { SILENT } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import { CLAIM } from "../store/memory-store.fixture.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PendingPayment } from "./outcome.js";
import { SettlementRecovery } from "./recover.js";
import type { Settled } from "./settle.js";
import { createTestScheme, NETWORK } from "./shop.fixture.js";

const UNKNOWN: Settled = { kind: "unknown", retryAfterSeconds: 0 };
const DONE: Settled = { kind: "settled", receipt: { success: true, transaction: "0x1", network: NETWORK } };

function paymentOf(identity: string): PendingPayment {
  return {
    claim: { ...CLAIM, identity, expiresAtMs: 1e9 },
    payer: "0x",
    scheme: createTestScheme(),
    routeKey: "GET /",
    facilitatorRequest: { paymentRequirements: { maxTimeoutSeconds: 60 } } as never,
  };
}

/** With 0.5 as random number, each delay is exactly its backoff. */
function createSchedule({ random = (): number => 0.5, outcomes = [] as Settled[], now = (): number => 0 } = {}) {
  const timers: { act: () => void; delayMs: number; stopped: boolean }[] = [];
  const timer: StartTimer = (act, delayMs) => {
    const started = { act, delayMs, stopped: false };
    timers.push(started);
    return () => {
      started.stopped = true;
    };
  };
  const attempts: string[] = [];
  const store = createMemoryStore(now);
  const recovery = new SettlementRecovery({
    ...{ store, schemes: [], logger: SILENT, now, timer, random },
    events: createPaymentEvents(SILENT, now),
    inFlight: { find: () => undefined, end: () => {} },
    exposure: { owes: () => {} },
    leases: undefined,
    settler: {
      async settle({ claim }) {
        attempts.push(claim.identity);
        return outcomes.shift() ?? DONE;
      },
    },
  });
  /** Adds a payment whose record says that its outcome is unknown. */
  const add = async (identity: string, retryAfterSeconds: number) => {
    const payment = paymentOf(identity);
    const { owner } = payment.claim;
    await store.claim(payment.claim);
    await store.transition({ identity, from: "claimed", to: "settling", owner });
    await store.transition({ identity, from: "settling", to: "unknown", owner });
    recovery.add(payment, retryAfterSeconds);
  };
  const fire = async () => {
    timers.at(-1)?.act();
    await new Promise(setImmediate);
  };
  return { recovery, add, timers, attempts, fire };
}

test("a payment is retried with a growing delay until its outcome is known", async () => {
  const outcomes = Array.from({ length: 7 }, () => UNKNOWN);
  const { recovery, add, timers, attempts, fire } = createSchedule({ outcomes });
  await add("p", 0);
  expect(recovery.size).toBe(1);
  for (let times = 0; times < 8; times++) await fire();
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000));
  expect([attempts.length, recovery.size]).toEqual([8, 0]);
});

test.each([
  [0, 1_500],
  [0.999, 2_499],
])("the first delay varies by up to a quarter: random %d gives %d ms", async (random, delayMs) => {
  const { add, timers } = createSchedule({ random: () => random });
  await add("p", 0);
  expect(Math.floor(timers[0]?.delayMs ?? 0)).toBe(delayMs);
});

test.each([
  [30, 30_000],
  [1e9, 60_000],
])("a Retry-After of %d seconds delays the retry by %d ms", async (asked, delayMs) => {
  const { add, timers } = createSchedule();
  await add("p", asked);
  expect(timers[0]?.delayMs).toBe(delayMs);
});

test("retries end five minutes after maxTimeoutSeconds, however far ahead the payer set the expiry", async () => {
  let nowMs = 0;
  const outcomes = Array.from({ length: 9 }, () => UNKNOWN);
  const { recovery, add, attempts, fire } = createSchedule({ outcomes, now: () => nowMs });
  await add("p", 0);
  nowMs = (60 + 5 * 60) * 1000 - 1;
  await fire();
  expect(recovery.size).toBe(1);
  nowMs += 1;
  await fire();
  expect([attempts.length, recovery.size]).toEqual([2, 0]);
});

test("a payment that waits for a retry is not added twice", async () => {
  const { recovery, add, timers } = createSchedule();
  await add("p", 0);
  await add("p", 30);
  await add("q", 0);
  expect([timers.length, recovery.size]).toEqual([2, 2]);
});

describe("a closed schedule", () => {
  test("a closed schedule stops its timers and takes no more payments", async () => {
    const { recovery, add, timers, attempts } = createSchedule();
    await add("p", 0);
    recovery.close();
    await add("q", 0);
    expect([timers.map(({ stopped }) => stopped), recovery.size, attempts]).toEqual([[true], 0, []]);
  });

  test("a closed schedule does not repeat an attempt that is still running", async () => {
    const { recovery, add, timers, fire } = createSchedule({ outcomes: [UNKNOWN] });
    await add("p", 0);
    const fired = fire();
    recovery.close();
    await fired;
    expect([timers.length, recovery.size]).toEqual([1, 0]);
  });
});
