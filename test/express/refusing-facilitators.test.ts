/**
 * Facilitators that refuse everybody, and payments that make a facilitator fail, over real HTTP: who is served, who is asked, and what the
 * operator sees.
 */
import type { PaymentPayload } from "@farebox/core";
import { createPayments, type FacilitatorChoice, type PaymentsOptions, type RoutesConfig } from "@farebox/express";
import { createPayer, createTestFacilitator, type Payer, pay, startFacilitatorServer } from "@farebox/testing";
import type express5 from "express";
import type { RequestHandler } from "express";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../faults/business.js";
import { LENIENT, PATIENT, PRICED, until, VERSIONS } from "./shop.js";

/** The clock stands still, but for what a test moves it. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const later = (ms: number) => void vi.setSystemTime(Date.now() + ms);

/** For how long a facilitator that refuses everybody is asked last. */
const PAUSE_MS = 30_000;

type Call = "verify" | "settle";

/** A facilitator over HTTP. It breaks at each call about a poisonous payer's payment. */
async function openBank(poisonedCall: Call = "verify") {
  const facilitator = createTestFacilitator();
  const poisonous = new Set<string>();
  const payerOf = (payload: object) => (payload as { authorization: { from: string } }).authorization.from;
  const breakAt = (call: Call, payload: object) => {
    if (call === poisonedCall && poisonous.has(payerOf(payload))) throw new RangeError("a poisonous payment");
  };
  const server = await startFacilitatorServer({
    facilitator: {
      async verify(request) {
        breakAt("verify", request.paymentPayload.payload);
        return facilitator.verify(request);
      },
      async settle(request) {
        breakAt("settle", request.paymentPayload.payload);
        return facilitator.settle(request);
      },
      supported: () => facilitator.supported(),
    },
  });
  onTestFinished(() => server.close());
  return {
    ...server,
    ledger: facilitator.ledger,
    name: new URL(server.url).host,
    count: (call: Call) => server.requests.filter(({ operation }) => operation === call).length,
    /** A payer without money, whose payments are good but for that. */
    poison(): Payer {
      const payer = createPayer();
      poisonous.add(payer.address);
      return payer;
    },
  };
}

type Bank = Awaited<ReturnType<typeof openBank>>;

/** A payer with money at every bank. */
function fund(...banks: readonly Bank[]): Payer {
  const payer = createPayer();
  for (const { ledger } of banks) ledger.fund(payer.address, 1_000_000n);
  return payer;
}

interface ShopPlan {
  readonly facilitator: FacilitatorChoice | readonly FacilitatorChoice[];
  readonly routes?: RoutesConfig;
  readonly handler?: RequestHandler;
  readonly options?: Partial<PaymentsOptions>;
}

async function openShop(express: typeof express5, { facilitator, routes, handler, options }: ShopPlan) {
  const log: Readonly<Record<string, unknown>>[] = [];
  const note = (event: string, fields: object) => void log.push({ event, ...fields });
  const payments = createPayments({
    facilitator,
    deadlines: PATIENT,
    logger: { info: note, warn: note, error: note },
    // Nothing is tried again in the background.
    timer: () => () => {},
    ...LENIENT,
    ...options,
  });
  onTestFinished(() => payments.close());
  const app = express().set("env", "test");
  let runs = 0;
  app.use(payments.routes(routes ?? { "GET /goods": PRICED }));
  app.get(["/goods", "/first"], (req, res, next) => {
    runs += 1;
    if (handler === undefined) res.json({ goods: true });
    else handler(req, res, next);
  });
  const url = await serve(app);
  const facilitators = async () => (await payments.health()).facilitators;
  return {
    payments,
    facilitators,
    runs: () => runs,
    buy: (payer: Payer, path = "/goods") => pay(url, { payer, path }),
    again: (payment: PaymentPayload) => pay(url, { payment, path: "/goods" }),
    logged: (event: string) => log.filter((line) => line["event"] === event),
  };
}

