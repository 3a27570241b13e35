/**
 * Amounts that a handler may not charge: above the authorized amount, malformed, or in a header.
 *
 * @module
 */
import { setSettlementOverrides } from "@farebox/express";
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
    const shop = await openShop({
      bank,
      routes: { "GET /goods": UPTO },
      handler: (req, res, next) => {
        try {
          req.payment?.settle(amount);
          res.json({});
        } catch (error) {
          next(error);
        }
      },
    });
    await bank.allowPermit2(shop.payer.address);
    expect((await shop.buy()).status).toBe(500);
    expect([shop.settlements(), await shop.income(), await shop.spent()]).toEqual([0, 0n, 0n]);
  },
);

test("an override in a header, as the reference reads it, is dropped and named, and the route's price is charged", async () => {
  const warnings: string[] = [];
  const logger = { info() {}, error() {}, warn: (event: string) => void warnings.push(event) };
  for (const [unmetered, taken] of [
    ["maximum", PRICE],
    ["zero", 0n],
    ["error", 0n],
  ] as const) {
    const shop = await openShop({
      bank,
      routes: { "GET /goods": { ...UPTO, unmetered } },
      options: { logger },
      handler: (_req, res) => void res.set("Settlement-Overrides", "{not JSON").json({}),
    });
    await bank.allowPermit2(shop.payer.address);
    const { status, headers } = await shop.buy();
    expect([status, headers["settlement-overrides"]]).toEqual([unmetered === "error" ? 500 : 200, undefined]);
    expect(await shop.income()).toBe(taken);
  }
  expect(warnings).toContain("FAREBOX_OVERRIDE_IN_HEADER");
});
