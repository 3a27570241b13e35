import type { Fault } from "@farebox/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "./bank.js";
import { openShop, PRICE } from "./shop.js";

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
