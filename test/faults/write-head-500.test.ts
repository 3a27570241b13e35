import type { RequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "./bank.js";
import { openShop, PRICE } from "./shop.js";

/** Fails at first. */
function createHandler(): RequestHandler {
  let isFixed = false;
  return (_req, res) => {
    res.writeHead(isFixed ? 200 : 500, { "Content-Type": "text/plain" }).end(isFixed ? "sold" : "failed");
    isFixed = true;
  };
}

describe.each(BANKS)("%s", (_where, openBank) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank();
  });
  afterAll(() => bank.close());

  test("a handler that says 500 by writeHead is not charged for, and the same payment buys the next response", async () => {
    const shop = await openShop({ bank, handler: createHandler() });
    const failed = await shop.buy();
    expect(failed).toMatchObject({
      status: 500,
      text: "failed",
      receipt: { success: false, errorReason: "not_charged" },
    });
    expect(shop.settlements()).toBe(0);
    expect([await shop.income(), await shop.spent()]).toEqual([0n, 0n]);

    const sold = await shop.buy({ payment: failed.payment! });
    expect(sold).toMatchObject({ status: 200, text: "sold", receipt: { success: true } });
    expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
  });
});
