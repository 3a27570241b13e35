import { expect, onTestFinished, test } from "vitest";
import { openLedger } from "./bank.js";
import { DEADLINES, openShop, PRICE } from "./shop.js";

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
  const shop = await openShop({ options: { deadlines: DEADLINES } });
  const held = shop.facilitatorServer.faults.next("verify", { kind: "hold" });
  const refused = await shop.buy();
  await held.reached;
  expect(refused).toMatchObject({ status: 503, headers: { "retry-after": "5" }, receipt: undefined });
  expect(shop.runs()).toBe(0);
  expect((await shop.buy({ payment: refused.payment! })).status).toBe(200);
  expect(await shop.income()).toBe(PRICE);
});

test("a facilitator that does not respond to settle is asked again for the same payment, and debits once", async () => {
  const shop = await openShop({ options: { deadlines: DEADLINES } });
  const held = shop.facilitatorServer.faults.next("settle", { kind: "hold", when: "after" });
  const unknown = await shop.buy();
  await held.reached;
  expect(unknown).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
  expect(unknown.headers["payment-required"]).toBeUndefined();
  expect((await shop.buy({ payment: unknown.payment! })).status).toBe(200);
  expect(shop.runs()).toBe(1);
  expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
});
