import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "./bank.js";
import { openShop, PRICE } from "./shop.js";

describe.each(BANKS)("%s", (_where, openBank) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank();
  });
  afterAll(() => bank.close());

  test.each(["verify", "settle"] as const)("a %s that a proxy repeats moves money once", async (operation) => {
    const shop = await openShop({ bank });
    bank.server.faults.next(operation, { kind: "duplicate", answer: "first" });
    const sold = await shop.buy();
    expect(sold).toMatchObject({ status: 200, receipt: { success: true } });
    expect([shop.runs(), await shop.income(), await shop.spent()]).toEqual([1, PRICE, PRICE]);
    expect((await shop.buy({ payment: sold.payment! })).challenge?.error).toBe("payment_already_used");
  });

  // Who sees only the answer to the repeat cannot tell it from a payment that was used elsewhere: docs/lifecycle.md.
  test("the receipt names the transaction when the first response of a settle is lost", async () => {
    const shop = await openShop({ bank });
    bank.server.faults.next("settle", { kind: "duplicate", answer: "second" });
    const refused = await shop.buy();
    expect(refused).toMatchObject({ status: 402, receipt: { success: false, errorReason: "payment_already_settled" } });
    expect(refused.receipt?.transaction).toMatch(/^0x[0-9a-f]{64}$/);
    expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
  });
});
