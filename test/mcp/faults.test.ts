/**
 * A facilitator that fails while a tool is paid: the client's result, the charge, and the result for the same payment later.
 */
import type { Deadlines } from "@farebox/core";
import type { Fault } from "@farebox/testing";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Bank, type LedgerBank, openChain, openLedger } from "../faults/bank.js";
import { createLatch } from "../faults/latch.js";
import { SECRET } from "../faults/shop.js";
import { openShop, PRICE, problemOf, receiptOf, type Shop, type ShopPlan, textOf } from "./shop.js";

const HTML = `<html><body><h1>502</h1>${SECRET}</body></html>`;

afterEach(() => void vi.useRealTimers());

/** A shop, and the ledger behind it. */
async function open(plan: ShopPlan = {}): Promise<Shop & { readonly bank: LedgerBank }> {
  const bank = await openLedger();
  onTestFinished(() => bank.close());
  return { ...(await openShop({ bank, ...plan })), bank };
}

const FAULTS: readonly { why: string; fault: Fault }[] = [
  { why: "the connection is reset", fault: { kind: "drop" } },
  { why: "it responds with 500 and HTML", fault: { kind: "status", status: 500, body: HTML } },
  { why: "it responds with 502 and HTML", fault: { kind: "status", status: 502, body: HTML } },
  { why: "it responds with half a document", fault: { kind: "garbage" } },
  { why: "it responds with an empty body", fault: { kind: "empty" } },
  {
    why: "it responds with another document",
    fault: { kind: "rewrite", rewrite: () => ({ valid: true, note: SECRET }) },
  },
];

/** Only the deadline ends them. */
const HANGS: readonly { why: string; fault: Fault }[] = [
  { why: "it does not respond", fault: { kind: "hold" } },
  { why: "it never ends its response", fault: { kind: "slow-body" } },
];

/** A call that meets this deadline although nothing hangs was on a slow machine: it is repeated. */
const SHORT_MS = 200;

/** Lets the pause after a failure pass. */
const passPause = () => void vi.setSystemTime(Date.now() + 31_000);

/** Repeats a call while the facilitator is too slow. */
async function askUntilServed(shop: Shop, payment: unknown, problem: string) {
  shop.facilitatorServer.faults.clear();
  for (;;) {
    passPause();
    const result = await shop.ask({ payment });
    if (result.isError !== true) return result;
    expect(problemOf(result).error).toBe(problem);
  }
}

async function expectVerifiedLater(shop: Shop, { why, fault }: (typeof FAULTS)[number]): Promise<void> {
  const [runs, settlements, income] = [shop.runs(), shop.settlements(), await shop.income()];
  const payment = await shop.sign();
  shop.facilitatorServer.faults.next("verify", fault);
  const refused = await shop.ask({ payment });
  expect(refused.isError, why).toBe(true);
  expect(problemOf(refused), why).toEqual({
    error: "unexpected_verify_error",
    message: expect.stringContaining("You were not charged; repeat this request with the same payment."),
    retryAfterSeconds: 5,
  });
  expect(refused.structuredContent).toEqual(problemOf(refused));
  expect(JSON.stringify(refused)).not.toContain(SECRET);
  expect([shop.runs(), shop.settlements()], why).toEqual([runs, settlements]);

  const served = await askUntilServed(shop, payment, "unexpected_verify_error");
  expect(textOf(served), why).toBe(`any ${runs + 1}`);
  expect(await shop.income(), why).toBe(income + PRICE);
}

async function expectSettledLater(shop: Shop, { why, fault }: (typeof FAULTS)[number]): Promise<void> {
  const [runs, income, spent] = [shop.runs(), await shop.income(), await shop.spent()];
  const goods = `any ${runs + 1}`;
  const payment = await shop.sign();
  shop.facilitatorServer.faults.next("settle", fault);
  const pending = await shop.ask({ payment });
  expect(pending.isError, why).toBe(true);
  expect(problemOf(pending), why).toMatchObject({
    error: "settlement_pending",
    retryAfterSeconds: expect.any(Number),
  });
  expect(problemOf(pending)).not.toHaveProperty("accepts");
  expect(JSON.stringify(pending)).not.toContain(SECRET);
  expect(JSON.stringify(pending)).not.toContain(goods);

  const served = await askUntilServed(shop, payment, "settlement_pending");
  expect(textOf(served), why).toBe(goods);
  expect(receiptOf(served)).toMatchObject({ success: true });
  expect([shop.runs(), await shop.income(), await shop.spent()], why).toEqual([
    runs + 1,
    income + PRICE,
    spent + PRICE,
  ]);
}

