import type { RequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "./bank.js";
import { createLatch } from "./latch.js";
import { openShop, PRICE } from "./shop.js";

const COPIES = 10;

describe.each(BANKS)("%s", (_where, openBank) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank();
  });
  afterAll(() => bank.close());

  test("of ten duplicates at once, one runs the handler and is charged, and all get its response and receipt", async () => {
    const allAreIn = createLatch();
    let arrived = 0;
    const count: RequestHandler = (req, _res, next) => {
      if (req.get("payment-signature") !== undefined && ++arrived === COPIES) allAreIn.open();
      next();
    };
    const sell: RequestHandler = async (_req, res) => {
      await allAreIn.opened;
      res.json({ sold: Math.random() });
    };
    const shop = await openShop({
      bank,
      handler: sell,
      build: (app, payments, goods) => app.use(count, payments).get("/goods", ...goods),
    });
    const payment = await shop.sign();

    const answers = await Promise.all(Array.from({ length: COPIES }, () => shop.buy({ payment })));
    const [first] = answers;
    expect(answers.map(({ status }) => status)).toEqual(Array(COPIES).fill(200));
    expect(first!.receipt).toMatchObject({ success: true, payer: shop.payer.address });
    for (const { text, receipt } of answers)
      expect({ text, receipt }).toEqual({ text: first!.text, receipt: first!.receipt });
    expect(shop.runs()).toBe(1);
    expect(shop.settlements()).toBe(1);
    expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
  });
});
