/**
 * Property tests: for any behaviour of the facilitators, the pool settles each payment with one of them.
 *
 * @module
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FacilitatorError } from "../errors.js";
import { REQUEST } from "./http-server.fixture.js";
import { createManualClock, failure, quiet, scripted, supporting } from "./pool.fixture.js";
import { createFacilitatorPool } from "./pool.js";

/** A new seed each day: the tests see more over time, and a failure repeats on the same day. */
const seed = Math.floor(Date.now() / 86_400_000);

const BEHAVIOURS = ["accept", "refuse", "none", "none, come back later", "unknown", "garbage", "throw"] as const;
type Behaviour = (typeof BEHAVIOURS)[number];

const PAYMENTS = ["p", "q", "r"] as const;

interface Call {
  readonly operation: "verify" | "settle";
  readonly payment: (typeof PAYMENTS)[number];
  /** The behaviour of each facilitator for this call. */
  readonly behaviours: readonly Behaviour[];
  /** The time before this call. */
  readonly waitMs: number;
  /** Whether the next call begins before this one has ended. */
  readonly overlaps: boolean;
}

const { network } = REQUEST.paymentRequirements;
const RESPONSES = {
  verify: { accept: { isValid: true }, refuse: { isValid: false } },
  settle: {
    accept: { success: true, transaction: "0x1", network },
    refuse: { success: false, errorReason: "insufficient_funds", transaction: "", network },
  },
} as const;

function behave(operation: "verify" | "settle", behaviour: Behaviour): unknown {
  switch (behaviour) {
    case "accept":
    case "refuse":
      return RESPONSES[operation][behaviour];
    case "none":
      throw failure(operation, "none");
    case "none, come back later":
      throw failure(operation, "none", 45);
    case "unknown":
      throw failure(operation, "unknown");
    case "garbage":
      return { hello: "world" };
    case "throw":
      throw new RangeError("a bug");
  }
}

const FACILITATORS = 3;

/** Turns that an overlapping settlement takes; each call after it takes one to begin. */
const LONG_CALL = 3;

const calls: fc.Arbitrary<Call[]> = fc.array(
  fc.record({
    operation: fc.constantFrom("verify", "settle", "settle"),
    payment: fc.constantFrom(...PAYMENTS),
    behaviours: fc.array(fc.constantFrom(...BEHAVIOURS), { minLength: FACILITATORS, maxLength: FACILITATORS }),
    waitMs: fc.constantFrom(0, 0, 1_000, 15_000, 70_000),
    overlaps: fc.boolean(),
  }),
  { maxLength: 40 },
);

/** One settlement that reached a facilitator. */
interface Received {
  readonly payment: string;
  readonly facilitator: number;
  readonly behaviour: Behaviour;
}

/** Makes the calls. A facilitator behaves as the call that began last says, and may take several turns. */
async function run(sequence: readonly Call[], facilitators: number) {
  const clock = createManualClock();
  const received: Received[] = [];
  const results: { readonly call: Call; readonly result: unknown }[] = [];
  let current: Call | undefined;
  const members = Array.from({ length: facilitators }, (_, facilitator) => {
    const now = () => current?.behaviours[facilitator] ?? "accept";
    return scripted({
      verify: () => behave("verify", now()),
      async settle({ paymentPayload }) {
        const behaviour = now();
        received.push({ payment: String(paymentPayload.payload["nonce"]), facilitator, behaviour });
        const turns = current?.overlaps ? LONG_CALL : 0;
        for (let turn = 0; turn < turns; turn++) await quiet();
        return behave("settle", behaviour);
      },
      supported: () => supporting(["exact", network]),
    });
  });
  const entries = members.map((facilitator, at) => ({ facilitator, name: `f${at}` }));
  const pool = createFacilitatorPool(entries, { clock });
  await pool.ready();
  const pending: Promise<unknown>[] = [];
  for (const call of sequence) {
    current = call;
    await clock.advance(call.waitMs);
    const request = { ...REQUEST, paymentPayload: { ...REQUEST.paymentPayload, payload: { nonce: call.payment } } };
    const made = pool[call.operation](request, { payment: call.payment })
      .catch((error: FacilitatorError) => error)
      .then((result: unknown) => results.push({ call, result }));
    pending.push(made);
    if (!call.overlaps) await made;
  }
  await Promise.all(pending);
  pool.close();
  return { received, results };
}

const NEVER_GOT_THERE: readonly Behaviour[] = ["none", "none, come back later"];
const facilitators = fc.constantFrom(2, FACILITATORS);

describe(`any calls to any facilitators (seed ${seed})`, () => {
  test("a payment stays with one facilitator after any settlement that is not provably unsent", async () => {
    await fc.assert(
      fc.asyncProperty(calls, facilitators, async (sequence, count) => {
        const { received } = await run(sequence, count);
        for (const payment of PAYMENTS) {
          const ofPayment = received.filter((settlement) => settlement.payment === payment);
          const first = ofPayment.findIndex(({ behaviour }) => !NEVER_GOT_THERE.includes(behaviour));
          const holders = new Set(first === -1 ? [] : ofPayment.slice(first).map(({ facilitator }) => facilitator));
          expect(holders.size).toBeLessThanOrEqual(1);
        }
      }),
      { seed, numRuns: 120 },
    );
  });

  test("at most one facilitator reports a payment as settled", async () => {
    await fc.assert(
      fc.asyncProperty(calls, facilitators, async (sequence, count) => {
        const { received } = await run(sequence, count);
        for (const payment of PAYMENTS) {
          const settlers = received.filter((settled) => settled.payment === payment && settled.behaviour === "accept");
          expect(new Set(settlers.map(({ facilitator }) => facilitator)).size).toBeLessThanOrEqual(1);
        }
      }),
      { seed, numRuns: 120 },
    );
  });

  test("a settlement with an unknown outcome is never reported as anything else", async () => {
    await fc.assert(
      fc.asyncProperty(calls, facilitators, async (sequence, count) => {
        const oneByOne = sequence.map((call) => ({ ...call, overlaps: false }));
        const { received, results } = await run(oneByOne, count);
        const unclear = received.filter(({ behaviour }) => ["unknown", "garbage", "throw"].includes(behaviour));
        const settlements = results.filter(({ call }) => call.operation === "settle");
        const saidSo = settlements.filter(({ result }) => (result as FacilitatorError).outcome === "unknown");
        expect(saidSo).toHaveLength(unclear.length);
      }),
      { seed, numRuns: 120 },
    );
  });

  test("a verification gets a response if one facilitator works", async () => {
    await fc.assert(
      fc.asyncProperty(calls, facilitators, fc.nat(1), async (sequence, count, working) => {
        const verifications = sequence.map((call): Call => {
          const behaviours = call.behaviours.map((behaviour, at) => (at === working ? "accept" : behaviour));
          return { ...call, operation: "verify", behaviours };
        });
        const { results } = await run(verifications, count);
        for (const { result } of results) expect(result).toHaveProperty("isValid");
      }),
      { seed, numRuns: 120 },
    );
  });
});
