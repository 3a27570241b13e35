/**
 * A facilitator that is down at boot, does not respond, or drops a network.
 *
 * @module
 */
import type { PaymentOption } from "@farebox/express";
import { expect, onTestFinished, test } from "vitest";
import { openLedger } from "./bank.js";
import { DEADLINES, openShop, PRICE, passDeadline, stopClock } from "./shop.js";

test("a facilitator that is down at boot costs free routes nothing, and priced ones are 503 until it is back", async () => {
  const bank = await openLedger();
  await bank.server.close();
  const shop = await openShop({ bank });
  expect((await shop.ask({ path: "/free" })).status).toBe(200);
  expect((await shop.ask()).challenge?.accepts).toMatchObject([{ network: "eip155:84532" }]);
  const refused = await shop.buy();
  expect(refused).toMatchObject({ status: 503, challenge: { accepts: [{ network: "eip155:84532" }] } });
  expect(refused.headers["payment-required"]).toBeUndefined();
  expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  expect(shop.runs()).toBe(0);

  const back = await openLedger(Number(new URL(bank.server.url).port));
  await back.fund(shop.payer.address, PRICE);
  const sold = await shop.buy({ payment: refused.payment! });
  expect(sold).toMatchObject({ status: 200, receipt: { success: true } });
  expect(await back.balanceOf(shop.payTo)).toBe(PRICE);
  await back.close();
});

test("no request waits for a facilitator that does not say what it supports", async () => {
  const bank = await openLedger();
  onTestFinished(() => bank.close());
  const held = bank.server.faults.always("supported", { kind: "hold" });
  const shop = await openShop({ bank });
  await held.reached;
  expect((await shop.ask({ path: "/free" })).status).toBe(200);
  expect((await shop.ask()).challenge?.accepts).toMatchObject([{ network: "eip155:84532" }]);
  expect((await shop.buy()).status).toBe(200);
  expect(await shop.income()).toBe(PRICE);
});

test("a facilitator that does not respond to verify is given up, and the payment is good once it does", async () => {
  stopClock();
  const shop = await openShop({ options: { deadlines: DEADLINES } });
  const held = shop.facilitatorServer.faults.next("verify", { kind: "hold" });
  const buying = shop.buy();
  await passDeadline(held);
  const refused = await buying;
  expect(refused).toMatchObject({ status: 503, headers: { "retry-after": "5" }, receipt: undefined });
  expect(shop.runs()).toBe(0);
  expect((await shop.buy({ payment: refused.payment! })).status).toBe(200);
  expect(await shop.income()).toBe(PRICE);
});

test("a facilitator that does not respond to settle is asked again for the same payment, and debits once", async () => {
  stopClock();
  const shop = await openShop({ options: { deadlines: DEADLINES } });
  const held = shop.facilitatorServer.faults.next("settle", { kind: "hold", when: "after" });
  const buying = shop.buy();
  await passDeadline(held);
  const unknown = await buying;
  expect(unknown).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
  expect(unknown.headers["payment-required"]).toBeUndefined();
  expect((await shop.buy({ payment: unknown.payment! })).status).toBe(200);
  expect(shop.runs()).toBe(1);
  expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
});

const SEPOLIA = { price: "$0.01", network: "eip155:84532" } as const;
const BASE = { price: "$0.01", network: "eip155:8453" } as const;

/** A shop whose facilitator has said what it supports, which is no longer Base. */
async function openLeftShop(accepts: readonly PaymentOption[]) {
  const bank = await openLedger();
  onTestFinished(() => bank.close());
  const shop = await openShop({ bank, routes: { "GET /goods": { accepts } } });
  const { findings } = await shop.ready();
  expect(findings.map(({ code }) => code)).toContain("FAREBOX_OFFER_UNSUPPORTED");
  return shop;
}

test("a network that the facilitator drops is left out, and all other offers are sold as before", async () => {
  const shop = await openLeftShop([BASE, SEPOLIA]);
  expect((await shop.ask()).challenge?.accepts.map(({ network }) => network)).toEqual(["eip155:84532"]);
  expect((await shop.ask({ path: "/free" })).status).toBe(200);
  expect((await shop.buy()).status).toBe(200);
  expect(await shop.income()).toBe(PRICE);
});

test("a route whose only network is dropped answers 503, and no other route does", async () => {
  const shop = await openLeftShop([BASE]);
  const refused = await shop.ask();
  expect(refused).toMatchObject({ status: 503, challenge: undefined });
  expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  expect(shop.runs()).toBe(0);
  expect((await shop.ask({ path: "/free" })).status).toBe(200);
});