const within = (deadlines: Partial<Deadlines>): ShopPlan => ({ options: { deadlines } });

describe("at verification", () => {
  test("a tool says that nothing was charged when the facilitator fails at verification, and takes the same payment later", async () => {
    const shop = await open();
    for (const fault of FAULTS) await expectVerifiedLater(shop, fault);
  });

  test("a tool says the same when the facilitator hangs at verification", async () => {
    for (const fault of HANGS) await expectVerifiedLater(await open(within({ verifyMs: SHORT_MS })), fault);
  });

  test("a refused payment gets a challenge with the reason", async () => {
    const invalid = {
      kind: "rewrite",
      rewrite: () => ({ isValid: false, invalidReason: "insufficient_funds" }),
    } as const;
    const shop = await open();
    shop.facilitatorServer.faults.next("verify", invalid);
    const refused = await shop.buy();
    expect(problemOf(refused)).toMatchObject({ x402Version: 2, error: "insufficient_funds", accepts: [{}] });
    expect([shop.runs(), shop.settlements()]).toEqual([0, 0]);
  });
});

describe("at settlement", () => {
  test("a tool withholds the result when the facilitator fails at settlement, and never asks for another payment", async () => {
    const shop = await open();
    for (const fault of FAULTS) await expectSettledLater(shop, fault);
  });

  test("a tool does the same when the facilitator hangs at settlement", async () => {
    for (const fault of HANGS) await expectSettledLater(await open(within({ settleMs: SHORT_MS })), fault);
  });

  test("a refused settlement withholds the result, and yields a challenge and a receipt with the reason", async () => {
    const { bank, ...shop } = await open();
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
    const bank = await openLedger();
    onTestFinished(() => bank.close());
    const shop = await openShop({ bank, options: { facilitator: { url: bank.server.url, headers } } });
    const payment = await shop.sign();
    const unsent = await shop.ask({ payment });
    expect(problemOf(unsent)).toMatchObject({ error: "unexpected_settle_error" });
    expect(await shop.spent()).toBe(0n);
    isTokenThere = true;
    expect(textOf(await shop.ask({ payment }))).toBe("any 1");
    expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
  });

  test.each([
    ["drop", { kind: "drop", when: "after" }, {}],
    ["hold", { kind: "hold", when: "after" }, { settleMs: SHORT_MS }],
  ] as const)(
    "a payment is charged once and served once when the response to its settlement is lost (%s)",
    async (_how, fault, deadlines) => {
      const shop = await open(within(deadlines));
      const payment = await shop.sign();
      const { reached } = shop.facilitatorServer.faults.next("settle", fault);
      const pending = await shop.ask({ payment });
      await reached;
      expect(problemOf(pending).error).toBe("settlement_pending");
      expect(await shop.income()).toBe(PRICE);
      expect(textOf(await askUntilServed(shop, payment, "settlement_pending"))).toBe("any 1");
      expect([shop.runs(), await shop.income()]).toEqual([1, PRICE]);
      expect(textOf(await shop.ask({ payment }))).toBe("any 1");
    },
  );
});

describe("duplicates of a payment", () => {
  test("ten concurrent duplicates by two clients run the handler once, and all get its result, on a chain", async () => {
    const money: Bank = await openChain();
    onTestFinished(() => money.close());
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
    const calm = await open();
    const payment = await calm.sign();
    expect(textOf(await calm.ask({ payment }))).toBe("any 1");
    const again = await calm.ask({ payment });
    expect(problemOf(again)).toMatchObject({ error: "payment_already_used", accepts: [{}] });
    expect([calm.runs(), calm.settlements(), await calm.spent()]).toEqual([1, 1, PRICE]);
  });
});

test("twenty concurrent payments are twenty sales", async () => {
  const busy = await open();
  const clients = await Promise.all(Array.from({ length: 4 }, () => busy.connect()));
  const payments = await Promise.all(Array.from({ length: 20 }, (_, at) => busy.sign({ args: { kind: `k${at}` } })));
  const results = await Promise.all(
    payments.map((payment, at) => clients[at % 4]!.ask({ args: { kind: `k${at}` }, payment })),
  );
  expect(results.map((result) => textOf(result)?.split(" ")[0])).toEqual(payments.map((_, at) => `k${at}`));
  expect(new Set(results.map((result) => receiptOf(result)?.transaction)).size).toBe(20);
  expect([busy.runs(), await busy.income()]).toEqual([20, 20n * PRICE]);
});
