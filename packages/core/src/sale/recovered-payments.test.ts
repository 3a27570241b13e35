import { expect, test } from "vitest";
import { createPaymentEvents } from "../events/events.js";
import { createOffer } from "../scheme/offer.js";
import type { Scheme } from "../scheme/scheme.js";
import { CLAIM } from "../store/memory-store.fixture.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PendingPayment } from "./outcome.js";
import { SettlementRecovery } from "./recover.js";
import { createTestScheme, NETWORK, PAY_TO, PAYER, paymentOf } from "./shop.fixture.js";

const ASSET = { id: "0xA", symbol: "USDC", decimals: 6, extra: {} };

/** A scheme that refuses a payment for other terms than those that the payer signed: 10,000 units. */
function createStrictScheme(): Scheme {
  const lenient = createTestScheme({ allowsLess: true });
  return {
    ...lenient,
    readPayment(payload, requirements, nowSeconds) {
      if (requirements.amount !== "10000") return { kind: "refused", reason: "invalid_payload" };
      return lenient.readPayment(payload, requirements, nowSeconds);
    },
  };
}

/** A process that starts with these unfinished payments in its store, by nonce. */
async function recover(scheme: Scheme, payments: readonly { readonly nonce: string; readonly amount: string }[]) {
  const now = () => 1_700_000_000_000;
  const store = createMemoryStore(now);
  const terms = { network: NETWORK, maxTimeoutSeconds: 300, extra: {} };
  const offer = createOffer(scheme, { asset: ASSET, amount: 10_000n, payTo: PAY_TO, isInDollars: true }, terms);
  for (const { nonce, amount } of payments) {
    const claim = { ...CLAIM, identity: nonce, owner: "dead", expiresAtMs: now() + 300_000 };
    const request = {
      x402Version: 2 as const,
      paymentPayload: { ...paymentOf({ payload: { nonce } }), accepted: offer.requirements },
      paymentRequirements: { ...offer.requirements, amount },
    };
    await store.claim(claim);
    const settling = { identity: nonce, from: "claimed", to: "settling", owner: "dead", leaseUntilMs: 0 } as const;
    await store.transition({ ...settling, request: request as never });
  }
  const settled: PendingPayment[] = [];
  const errors: string[] = [];
  const logger = { info: () => {}, warn: () => {}, error: (event: string) => void errors.push(event) };
  const recovery = new SettlementRecovery({
    ...{ store, schemes: [scheme], logger, now, timer: () => () => {} },
    events: createPaymentEvents(logger, now),
    inFlight: { find: () => undefined, end: () => {} },
    exposure: { owes: () => {} },
    leases: undefined,
    settler: {
      async settle(payment) {
        settled.push(payment);
        return { kind: "settled", receipt: { success: true, transaction: "0x1", network: NETWORK } };
      },
    },
  });
  return { counts: await recovery.recover(), settled, errors };
}

test("a payment of which the handler charged a part is recovered for that part", async () => {
  const { counts, settled, errors } = await recover(createStrictScheme(), [{ nonce: "n1", amount: "3000" }]);
  expect([counts, errors]).toEqual([{ settled: 1, rejected: 0, unknown: 0 }, []]);
  expect(settled).toMatchObject([{ payer: PAYER, facilitatorRequest: { paymentRequirements: { amount: "3000" } } }]);
});

test("a record that its scheme cannot read is logged, and the others are recovered", async () => {
  const scheme = createTestScheme();
  const throwing: Scheme = {
    ...scheme,
    readPayment(payload, requirements, nowSeconds) {
      if ((payload as { nonce: string }).nonce === "broken") throw new RangeError("unreadable");
      return scheme.readPayment(payload, requirements, nowSeconds);
    },
  };
  const payments = ["broken", "n2", "n3"].map((nonce) => ({ nonce, amount: "10000" }));
  const { counts, settled, errors } = await recover(throwing, payments);
  expect([counts, errors]).toEqual([{ settled: 2, rejected: 0, unknown: 1 }, ["settlement_not_recovered"]]);
  expect(settled.map(({ claim }) => claim.identity).sort()).toEqual(["n2", "n3"]);
});
