import { once } from "node:events";
import type { RequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "./bank.js";
import { createLatch } from "./latch.js";
import { openShop, PRICE } from "./shop.js";

describe.each(BANKS)("%s", (_where, openBank) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank();
  });
  afterAll(() => bank.close());

  test("a client that leaves while the handler works is not charged, and its payment stays good", async () => {
    const client = new AbortController();
    const answered = createLatch();
    let isFirst = true;
    const handler: RequestHandler = async (_req, res) => {
      if (isFirst) {
        isFirst = false;
        const closed = once(res, "close");
        client.abort();
        await closed;
      }
      res.json({ sold: true });
      answered.open();
    };
    const shop = await openShop({ bank, handler });
    const payment = await shop.sign();
    await expect(shop.buy({ payment, signal: client.signal })).rejects.toThrow("no complete response");
    await answered.opened;
    expect(shop.runs()).toBe(1);
    expect([await shop.income(), await shop.spent()]).toEqual([0n, 0n]);

    expect(await shop.buy({ payment })).toMatchObject({ status: 200, receipt: { success: true } });
    expect([shop.runs(), shop.settlements()]).toEqual([2, 1]);
    expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
  });
});
