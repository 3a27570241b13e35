/**
 * A facilitator that fails, over real HTTP: what the payer sees, what is charged, and what the same payment gets later.
 */
import type { Fault } from "@farebox/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type LedgerBank, openLedger } from "./bank.js";
import { DEADLINES, openShop, PRICE, passDeadline, SECRET, type Shop, stopClock } from "./shop.js";

const HTML = `<html><body><h1>502</h1>at Object.<anonymous> (/srv/app.js:1:1) ${SECRET}</body></html>`;

/** How long a facilitator is left alone that fails again and again, or asks for less. */
const PATIENCE_MS = 30_000;

let bank: LedgerBank;
let shop: Shop;

beforeEach(async () => {
  stopClock();
  bank = await openLedger();
  shop = await openShop({ bank, options: { deadlines: DEADLINES } });
});

afterEach(() => bank.close());

describe("at verification", () => {
  const FAULTS: readonly { why: string; fault: Fault; retryAfter?: string }[] = [
    { why: "the connection is reset", fault: { kind: "drop" } },
    { why: "it answers 500 with HTML", fault: { kind: "status", status: 500, body: HTML } },
    { why: "it answers 502 with HTML", fault: { kind: "status", status: 502, body: HTML } },
    { why: "it wants credentials", fault: { kind: "status", status: 401, body: SECRET }, retryAfter: "60" },
    {
      why: "it is asked too often",
      fault: { kind: "status", status: 429, headers: { "Retry-After": "17" }, body: SECRET },
      retryAfter: "17",
    },
    { why: "it answers half a JSON", fault: { kind: "garbage" } },
    { why: "it answers nothing", fault: { kind: "empty" } },
    { why: "it does not answer", fault: { kind: "hold" } },
    { why: "it never ends its answer", fault: { kind: "slow-body" } },
    { why: "it answers another document", fault: { kind: "rewrite", rewrite: () => ({ valid: true, note: SECRET }) } },
    { why: "it answers JSON that is no object", fault: { kind: "rewrite", rewrite: () => [true, SECRET] } },
    {
      why: "it says that it failed",
      fault: {
        kind: "rewrite",
        rewrite: () => ({ isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: SECRET }),
      },
    },
  ];

  test.each(FAULTS)(
    "verification answers 503 and charges nothing when $why, and takes the same payment later",
    async (row) => {
      const refused = await buyDuring("verify", row.fault);
      expect(refused.status).toBe(503);
      expect(refused.headers["retry-after"]).toBe(row.retryAfter ?? "5");
      expect(refused.headers["payment-required"]).toBeUndefined();
      expect(refused.headers["cache-control"]).toBe("no-store");
      expect(refused.json()).toMatchObject({ error: "unexpected_verify_error" });
      expect(whole(refused)).not.toContain(SECRET);
      expect(shop.runs()).toBe(0);
      expect(shop.settlements()).toBe(0);

      // Long enough for one to be asked again that asked to be left alone.
      vi.setSystemTime(Date.now() + 17_000);
      const served = await shop.buy({ payment: refused.payment! });
      expect(served.status).toBe(200);
      expect(shop.runs()).toBe(1);
      expect(await shop.income()).toBe(PRICE);
    },
  );

  test("verification answers 503 when no facilitator listens, and leaves free routes alone", async () => {
    await shop.facilitatorServer.close();
    const refused = await shop.buy();
    expect(refused.status).toBe(503);
    expect(shop.runs()).toBe(0);
  });

  test.each([
    { why: "a reason", reason: "insufficient_funds", error: "insufficient_funds" },
    { why: "prose in place of a reason", reason: `Oops: ${SECRET} at /srv/app.js`, error: "invalid_payload" },
    { why: "no reason", reason: undefined, error: "invalid_payload" },
  ])(
    "verification answers 402 with a fresh challenge when the facilitator refuses with $why",
    async ({ reason, error }) => {
      const rewrite = () => ({ isValid: false, invalidReason: reason, invalidMessage: SECRET });
      shop.facilitatorServer.faults.next("verify", { kind: "rewrite", rewrite });
      const refused = await shop.buy();
      expect(refused.status).toBe(402);
      expect(refused.challenge?.error).toBe(error);
      expect(whole(refused)).not.toContain(SECRET);
      expect(shop.runs()).toBe(0);
    },
  );
});

