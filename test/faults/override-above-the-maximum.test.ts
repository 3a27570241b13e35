import { setSettlementOverrides } from "@farebox/express";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChainBank, openChain } from "./bank.js";
import { openShop, PRICE } from "./shop.js";

let bank: ChainBank;
beforeAll(async () => {
  bank = await openChain();
});
afterAll(() => bank.close());

const UPTO = { "GET /goods": { accepts: { scheme: "upto", price: "$0.01", network: "eip155:84532" } } } as const;

test("an override above the authorized amount fails in the handler, and the facilitator is not asked", async () => {
  const codes: unknown[] = [];
  const shop = await openShop({
    bank,
    routes: UPTO,
    handler: (_req, res) => {
      try {
        setSettlementOverrides(res, { amount: String(PRICE + 1n) });
      } catch (error) {
        codes.push(Reflect.get(Object(error), "code"));
        res.status(500).json({ error: "the meter is wrong" });
      }
    },
  });
  await bank.allowPermit2(shop.payer.address);
  const failed = await shop.buy();
  expect(failed).toMatchObject({ status: 500, receipt: { success: false, errorReason: "not_charged" } });
  expect([codes, shop.settlements()]).toEqual([["ERR_FAREBOX_AMOUNT"], 0]);
  expect([await shop.income(), await shop.spent()]).toEqual([0n, 0n]);
});
