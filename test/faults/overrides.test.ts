/**
 * Amounts that a handler may not charge: above the authorized amount, malformed, or in a header.
 *
 * @module
 */
import { setSettlementOverrides } from "@farebox/express";
import { setSettlementOverrides as setReferenceOverrides } from "@x402/express";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChainBank, openChain } from "./bank.js";
import { openShop, PRICE } from "./shop.js";

let bank: ChainBank;
beforeAll(async () => {
  bank = await openChain();
});
afterAll(() => bank.close());

const UPTO = { accepts: { scheme: "upto", price: "$0.01", network: "eip155:84532" } } as const;

test("an override above the authorized amount fails in the handler, and the facilitator is not asked", async () => {
  const codes: unknown[] = [];
  const shop = await openShop({
    bank,
    routes: { "GET /goods": UPTO },
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

test.each(["{", "", "1.5", "1e3", "half", "-1", "1 ", "12.345%"])(
  "an override %j throws in the handler, and nothing is charged",
  async (amount) => {
    const codes: unknown[] = [];
    const shop = await openShop({
      bank,
      routes: { "GET /goods": UPTO },
      handler: (req, res) => {
        try {
          req.payment?.settle(amount);
        } catch (error) {
          codes.push(Reflect.get(Object(error), "code"));
        }
        // A handler that goes on all the same is not charged for.
        res.json({});
      },
    });
    await bank.allowPermit2(shop.payer.address);
    expect((await shop.buy()).status).toBe(500);
    expect(codes).toEqual(["ERR_FAREBOX_AMOUNT"]);
    expect([shop.settlements(), await shop.income(), await shop.spent()]).toEqual([0, 0n, 0n]);
  },
);

test("an override of the reference fails closed unless the handler has charged the same amount", async () => {
  const events: string[] = [];
  const note = (event: string) => void events.push(event);
  for (const [unmetered, amount, asked, taken] of [
    ["maximum", undefined, "7", undefined],
    ["maximum", "8", "7", undefined],
    ["zero", undefined, "7", undefined],
    ["error", undefined, "7", undefined],
    ["maximum", undefined, "0", undefined],
    ["maximum", "7", "7", 7n],
    ["maximum", undefined, "100%", PRICE],
  ] as const) {
    events.length = 0;
    const shop = await openShop({
      bank,
      routes: { "GET /goods": { ...UPTO, unmetered } },
      options: { logger: { info() {}, error: note, warn: note } },
      handler: (req, res) => {
        if (amount !== undefined) req.payment?.settle(amount);
        setReferenceOverrides(res, { amount: asked });
        res.json({});
      },
    });
    await bank.allowPermit2(shop.payer.address);
    const { status, headers } = await shop.buy();
    expect([status, headers["settlement-overrides"]]).toEqual([taken === undefined ? 500 : 200, undefined]);
    expect([await shop.income(), await shop.spent()]).toEqual([taken ?? 0n, taken ?? 0n]);
    expect(events.includes("FAREBOX_OVERRIDE_IN_HEADER")).toBe(taken === undefined);
    expect(events.includes("amount_in_header")).toBe(taken === undefined);
  }
});
