/**
 * One payment, sent many times in any order, with any behaviour of the facilitator. The payer is served only if the money
 * moved, and more than once only if a response may have been lost. If it moved, no response says that the payment failed.
 *
 * @module
 */
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { FacilitatorError } from "../errors.js";
import type { SettlementResponse } from "../protocol/documents.js";
import type { HeldAdmission } from "./decision.js";
import { admissionOf, createShop, HANDLED, readResponse, responseOf, SETTLED } from "./shop.fixture.js";

/** How one call to settle ends. The chain moves the money once, and reports it from then on. */
const FATES = ["done", "lost after", "lost before", "never sent", "refused", "pending"] as const;
/** How an admission ends. */
const ENDS = ["delivered", "undelivered", "failed", "disconnected"] as const;

type Fate = (typeof FATES)[number];
type End = (typeof ENDS)[number];

const NEVER_SENT = new FacilitatorError("refused", {
  code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  operation: "settle",
  outcome: "none",
});

function refusal(errorReason: string, transaction: string): SettlementResponse {
  return { success: false, errorReason, transaction, network: SETTLED.network };
}

/** One call to settle, in a world where the chain moves the money once. */
function settleIn(world: { fates: Fate[]; moved: boolean }): SettlementResponse {
  const fate = world.fates.shift() ?? "done";
  if (fate === "never sent") throw NEVER_SENT;
  if (fate === "lost before") throw new Error("lost");
  // Also after the money moved: a facilitator may only see that the balance is too low.
  if (fate === "refused") return refusal("insufficient_funds", "");
  const settledBefore = world.moved;
  world.moved = true;
  if (fate === "lost after") throw new Error("lost");
  if (settledBefore) return refusal("payment_already_settled", "0xabc");
  return fate === "pending" ? refusal("settlement_pending", "0xabc") : SETTLED;
}

function createWorld() {
  const shop = createShop();
  const world = {
    moved: false,
    served: 0,
    round: 0,
    ranIn: -1,
    isKept: false,
    /** The latest round in which the handler ran for a payment that had settled before. */
    paidIn: -1,
    /** Such a run has failed or was abandoned before, so a failure stands. */
    isOwed: false,
    fates: [] as Fate[],
    ends: [] as End[],
  };

  // Money takes longer to move than a response that was decided takes to be read here.
  shop.facilitator.settles = async () => {
    await setImmediate();
    return settleIn(world);
  };

  async function run(): Promise<void> {
    const decision = await shop.pay();
    if (decision.kind === "respond") expectHonest(responseOf(decision));
    else await serve(admissionOf(decision), world.ends.shift() ?? "delivered");
  }

  async function serve(admission: HeldAdmission, end: End): Promise<void> {
    // Abandoned too often, the payment has settled before its handler runs.
    const isPaid = world.moved;
    if (isPaid) world.paidIn = world.round;
    if (end === "disconnected") {
      world.isOwed ||= isPaid;
      await admission.cancel();
      return;
    }
    const release = await admission.complete({ ...HANDLED, status: end === "failed" ? 500 : 200 });
    if (release.kind === "replace") {
      expectHonest(readResponse(release.response));
      return;
    }
    expect(release.paid).toBe(isPaid || end !== "failed");
    if (end === "failed") {
      if (world.isOwed) world.served++;
      world.isOwed ||= isPaid;
      return;
    }
    world.ranIn = world.round;
    served();
    // A run that is owed may be a stranger's, so its response is kept for the payer.
    world.isKept ||= world.isOwed;
    if (end === "undelivered") {
      world.served--;
      world.isKept = true;
      await admission.undelivered(HANDLED);
    }
  }

  /** Duplicates in flight are served with the first request. Afterwards, only a response that may have been lost. */
  function served(): void {
    expect(world.moved).toBe(true);
    if (world.served > 0 && world.ranIn !== world.round) expect(world.isKept).toBe(true);
    world.served++;
  }

  /** A response that is not the handler's must be right about the money. */
  function expectHonest({ status, headers, json, text }: ReturnType<typeof readResponse>): void {
    // The outcome is unknown, so the response is kept when it is known.
    world.isKept ||= status === 503;
    if (text === "sunny" && status === 500) {
      expect(world.ranIn === world.round || world.paidIn === world.round || world.isOwed || !world.moved).toBe(true);
    } else if (text === "sunny") {
      served();
    } else if (json["error"] === "payment_already_used") {
      expect([status, world.served > 0 || world.paidIn === world.round]).toEqual([402, true]);
    } else if (json["error"] === "too_many_payments") {
      expect([status, world.moved, world.isOwed]).toEqual([429, true, true]);
    } else if (world.moved) {
      expect([409, 503]).toContain(status);
      expect(headers).not.toHaveProperty("payment-required");
      expect(text).not.toContain("not charged");
    } else {
      expect([402, 409, 503]).toContain(status);
    }
  }

  return { world, run };
}

afterEach(() => void vi.useRealTimers());

const plans = fc.record({
  /** How many requests are sent at once, each time. */
  rounds: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 6 }),
  fates: fc.array(fc.constantFrom(...FATES), { maxLength: 8 }),
  ends: fc.array(fc.constantFrom(...ENDS), { maxLength: 8 }),
});

test("a payment is served once unless its response may be lost, and no response is wrong about the money", async () => {
  await fc.assert(
    fc.asyncProperty(plans, async ({ rounds, fates, ends }) => {
      const { world, run } = createWorld();
      Object.assign(world, { fates: [...fates], ends: [...ends] });
      for (const [round, requests] of rounds.entries()) {
        world.round = round;
        await Promise.all(Array.from({ length: requests }, run));
      }
    }),
    { numRuns: 120 },
  );
});

test("a payer who keeps retrying is served in the end when the money moved", async () => {
  const fates = fc.array(fc.constantFrom("lost after", "pending", "lost before", "never sent"), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fates, async (some) => {
      const { world, run } = createWorld();
      Object.assign(world, { fates: [...some] });
      for (let times = 0; times <= some.length; times++) {
        // Long enough for the circuit breaker to let the next call through.
        vi.setSystemTime(Date.now() + 60_000);
        await run();
      }
      expect(world.moved).toBe(true);
      expect(world.served).toBeGreaterThan(0);
    }),
    { numRuns: 40 },
  );
});
