import type { PaymentOption } from "@farebox/express";
import { expect, onTestFinished, test } from "vitest";
import { openLedger } from "./bank.js";
import { openShop, PRICE } from "./shop.js";

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
