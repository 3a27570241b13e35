/**
 * A facilitator that fails while a tool is paid: the client's result, the charge, and the result for the same payment later.
 */
import type { Fault } from "@farebox/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BANKS, type Bank, type LedgerBank, openLedger } from "../faults/bank.js";
import { createLatch } from "../faults/latch.js";
import { DEADLINES, SECRET } from "../faults/shop.js";
import { openShop, PRICE, problemOf, receiptOf, type Shop, textOf } from "./shop.js";

const HTML = `<html><body><h1>502</h1>${SECRET}</body></html>`;

let bank: LedgerBank;
let shop: Shop;

beforeEach(async () => {
  bank = await openLedger();
  shop = await openShop({ bank, options: { deadlines: DEADLINES } });
});

afterEach(async () => {
  vi.useRealTimers();
  await bank.close();
});

const FAULTS: readonly { why: string; fault: Fault }[] = [
  { why: "the connection is reset", fault: { kind: "drop" } },
  { why: "it responds with 500 and HTML", fault: { kind: "status", status: 500, body: HTML } },
  { why: "it responds with 502 and HTML", fault: { kind: "status", status: 502, body: HTML } },
  { why: "it responds with half a document", fault: { kind: "garbage" } },
  { why: "it responds with an empty body", fault: { kind: "empty" } },
  { why: "it does not respond", fault: { kind: "hold" } },
  { why: "it never ends its response", fault: { kind: "slow-body" } },
  {
    why: "it responds with another document",
    fault: { kind: "rewrite", rewrite: () => ({ valid: true, note: SECRET }) },
  },
];

describe("at verification", () => {
  test.each(FAULTS)(
    "a tool says that nothing was charged when $why at verification, and takes the same payment later",
    async ({ fault }) => {
      const payment = await shop.sign();
      shop.facilitatorServer.faults.next("verify", fault);
      const refused = await shop.ask({ payment });
      expect(refused.isError).toBe(true);
      expect(problemOf(refused)).toEqual({
        error: "unexpected_verify_error",
        message: expect.stringContaining("You were not charged; repeat this request with the same payment."),
        retryAfterSeconds: 5,
      });
      expect(refused.structuredContent).toEqual(problemOf(refused));
      expect(JSON.stringify(refused)).not.toContain(SECRET);
      expect([shop.runs(), shop.settlements()]).toEqual([0, 0]);

      expect(textOf(await shop.ask({ payment }))).toBe("any 1");
      expect(await shop.income()).toBe(PRICE);
    },
  );

  test("a refused payment gets a challenge with the reason", async () => {
    const invalid = {
      kind: "rewrite",
      rewrite: () => ({ isValid: false, invalidReason: "insufficient_funds" }),
    } as const;
    shop.facilitatorServer.faults.next("verify", invalid);
    const refused = await shop.buy();
    expect(problemOf(refused)).toMatchObject({ x402Version: 2, error: "insufficient_funds", accepts: [{}] });
    expect([shop.runs(), shop.settlements()]).toEqual([0, 0]);
  });
});

