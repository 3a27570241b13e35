/**
 * The same payment more than once: sent by the client ten times, repeated by a proxy, lost after the money has moved.
 *
 * @module
 */
import type { Fault } from "@farebox/testing";
import type { RequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "./bank.js";
import { createLatch } from "./latch.js";
import { openShop, PRICE } from "./shop.js";

const COPIES = 10;

const FAULTS: readonly (readonly [what: string, fault: Fault])[] = [
  ["the connection is reset", { kind: "drop", when: "after" }],
  ["it answers 502", { kind: "status", when: "after", status: 502, body: "<html>502 Bad Gateway</html>" }],
];

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

  test.each(["verify", "settle"] as const)("a %s that a proxy repeats moves money once", async (operation) => {
    const shop = await openShop({ bank });
    bank.server.faults.next(operation, { kind: "duplicate", answer: "first" });
    const sold = await shop.buy();
    expect(sold).toMatchObject({ status: 200, receipt: { success: true } });
    expect([shop.runs(), await shop.income(), await shop.spent()]).toEqual([1, PRICE, PRICE]);
    expect((await shop.buy({ payment: sold.payment! })).challenge?.error).toBe("payment_already_used");
  });

  // Who sees only the answer to the repeat cannot tell it from a payment that was used elsewhere: docs/reference/lifecycle.md.
  test("the receipt names the transaction when the first response of a settle is lost", async () => {
    const shop = await openShop({ bank });
    bank.server.faults.next("settle", { kind: "duplicate", answer: "second" });
    const refused = await shop.buy();
    expect(refused).toMatchObject({ status: 402, receipt: { success: false, errorReason: "payment_already_settled" } });
    expect(refused.receipt?.transaction).toMatch(/^0x[0-9a-f]{64}$/);
    expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
  });

  test.each(FAULTS)(
    "a payer is not asked to sign again, and is debited once, when the money has moved and %s",
    async (_what, fault) => {
      const shop = await openShop({ bank });
      const payment = await shop.sign();
      bank.server.faults.next("settle", fault);
      const unknown = await shop.buy({ payment });
      expect(unknown).toMatchObject({ status: 503, challenge: undefined });
      expect(unknown.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
      expect(await shop.spent()).toBe(PRICE);

      const delivered = await shop.buy({ payment });
      expect(delivered).toMatchObject({ status: 200, receipt: { success: true } });
      expect(delivered.json()).toEqual({ goods: 1 });
      expect(shop.runs()).toBe(1);
      expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
    },
  );
});
