/**
 * An amount that cannot be charged, in a handler that swallows the error: the whole is never charged in its place.
 */

import { setSettlementOverrides as setByCompat } from "@farebox/compat";
import type { Payment, PaymentsOptions, RouteConfig, SettleTime } from "@farebox/core";
import { price as computed, createPayments, setSettlementOverrides, usd } from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import express, { type Response } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { PAY_TO } from "./shop.js";

const NETWORK = "eip155:84532";

interface Plan {
  readonly scheme?: string;
  readonly settle?: SettleTime;
  /** A cent. Default: `"$0.01"`. */
  readonly price?: RouteConfig["price"];
  readonly priceParsers?: PaymentsOptions["priceParsers"];
  /** What the handler does to its payment. Errors are swallowed, as in handlers that call it not fatal. */
  readonly steps: readonly ((payment: Payment, res: Response) => void)[];
}

/** Pays once at a handler that swallows errors. */
async function buy({ scheme = "exact", settle = "after", price = "$0.01", priceParsers = [], steps }: Plan) {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const lines: string[] = [];
  const error = (event: string, fields: object) => void lines.push(`${event} ${JSON.stringify(fields)}`);
  const payments = createPayments({ facilitator, priceParsers, logger: { info() {}, warn() {}, error } });
  const thrown: unknown[] = [];
  const app = express();
  const accepts = { scheme, settle, price, network: NETWORK, payTo: PAY_TO };
  app.get("/report", payments.charge({ accepts }), (req, res) => {
    for (const step of steps) {
      try {
        if (req.payment !== undefined) step(req.payment, res);
      } catch (error) {
        thrown.push(Reflect.get(Object(error), "code"));
      }
    }
    res.json({ failed: true });
  });
  const server = app.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const { status, receipt } = await pay(`http://127.0.0.1:${port}/report`, { payer });
  const moved = facilitator.ledger.transfers.map(({ amount }) => amount);
  return { status, receipt, moved, thrown, lines };
}

const override = (amount: unknown) => (_: Payment, res: Response) =>
  setSettlementOverrides(res, { amount: amount as string });
const settle = (amount: string) => (payment: Payment) => payment.settle(amount);
const charge = (amount: string) => (payment: Payment) => payment.charge(amount);
const AMOUNT = "ERR_FAREBOX_AMOUNT";
const STATE = "ERR_FAREBOX_STATE";

test.each<[scheme: string, what: string, thrown: string, step: Plan["steps"][number]]>([
  ["exact", 'amount: "0"', STATE, override("0")],
  ["exact", 'amount: "0" by compat', STATE, (_, res) => setByCompat(res, { amount: "0" })],
  ["exact", "a charge", STATE, charge("1")],
  ["upto", "more than the maximum", AMOUNT, override("10001")],
  ["upto", "no amount", AMOUNT, override("abc")],
  ["upto", "a number", AMOUNT, override(500)],
  ["upto", "nothing", AMOUNT, override(undefined)],
  ["upto", "no overrides at all", AMOUNT, (_, res) => setSettlementOverrides(res, undefined as never)],
  ["upto", "a negative charge", AMOUNT, charge("-5")],
  ["upto", "a first charge above the maximum", AMOUNT, charge("10001")],
])("%s: a handler that swallows the error for %s charges nothing and gets 500", async (scheme, _, code, step) => {
  const { status, moved, thrown, lines } = await buy({ scheme, steps: [step] });
  expect([status, moved, thrown]).toEqual([500, [], [code]]);
  expect(lines).toEqual([expect.stringMatching(/^amount_refused .*"route":".*"remedy":"/)]);
});

test.each<[what: string, scheme: string, steps: Plan["steps"], charged: bigint[]]>([
  ["a good amount after a refused one", "upto", [settle("abc"), settle("$0.002")], [2_000n]],
  ["zero after a refused one", "upto", [settle("10001"), settle("0")], []],
  ["the whole after a refused one", "exact", [settle("0"), settle("10000")], [10_000n]],
  ["what was charged before the maximum was used up", "upto", [charge("9999"), charge("2")], [9_999n]],
])("a handler charges %s", async (_what, scheme, steps, charged) => {
  const { status, moved, thrown } = await buy({ scheme, steps });
  expect([status, moved, thrown.length]).toEqual([200, charged, 1]);
});