describe("at settlement", () => {
  const UNKNOWN: readonly { why: string; fault: Fault; retryAfter?: string }[] = [
    { why: "the connection is reset before it has seen the call", fault: { kind: "drop" } },
    { why: "the connection is reset after the money moved", fault: { kind: "drop", when: "after" } },
    { why: "it answers 500 with HTML, having done nothing", fault: { kind: "status", status: 500, body: HTML } },
    {
      why: "it answers 502 with HTML, having moved the money",
      fault: { kind: "status", when: "after", status: 502, body: HTML },
    },
    { why: "it wants credentials", fault: { kind: "status", status: 401, body: SECRET }, retryAfter: "60" },
    { why: "it does not know the path", fault: { kind: "status", status: 404, body: HTML }, retryAfter: "60" },
    {
      why: "it is asked too often",
      fault: { kind: "status", status: 429, headers: { "Retry-After": "3" }, body: SECRET },
      retryAfter: "3",
    },
    {
      why: "a gateway repeats the call too often, and the money moved",
      fault: { kind: "status", when: "after", status: 429, headers: { "Retry-After": "3" }, body: SECRET },
      retryAfter: "3",
    },
    { why: "it answers half a JSON, having moved the money", fault: { kind: "garbage", when: "after" } },
    { why: "it answers nothing, having moved the money", fault: { kind: "empty", when: "after" } },
    { why: "it does not answer, having done nothing", fault: { kind: "hold" } },
    { why: "it does not answer, having moved the money", fault: { kind: "hold", when: "after" } },
    { why: "it never ends its answer", fault: { kind: "slow-body" } },
    { why: "its answer names another network", fault: rewriting({ network: "eip155:1" }) },
    { why: "its answer names another payer", fault: rewriting({ payer: `0x${"11".repeat(20)}` }) },
    { why: "its answer names no transaction", fault: rewriting({ transaction: "" }) },
    { why: "its answer names another amount", fault: rewriting({ amount: "1" }) },
    {
      why: "it says that the transaction is pending",
      fault: rewriting({ success: false, errorReason: "settlement_pending" }),
    },
    {
      why: "it says that it failed unexpectedly",
      fault: rewriting({ success: false, errorReason: "unexpected_settle_error", transaction: "" }),
    },
  ];

  test.each(UNKNOWN)(
    "settlement answers 503 and never a challenge when $why, and the same payment gets the response",
    async (row) => {
      const unknown = await buyDuring("settle", row.fault);
      expect(unknown.status).toBe(503);
      expect(unknown.headers["retry-after"]).toBe(row.retryAfter ?? "5");
      expect(unknown.headers["payment-required"]).toBeUndefined();
      expect(unknown.headers["x-goods"]).toBeUndefined();
      expect(unknown.json()).toMatchObject({ error: "settlement_pending" });
      expect(whole(unknown)).not.toContain(SECRET);
      shop.facilitatorServer.faults.clear();

      // Long enough for one to be asked again that asked to be left alone.
      vi.setSystemTime(Date.now() + PATIENCE_MS);
      await expectDelivered(unknown.payment!);
    },
  );

  test("settlement answers 503 when nothing could be sent, and the same payment gets the response", async () => {
    let isTokenThere = false;
    const headers = (operation: string) => {
      if (operation === "settle" && !isTokenThere) throw new Error(SECRET);
      return {};
    };
    shop = await openShop({ bank, options: { deadlines: DEADLINES, facilitator: { url: bank.server.url, headers } } });
    const unsent = await shop.buy();
    expect(unsent.status).toBe(503);
    expect(unsent.headers["retry-after"]).toBe("5");
    expect(unsent.headers["payment-required"]).toBeUndefined();
    expect(unsent.json()).toMatchObject({ error: "unexpected_settle_error" });
    expect(whole(unsent)).not.toContain(SECRET);
    expect([shop.settlements(), await shop.income()]).toEqual([0, 0n]);

    isTokenThere = true;
    await expectDelivered(unsent.payment!);
  });

  test("settlement stays unknown until its outcome is known, and never becomes a challenge", async () => {
    shop.facilitatorServer.faults.always("settle", { kind: "drop", when: "after" });
    const { payment } = await shop.buy();
    for (const _again of [1, 2, 3]) {
      const unknown = await shop.buy({ payment: payment! });
      expect(unknown.status).toBe(503);
      expect(unknown.headers["payment-required"]).toBeUndefined();
    }
    shop.facilitatorServer.faults.clear();
    vi.setSystemTime(Date.now() + PATIENCE_MS);
    await expectDelivered(payment!);
  });

  test("settlement does not take a later refusal as proof that the first attempt moved nothing", async () => {
    const { faults } = shop.facilitatorServer;
    faults.next("settle", { kind: "drop", when: "after" });
    const { payment } = await shop.buy();
    faults.next("settle", rewriting({ success: false, errorReason: "insufficient_funds", transaction: "" }));
    const refused = await shop.buy({ payment: payment! });
    expect(refused.status).toBe(503);
    expect(refused.headers["payment-required"]).toBeUndefined();
    await expectDelivered(payment!);
  });

  test.each([
    { why: "a reason", reason: "insufficient_funds", said: "insufficient_funds" },
    { why: "prose in place of a reason", reason: `Oops ${SECRET}`, said: "unexpected_settle_error" },
    { why: "snake case and no transaction", reason: undefined, said: "insufficient_funds" },
  ])(
    "settlement answers 402 with the failure and a fresh challenge when the facilitator refuses with $why",
    async ({ reason, said }) => {
      const answer = { success: false, errorReason: reason, error_reason: "insufficient_funds", errorMessage: SECRET };
      const headers = { "Content-Type": "application/json" };
      shop.facilitatorServer.faults.next("settle", {
        kind: "status",
        status: 200,
        headers,
        body: JSON.stringify(answer),
      });
      const rejected = await shop.buy();
      expect(rejected.status).toBe(402);
      expect(rejected.receipt).toEqual({
        success: false,
        errorReason: said,
        payer: shop.payer.address,
        transaction: "",
        network: "eip155:84532",
      });
      expect(rejected.challenge?.error).toBe(said);
      expect(rejected.headers["x-goods"]).toBeUndefined();
      expect(rejected.text).not.toContain('goods":');
      expect(whole(rejected)).not.toContain(SECRET);
      expect(await shop.income()).toBe(0n);
    },
  );
});

