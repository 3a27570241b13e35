/**
 * Requests that end without a sale: the client leaves, the handler fails, redirects, or has nothing to send.
 *
 * @module
 */
import { once } from "node:events";
import type { RequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "./bank.js";
import { createLatch } from "./latch.js";
import { openShop, PRICE } from "./shop.js";

/** Fails at first. */
function createHandler(): RequestHandler {
  let isFixed = false;
  return (_req, res) => {
    res.writeHead(isFixed ? 200 : 500, { "Content-Type": "text/plain" }).end(isFixed ? "sold" : "failed");
    isFixed = true;
  };
}

const redirect: RequestHandler = (_req, res) => void res.redirect("/goods?2");
/** Express answers 304 by itself to a client that has this already. */
const send: RequestHandler = (_req, res) => void res.set("ETag", '"1"').send("sold");
const notModified: RequestHandler = (_req, res) => void res.status(304).end();

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

  test("a redirect to another priced route is not charged for", async () => {
    const shop = await openShop({ bank, handler: redirect });
    const redirected = await shop.buy();
    expect(redirected).toMatchObject({ status: 302, headers: { location: "/goods?2" }, receipt: { success: false } });
    expect(shop.runs()).toBe(1);
    expect(shop.settlements()).toBe(0);
    expect([await shop.income(), await shop.spent()]).toEqual([0n, 0n]);
  });

  test("a condition of the client's is no reason to give: what it says it has is sold again", async () => {
    const shop = await openShop({ bank, handler: send });
    const sold = await shop.buy({ headers: { "If-None-Match": "*" } });
    expect(sold).toMatchObject({ status: 200, text: "sold", receipt: { success: true } });
    expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
  });

  test("a 304 of the handler's own is not charged for", async () => {
    const shop = await openShop({ bank, handler: notModified });
    expect(await shop.buy()).toMatchObject({ status: 304, text: "", receipt: { success: false } });
    expect(shop.settlements()).toBe(0);
    expect([await shop.income(), await shop.spent()]).toEqual([0n, 0n]);
  });
});