describe("at settlement", () => {
  test.each(FAULTS)(
    "a tool withholds the result when $why at settlement, and never asks for another payment",
    async ({ fault }) => {
      const payment = await shop.sign();
      shop.facilitatorServer.faults.next("settle", fault);
      const pending = await shop.ask({ payment });
      expect(pending.isError).toBe(true);
      expect(problemOf(pending)).toMatchObject({ error: "settlement_pending", retryAfterSeconds: expect.any(Number) });
      expect(problemOf(pending)).not.toHaveProperty("accepts");
      expect(JSON.stringify(pending)).not.toContain(SECRET);
      expect(JSON.stringify(pending)).not.toContain("any 1");

      shop.facilitatorServer.faults.clear();
      vi.setSystemTime(Date.now() + 31_000);
      const served = await shop.ask({ payment });
      expect(textOf(served)).toBe("any 1");
      expect(receiptOf(served)).toMatchObject({ success: true });
      expect([shop.runs(), await shop.income(), await shop.spent()]).toEqual([1, PRICE, PRICE]);
    },
  );

  test("a refused settlement withholds the result, and yields a challenge and a receipt with the reason", async () => {
    const payment = await shop.sign();
    const held = shop.facilitatorServer.faults.next("settle", { kind: "hold" });
    const asked = shop.ask({ payment });
    await held.reached;
    bank.ledger.fund(shop.payer.address, -bank.ledger.balanceOf(shop.payer.address));
    held.release();
    const refused = await asked;
    expect(problemOf(refused)).toMatchObject({ x402Version: 2, error: "insufficient_funds", accepts: [{}] });
    expect(receiptOf(refused)).toMatchObject({ success: false, errorReason: "insufficient_funds" });
    expect(JSON.stringify(refused)).not.toContain("any 1");
    expect([shop.runs(), await shop.income()]).toEqual([1, 0n]);
  });

  test("a facilitator that was never reached charges nothing, and the same payment gets the result later", async () => {
    let isTokenThere = false;
    const headers = (operation: string) => {
      if (operation === "settle" && !isTokenThere) throw new Error(SECRET);
      return {};
    };
    shop = await openShop({ bank, options: { deadlines: DEADLINES, facilitator: { url: bank.server.url, headers } } });
    const payment = await shop.sign();
    const unsent = await shop.ask({ payment });
    expect(problemOf(unsent)).toMatchObject({ error: "unexpected_settle_error" });
    expect(await shop.spent()).toBe(0n);
    isTokenThere = true;
    expect(textOf(await shop.ask({ payment }))).toBe("any 1");
    expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
  });

  test.each([
    ["drop", { kind: "drop", when: "after" }],
    ["hold", { kind: "hold", when: "after" }],
  ] as const)(
    "a payment is charged once and served once when the response to its settlement is lost (%s)",
    async (_how, fault) => {
      const payment = await shop.sign();
      shop.facilitatorServer.faults.next("settle", fault);
      expect(problemOf(await shop.ask({ payment })).error).toBe("settlement_pending");
      expect(await shop.income()).toBe(PRICE);
      shop.facilitatorServer.faults.clear();
      vi.setSystemTime(Date.now() + 31_000);
      const served = await shop.ask({ payment });
      expect(textOf(served)).toBe("any 1");
      expect([shop.runs(), await shop.income()]).toEqual([1, PRICE]);
      expect(textOf(await shop.ask({ payment }))).toBe("any 1");
    },
  );
});

describe.each(BANKS)("duplicates of a payment, %s", (_where, openBank) => {
  let money: Bank;
  beforeEach(async () => {
    money = await openBank();
  });
  afterEach(() => money.close());

  test("ten concurrent duplicates by two clients run the handler once, and all get its result", async () => {
    const release = createLatch();
    const busy = await openShop({
      bank: money,
      sell: (tools, { count }) => {
        tools.tool("goods", { price: "$0.01" }, async () => {
          await release.opened;
          return { content: [{ type: "text", text: `run ${count()}` }] };
        });
      },
    });
    const other = await busy.connect();
    const payment = await busy.sign();
    const admitted = new Promise((tell) => busy.payments.on("admitted", tell));
    const first = busy.ask({ payment });
    await admitted;
    const copies = [
      ...Array.from({ length: 5 }, () => busy.ask({ payment })),
      ...Array.from({ length: 4 }, () => other.ask({ payment })),
    ];
    await Promise.all([busy.client.ping(), other.client.ping()]);
    release.open();
    const results = await Promise.all([first, ...copies]);
    for (const result of results) expect(result).toEqual(results[0]);
    expect(textOf(results[0]!)).toBe("run 1");
    expect([busy.settlements(), await busy.income(), await busy.spent()]).toEqual([1, PRICE, PRICE]);
  });

  test("a later duplicate of a served call is refused", async () => {
    const calm = await openShop({ bank: money });
    const payment = await calm.sign();
    expect(textOf(await calm.ask({ payment }))).toBe("any 1");
    const again = await calm.ask({ payment });
    expect(problemOf(again)).toMatchObject({ error: "payment_already_used", accepts: [{}] });
    expect([calm.runs(), calm.settlements(), await calm.spent()]).toEqual([1, 1, PRICE]);
  });
});

test("forty concurrent payments are forty sales", async () => {
  // With the usual deadlines, because checking so many signatures takes a while.
  const busy = await openShop({ bank });
  const clients = await Promise.all(Array.from({ length: 4 }, () => busy.connect()));
  const payments = await Promise.all(Array.from({ length: 40 }, (_, at) => busy.sign({ args: { kind: `k${at}` } })));
  const results = await Promise.all(
    payments.map((payment, at) => clients[at % 4]!.ask({ args: { kind: `k${at}` }, payment })),
  );
  expect(results.map((result) => textOf(result)?.split(" ")[0])).toEqual(payments.map((_, at) => `k${at}`));
  expect(new Set(results.map((result) => receiptOf(result)?.transaction)).size).toBe(40);
  expect([busy.runs(), await busy.income()]).toEqual([40, 40n * PRICE]);
});