/** Buys while the facilitator's next response is faulty. */
async function buyDuring(operation: "verify" | "settle", fault: Fault): ReturnType<Shop["buy"]> {
  const held = shop.facilitatorServer.faults.next(operation, fault);
  const buying = shop.buy();
  if (fault.kind === "hold" || fault.kind === "slow-body") await passDeadline(held);
  return buying;
}

/** The same payment, sent again, gets the first run's answer, each time. */
async function expectDelivered(payment: NonNullable<Awaited<ReturnType<Shop["buy"]>>["payment"]>): Promise<void> {
  const delivered = await shop.buy({ payment });
  expect(delivered.status).toBe(200);
  expect(delivered.json()).toEqual({ goods: 1 });
  expect(delivered.headers["x-goods"]).toBe("yes");
  expect(delivered.receipt).toMatchObject({ success: true, payer: shop.payer.address, amount: "10000" });
  expect(shop.runs()).toBe(1);
  expect(await shop.income()).toBe(PRICE);
  expect(bank.ledger.transfers).toHaveLength(1);
  expect(delivered.receipt?.transaction).toBe(bank.ledger.transfers[0]!.transaction);

  const again = await shop.buy({ payment });
  expect([again.status, again.text]).toEqual([200, delivered.text]);
  expect(shop.runs()).toBe(1);
}

function rewriting(changes: object): Fault {
  return { kind: "rewrite", rewrite: (answer) => ({ ...answer, ...changes }) };
}

function whole({ headers, text, challenge }: Awaited<ReturnType<Shop["buy"]>>): string {
  return JSON.stringify([headers, text, challenge]);
}