test("a refused amount is logged where the money has moved before, and the response goes out", async () => {
  const { status, moved, lines } = await buy({ settle: "before", steps: [override("0"), override("0")] });
  expect([status, moved]).toEqual([200, [10_000n]]);
  expect(lines).toEqual([expect.stringMatching(/^amount_refused .*the money has moved/)]);
});

const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const ATOMIC = { asset: USDC, amount: "10000" };
const inDollars: readonly (readonly [what: string, step: Plan["steps"][number]])[] = [
  ["an override", override("$0.002")],
  ["an override by compat", (_, res) => setByCompat(res, { amount: "$0.002" })],
  ["settle", settle("$0.002")],
  ["charge", charge("$0.002")],
  ["a price of units", (payment) => payment.charge({ tokens: 20, price: "$0.0001" })],
];

describe.each<[how: string, price: RouteConfig["price"], priceParsers?: Plan["priceParsers"]]>([
  ["in atomic units", ATOMIC],
  ["in atomic units, by a function", () => ATOMIC],
  ["by a ticker alone", "0.01 USDC"],
  ["by a ticker alone, by a function", async () => "0.01 USDC"],
  ["that is computed by a ticker", computed("0.005 USDC").times(2)],
  ["of a parser for tickers", "0.01 USDC", [{ namedTokens: true, parse: () => ATOMIC }]],
])("beside a price %s, dollars are no amount", (_how, price, priceParsers = []) => {
  test.each(inDollars)("by %s: it throws, nothing is charged, and the client gets 500", async (_what, step) => {
    const { status, moved, thrown, lines } = await buy({ scheme: "upto", price, priceParsers, steps: [step] });
    expect([status, moved, thrown]).toEqual([500, [], [AMOUNT]]);
    expect(lines).toEqual([expect.stringMatching(/^amount_refused .*the price is not written in dollars/)]);
  });
});

describe.each<[how: string, price: RouteConfig["price"], priceParsers?: Plan["priceParsers"]]>([
  ["with a dollar sign", "$0.01"],
  ["with a dollar sign, by a function", () => "$0.01"],
  ["in USD", "0.01 USD"],
  ["with a dollar sign and a ticker", "$0.01 USDC"],
  ["that is computed in dollars", usd("0.005").times(2)],
  ["that is computed by a function", () => usd("0.005").times(2)],
  ["that a parser reads", "$0.01", [{ parse: () => ATOMIC }]],
  ["that a parser reads later", "$0.01", [{ parse: async () => ATOMIC }]],
])("beside a price %s, dollars are an amount", (_how, price, priceParsers = []) => {
  test.each(inDollars)("by %s, by the decimals of the token", async (_what, step) => {
    const { status, moved } = await buy({ scheme: "upto", price, priceParsers, steps: [step] });
    expect([status, moved]).toEqual([200, [2_000n]]);
  });
});

test.each<[settle: SettleTime, what: string, charged: bigint[]]>([
  ["before", "refuses dollars, and what has settled stays", [10_000n]],
  ["metered", "refuses dollars, and nothing is charged", []],
])("beside a price in atomic units, settle: %j %s", async (settle, _what, charged) => {
  const { moved, thrown } = await buy({ scheme: "upto", settle, price: ATOMIC, steps: [charge("$0.002")] });
  expect([moved, thrown]).toEqual([charged, [AMOUNT]]);
});

test("the whole of an exact price in atomic units is not said in dollars", async () => {
  const { status, moved, thrown } = await buy({ price: ATOMIC, steps: [override("$0.01")] });
  expect([status, moved, thrown]).toEqual([500, [], [STATE]]);
});
