import type { RequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "./bank.js";
import { openShop, PRICE } from "./shop.js";

const redirect: RequestHandler = (_req, res) => void res.redirect("/elsewhere");
/** Express answers 304 by itself to a client that has this already. */
const send: RequestHandler = (_req, res) => void res.set("ETag", '"1"').send("sold");
const HAS_IT = { "If-None-Match": '"1"' };

describe.each(BANKS)("%s", (_where, openBank) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank();
  });
  afterAll(() => bank.close());

  test("a redirect is not charged for", async () => {
    const shop = await openShop({ bank, handler: redirect });
    const redirected = await shop.buy();
    expect(redirected).toMatchObject({ status: 302, headers: { location: "/elsewhere" }, receipt: { success: false } });
    expect(shop.runs()).toBe(1);
    expect(shop.settlements()).toBe(0);
    expect([await shop.income(), await shop.spent()]).toEqual([0n, 0n]);
  });

  test("a 304 without a body is not charged for, and the same payment buys the body", async () => {
    const shop = await openShop({ bank, handler: send });
    const known = await shop.buy({ headers: HAS_IT });
    expect(known).toMatchObject({ status: 304, text: "", receipt: { success: false } });
    expect(shop.settlements()).toBe(0);
    expect([await shop.income(), await shop.spent()]).toEqual([0n, 0n]);

    const sold = await shop.buy({ payment: known.payment! });
    expect(sold).toMatchObject({ status: 200, text: "sold", receipt: { success: true } });
    expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
  });
});