type Shop = Awaited<ReturnType<typeof openShop>>;

async function buyAll(shop: Pick<Shop, "buy">, payers: readonly Payer[], path?: string): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (const payer of payers) statuses.push((await shop.buy(payer, path)).status);
  return statuses;
}

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

/** A shop of two facilitators, the first of which refuses to settle for anybody. */
async function openTwo(express: typeof express5, status: number, plan: Partial<ShopPlan> = {}) {
  const [first, second] = [await openBank(), await openBank()];
  const body = JSON.stringify({ error: "Free tier used up" });
  const refuse = () => first.faults.always("settle", { kind: "status", status, body });
  refuse();
  const shop = await openShop(express, { facilitator: [first.url, second.url], ...plan });
  const purses = (count: number) => times(count, () => fund(first, second));
  return { ...shop, first, second, purses, refuse };
}

describe.each(VERSIONS)("%s: a facilitator that settles for nobody", (_name, express) => {
  test.each([400, 402, 409, 422])(
    "after %i for three payers in a row, new payments go to the next facilitator, and health and log name the first",
    async (status) => {
      const shop = await openTwo(express, status);
      const { first, second, purses } = shop;
      expect(await buyAll(shop, purses(9))).toEqual([503, 503, 503, ...times(6, () => 200)]);
      expect([first.count("settle"), second.count("settle")]).toEqual([3, 6]);
      expect(await shop.facilitators()).toMatchObject([
        { name: first.name, state: "down", breakers: { settle: "closed" } },
        { name: second.name, state: "up" },
      ]);
      expect(shop.logged("facilitator_down")).toMatchObject([{ facilitator: first.name, status }]);
    },
  );

  test("a payment that it may have settled is asked about there, and nowhere else", async () => {
    const shop = await openTwo(express, 402);
    const { first, second, purses } = shop;
    const [refused] = await Promise.all(purses(4).map((payer) => shop.buy(payer)));
    expect((await shop.again(refused!.payment!)).status).toBe(503);
    expect(second.count("settle")).toBe(0);
    first.faults.clear();
    expect((await shop.again(refused!.payment!)).status).toBe(200);
    expect([first.ledger.transfers.length, second.ledger.transfers.length]).toEqual([1, 0]);
  });

  test("what it has verified, and was not told to settle, settles with the next one", async () => {
    const waiting = new Set<() => void>();
    let isSlow = true;
    const handler: RequestHandler = (_req, res) => {
      if (isSlow) waiting.add(() => void res.json({ goods: true }));
      else res.json({ goods: true });
    };
    const shop = await openTwo(express, 402, { handler });
    const { first, second, purses } = shop;
    const slow = Promise.all(purses(5).map((payer) => shop.buy(payer)));
    await until(() => waiting.size === 5);
    expect(first.count("verify")).toBe(5);
    isSlow = false;
    expect(await buyAll(shop, purses(3))).toEqual([503, 503, 503]);
    for (const respond of waiting) respond();
    expect((await slow).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect([first.count("settle"), second.count("settle")]).toEqual([3, 5]);
  });

  test("one payment tries it after a while, and later and later while it refuses", async () => {
    const shop = await openTwo(express, 402);
    const { first, purses } = shop;
    await buyAll(shop, purses(3));
    later(PAUSE_MS - 1);
    expect(await buyAll(shop, purses(3))).toEqual([200, 200, 200]);
    later(1);
    expect(await buyAll(shop, purses(3))).toEqual([503, 200, 200]);
    later(PAUSE_MS);
    expect(await buyAll(shop, purses(3))).toEqual([200, 200, 200]);
    later(PAUSE_MS);
    first.faults.clear();
    expect(await buyAll(shop, purses(3))).toEqual([200, 200, 200]);
    expect(first.ledger.transfers).toHaveLength(3);
    expect(await shop.facilitators()).toMatchObject([{ state: "up" }, { state: "up" }]);
    expect(shop.logged("facilitator_up")).toHaveLength(3);
  });

  test("many payments at once try it once", async () => {
    const shop = await openTwo(express, 402);
    const { first, purses } = shop;
    await buyAll(shop, purses(3));
    later(PAUSE_MS);
    const results = await Promise.all(purses(10).map((payer) => shop.buy(payer)));
    expect(results.filter(({ status }) => status === 503)).toHaveLength(1);
    expect(first.count("settle")).toBe(4);
  });

  test("the only one is not paused for it: it is asked each time, and the health is degraded", async () => {
    const bank = await openBank();
    bank.faults.always("settle", { kind: "status", status: 402 });
    const shop = await openShop(express, { facilitator: bank.url });
    const purses = times(6, () => fund(bank));
    expect(await buyAll(shop, purses)).toEqual(times(6, () => 503));
    expect([bank.count("settle"), shop.runs()]).toEqual([6, 6]);
    expect(await shop.payments.health()).toMatchObject({ status: "degraded", facilitators: [{ state: "down" }] });
    bank.faults.clear();
    expect((await shop.buy(fund(bank))).status).toBe(200);
    expect(await shop.facilitators()).toMatchObject([{ state: "up", breakers: { settle: "closed" } }]);
  });

  test("if all refuse, each payment is asked about at one of them", async () => {
    const shop = await openTwo(express, 402);
    const { first, second, purses } = shop;
    second.faults.always("settle", { kind: "status", status: 409 });
    expect(await buyAll(shop, purses(9))).toEqual(times(9, () => 503));
    expect(first.count("settle") + second.count("settle")).toBe(9);
    second.faults.clear();
    first.faults.clear();
    expect((await shop.buy(fund(first, second))).status).toBe(200);
  });

  test("a success in between shows that it is about payments", async () => {
    const bank = await openTwo(express, 402);
    const { first, purses } = bank;
    for (let round = 0; round < 4; round++) {
      expect(await buyAll(bank, purses(2))).toEqual([503, 503]);
      first.faults.clear();
      expect(await buyAll(bank, purses(1))).toEqual([200]);
      bank.refuse();
    }
    expect(await bank.facilitators()).toMatchObject([{ state: "up" }, {}]);
  });

  test("one payer alone, however often it is refused, says nothing", async () => {
    const shop = await openTwo(express, 402);
    const payer = fund(shop.first, shop.second);
    expect(
      await buyAll(
        shop,
        times(6, () => payer),
      ),
    ).toEqual(times(6, () => 503));
    expect(await shop.facilitators()).toMatchObject([{ state: "up" }, {}]);
  });

  test("a refusal in the protocol's form about a payer never counts, whatever its status", async () => {
    const shop = await openTwo(express, 402);
    const { first, second, purses } = shop;
    const body = JSON.stringify({ success: false, errorReason: "insufficient_funds", transaction: "", network: "" });
    first.faults.always("settle", { kind: "status", status: 402, body });
    expect(await buyAll(shop, purses(6))).toEqual(times(6, () => 402));
    expect(await shop.facilitators()).toMatchObject([{ state: "up" }, {}]);
    expect(second.count("settle")).toBe(0);
  });

  test.each([
    ["prose", "Your free tier is used up."],
    ["its own failure", "unexpected_settle_error"],
  ])("a refusal in the protocol's form with %s as its reason counts", async (_what, errorReason) => {
    const shop = await openTwo(express, 402);
    const { first, second, purses } = shop;
    const body = JSON.stringify({ success: false, errorReason, transaction: "", network: "" });
    first.faults.always("settle", { kind: "status", status: 402, body });
    expect((await buyAll(shop, purses(6))).slice(3)).toEqual([200, 200, 200]);
    expect([first.count("settle"), second.count("settle")]).toEqual([3, 3]);
    expect(await shop.facilitators()).toMatchObject([{ state: "down" }, { state: "up" }]);
  });

  test("one that verifies for nobody by a status is asked last, if the next one finds the payments good", async () => {
    const shop = await openTwo(express, 402);
    const { first, second, purses } = shop;
    first.faults.always("verify", { kind: "status", status: 402 });
    expect(await buyAll(shop, purses(6))).toEqual(times(6, () => 200));
    expect([first.count("verify"), second.count("verify")]).toEqual([3, 6]);
    expect(await shop.facilitators()).toMatchObject([{ state: "down" }, { state: "up" }]);
  });
});

const PREPAID: RoutesConfig = { "GET /goods": PRICED, "GET /first": { ...PRICED, settle: "before" } };

/** Fails at each call, for whatever reason. */
const BROKEN = { kind: "status", status: 500 } as const;

describe.each(VERSIONS)("%s: payments at which a facilitator breaks", (_name, express) => {
  test("are their own failures while it verifies: all others are served", async () => {
    const bank = await openBank();
    const shop = await openShop(express, { facilitator: bank.url });
    expect((await shop.buy(fund(bank))).status).toBe(200);
    for (let round = 0; round < 3; round++) {
      expect(await buyAll(shop, times(6, bank.poison))).toEqual(times(6, () => 503));
      expect(await buyAll(shop, [fund(bank), fund(bank)])).toEqual([200, 200]);
    }
    expect(await shop.facilitators()).toMatchObject([{ state: "up", breakers: { verify: "closed" } }]);
  });

  test("are their own failures before any payment was good: it says what it supports", async () => {
    const bank = await openBank();
    const shop = await openShop(express, { facilitator: bank.url });
    expect(await buyAll(shop, times(12, bank.poison))).toEqual(times(12, () => 503));
    expect((await shop.buy(fund(bank))).status).toBe(200);
  });

  test("are their own failures at a route that settles first, also for the other routes", async () => {
    const bank = await openBank("settle");
    const shop = await openShop(express, { facilitator: bank.url, routes: PREPAID });
    expect(await buyAll(shop, times(15, bank.poison), "/first")).toEqual(times(15, () => 503));
    expect(await shop.facilitators()).toMatchObject([{ state: "up", breakers: { settle: "closed" } }]);
    for (const path of ["/goods", "/first"]) {
      expect(
        await buyAll(
          shop,
          times(3, () => fund(bank)),
          path,
        ),
      ).toEqual([200, 200, 200]);
    }
  });

  test("cannot be the probe that keeps it paused", async () => {
    const bank = await openBank();
    const shop = await openShop(express, { facilitator: bank.url });
    expect((await shop.buy(fund(bank))).status).toBe(200);
    bank.faults.always("verify", BROKEN);
    await buyAll(
      shop,
      times(5, () => fund(bank)),
    );
    await until(async () => (await shop.facilitators())[0]?.state === "down");
    bank.faults.clear();
    later(10_000);
    expect((await shop.buy(bank.poison())).status).toBe(503);
    await until(async () => (await shop.facilitators())[0]?.state === "up");
    expect((await shop.buy(fund(bank))).status).toBe(200);
  });

  test("do not hide that it breaks at each payment: then it is paused", async () => {
    const bank = await openBank();
    const shop = await openShop(express, { facilitator: bank.url });
    expect((await shop.buy(fund(bank))).status).toBe(200);
    bank.faults.always("verify", BROKEN);
    const purses = times(5, () => fund(bank));
    expect(await buyAll(shop, purses)).toEqual(times(5, () => 503));
    await until(async () => (await shop.facilitators())[0]?.breakers.verify === "open");
    // Each of the five, and the first one again.
    expect(bank.count("verify")).toBe(1 + 5 + 1);
    expect((await shop.buy(fund(bank))).status).toBe(503);
    expect(bank.count("verify")).toBe(7);
  });

  test("a facilitator that finds payments good and settles none of them at a route that settles first is paused", async () => {
    const [first, second] = [await openBank(), await openBank()];
    first.faults.always("settle", BROKEN);
    const shop = await openShop(express, { facilitator: [first.url, second.url], routes: PREPAID });
    for (let payer = 1; payer <= 3; payer++) {
      expect((await shop.buy(fund(first, second), "/first")).status).toBe(503);
      await until(() => first.count("verify") === payer);
    }
    await until(async () => (await shop.facilitators())[0]?.breakers.settle === "open");
    expect(await buyAll(shop, [fund(first, second)], "/first")).toEqual([200]);
    expect([first.count("settle"), second.count("settle")]).toEqual([3, 1]);
  });
});

describe.each(VERSIONS)("%s: what a facilitator says when it refuses by a status", (_name, express) => {
  test.each<[what: string, fault: { status: number; body?: string; headers?: Record<string, string> }, says: string]>([
    ["an error", { status: 402, body: '{"error":"Free tier used up"}' }, "Free tier used up"],
    [
      "an object",
      { status: 422, body: '{"error":{"code":"quota","message":"1000 of 1000\\nused"}}' },
      "quota: 1000 of 1000 used",
    ],
    ["a text", { status: 400, body: "No more\r\n\u001b[31m[farebox] settlement" }, "No more [31m[farebox] settlement"],
    ["a page", { status: 404, body: "<html><h1>Not <b>here</b></h1></html>" }, "Not here"],
    [
      "a target",
      { status: 301, headers: { location: "ftp://files.example/x402/?key=1" } },
      "redirects to files.example/x402/",
    ],
    ["a long text", { status: 500, body: "ab ".repeat(50_000) }, "ab ".repeat(67).slice(0, 200).trim()],
    [
      "our own words",
      {
        status: 403,
        body: `the key s3cret-key of Bearer s3cret-key is wrong; 0x${"ab".repeat(65)}; https://x.example/?a`,
      },
      "the key (your header) of (your header) is wrong; (data); (a URL)",
    ],
    ["nothing", { status: 400 }, ""],
  ])("%s is in the log and the health, bounded and escaped, and goes to no client", async (_what, fault, says) => {
    const bank = await openBank();
    const shop = await openShop(express, {
      facilitator: { url: bank.url, headers: { authorization: "Bearer s3cret-key" } },
    });
    const said = says === "" ? undefined : says;
    for (const call of ["verify", "settle"] as const) {
      bank.faults.next(call, { kind: "status", ...fault });
      const { status, body, headers } = await shop.buy(fund(bank));
      expect(status).toBe(503);
      if (said !== undefined) expect(JSON.stringify([body, headers])).not.toContain(said);
      expect(await shop.facilitators()).toMatchObject([{ lastErrorStatus: fault.status, lastErrorSays: said }]);
    }
    for (const event of ["verification_failed", "settlement_unknown"]) {
      const [line] = shop.logged(event);
      expect([line?.["status"], line?.["says"]]).toEqual([fault.status, said]);
    }
  });

  test.each([
    [400, "60"],
    [402, "60"],
    [403, "60"],
    [404, "60"],
    [422, "60"],
    [408, "5"],
    [409, "5"],
    [429, "5"],
    [500, "5"],
    [503, "5"],
  ])("after %i a client is told to wait for %s seconds", async (status, seconds) => {
    const bank = await openBank();
    const shop = await openShop(express, { facilitator: bank.url });
    for (const call of ["verify", "settle"] as const) {
      bank.faults.next(call, { kind: "status", status });
      expect((await shop.buy(fund(bank))).headers["retry-after"]).toBe(seconds);
      bank.faults.next(call, { kind: "status", status, headers: { "retry-after": "7" } });
      expect((await shop.buy(fund(bank))).headers["retry-after"]).toBe("7");
    }
  });
});
