import { expect, test } from "vitest";
import { createShop, NETWORK, PAY_TO, PAYER, paymentOf, SETTLED } from "../sale/shop.fixture.js";
import type { RouteByHand, VerificationByHand } from "./by-hand.js";
import { RoutesByTerms, VerifiedByHand } from "./by-hand.js";

const ROUTE: RouteByHand = {
  accepts: { network: NETWORK, price: "$0.01", payTo: PAY_TO },
  resource: "https://api.example.com/weather",
};

function verifiedIn(verification: VerificationByHand) {
  if (verification.kind !== "verified") throw new Error(`not verified: ${JSON.stringify(verification)}`);
  return verification.payment;
}

test("of terms that are only known at a request, the last 256 are remembered", () => {
  const routes = new RoutesByTerms();
  const compiled: number[] = [];
  const get = (price: number) =>
    routes.get({ price: `$${price}` }, () => {
      compiled.push(price);
      return {} as never;
    });
  for (let price = 1; price <= 300; price++) {
    get(price);
    get(1);
  }
  expect([routes.size, compiled.length, compiled.filter((price) => price === 1)]).toEqual([256, 300, [1]]);
  get(2);
  expect(compiled.at(-1)).toBe(2);
  // Functions cannot be compared.
  const dynamic = { price: () => "$1" as const };
  for (let times = 0; times < 2; times++) routes.get(dynamic, () => ({ times }) as never);
  expect(routes.size).toBe(256);
});

test("a verified payment is forgotten when it is settled, released or expired", async () => {
  const verified = new VerifiedByHand();
  const request = { paymentPayload: paymentOf(), paymentRequirements: SETTLED } as never;
  const [first, second] = [{}, {}] as never[];
  verified.add(request, first!);
  verified.add(request, second!);
  // It was verified anew meanwhile.
  verified.remove(request, first!);
  expect(verified.size).toBe(1);
  verified.remove(request, second!);
  expect(verified.size).toBe(0);
});

test("a payment that had settled before it was verified, and is forgotten, is owed its run again", async () => {
  const { engine, passTime, facilitator } = createShop({ copyWaitMs: 0 });
  const sale = engine.byHand({ ...ROUTE, settle: "before" });
  const payment = paymentOf({ payload: { expiresAtSeconds: 1_800_000_000 + 3_600 } });
  const forgotten = verifiedIn(await sale.verify(payment));
  expect(engine.findByHand(payment, forgotten.requirements)).toBe(forgotten);
  await passTime(300_000);
  expect(engine.findByHand(payment, forgotten.requirements)).toBeUndefined();
  const again = verifiedIn(await sale.verify(payment));
  expect([again.receipt?.transaction, facilitator.count("settle")]).toEqual([SETTLED.transaction, 1]);
  expect(await again.settle()).toMatchObject({ kind: "settled", receipt: { payer: PAYER } });
});

test("a payment whose verification fails is refused by hand with 503, and one that a facilitator refuses with its reason", async () => {
  const { engine, facilitator } = createShop();
  const sale = engine.byHand(ROUTE);
  facilitator.verifies = new Error("down");
  expect(await sale.verify(paymentOf())).toMatchObject({ kind: "refused", response: { status: 503 } });
  facilitator.verifies = { isValid: false, invalidReason: "insufficient_funds" };
  expect(await sale.verify(paymentOf())).toMatchObject({
    kind: "refused",
    response: { status: 402, headers: { "PAYMENT-REQUIRED": expect.any(String) } },
    reason: "insufficient_funds",
    error: "insufficient_funds",
  });
  facilitator.verifies = { isValid: true, payer: PAYER };
  facilitator.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
  expect(await verifiedIn(await sale.verify(paymentOf())).settle()).toMatchObject({
    kind: "refused",
    response: { status: 402 },
    reason: "insufficient_funds",
    receipt: { success: false },
  });
  // Its record says so from now on.
  expect(await sale.verify(paymentOf())).toMatchObject({ kind: "refused", receipt: { success: false } });
});
