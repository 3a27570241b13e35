/**
 * Payers whose settlements make the facilitator fail, over real HTTP: the others are served, and no handler runs in vain.
 */
import type { PaymentPayload } from "@farebox/core";
import { createPayments, type PaymentsOptions } from "@farebox/express";
import { createPayer, createTestFacilitator, type Payer, pay, startFacilitatorServer } from "@farebox/testing";
import type express5 from "express";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../faults/business.js";
import { LENIENT, PATIENT, PRICED, until, VERSIONS } from "./shop.js";

type Way = "fails" | "hangs";

/** Long enough for a settlement breaker to let a probe through. */
const PAUSE_MS = 30_000;

afterEach(() => void vi.useRealTimers());

/** A facilitator over HTTP that answers 500, at once or when the test says so, when it is told to settle for a hostile payer. */
async function openHostileBank(way: Way) {
  const facilitator = createTestFacilitator();
  const hostile = new Set<string>();
  const settled: string[] = [];
  const hanging = new Set<() => void>();
  const server = await startFacilitatorServer({
    facilitator: {
      ...facilitator,
      verify: (request) => facilitator.verify(request),
      supported: () => facilitator.supported(),
      async settle(request) {
        const { authorization } = request.paymentPayload.payload as { authorization: { from: string } };
        settled.push(authorization.from);
        if (!hostile.has(authorization.from)) return facilitator.settle(request);
        if (way === "fails") throw new RangeError("a poisonous payment");
        return new Promise<never>((_resolve, reject) => void hanging.add(() => reject(new RangeError("too late"))));
      },
    },
  });
  onTestFinished(() => server.close());
  const openPurse = (): Payer => {
    const payer = createPayer();
    facilitator.ledger.fund(payer.address, 1_000_000n);
    return payer;
  };
  const openHostilePurse = (): Payer => {
    const payer = openPurse();
    hostile.add(payer.address);
    return payer;
  };
  /** What hangs fails, until a request has its response. */
  async function letFail<T>(request: Promise<T>): Promise<T> {
    let isOver = false;
    const ended = request.finally(() => {
      isOver = true;
    });
    await until(() => {
      for (const fail of hanging) fail();
      hanging.clear();
      return isOver;
    });
    return await ended;
  }
  return { server, settled, openPurse, openHostilePurse, letFail, hanging, forgive: () => hostile.clear() };
}

async function openHostileShop(
  express: typeof express5,
  { way = "fails", ...options }: Partial<PaymentsOptions> & { readonly way?: Way } = {},
) {
  const bank = await openHostileBank(way);
  const payments = createPayments({
    facilitator: bank.server.url,
    deadlines: PATIENT,
    ...LENIENT,
    logger: { info: () => {}, warn: () => {}, error: () => {} },
    ...options,
  });
  onTestFinished(() => payments.close());
  const app = express().set("env", "test");
  let runs = 0;
  app.use(payments.routes({ "GET /goods": PRICED }));
  app.get("/goods", (_req, res) => {
    runs += 1;
    res.json({ goods: true });
  });
  const url = `${await serve(app)}/goods`;
  const buy = (payer: Payer) => pay(url, { payer });
  return { ...bank, payments, runs: () => runs, buy, again: (payment: PaymentPayload) => pay(url, { payment }) };
}

describe.each(VERSIONS)("%s", (_name, express) => {
  test.each<Way>(["fails", "hangs"])(
    "25 honest payers are served while the facilitator %s for each payment of another payer",
    async (way) => {
      const { buy, openPurse, openHostilePurse, hanging, letFail, runs } = await openHostileShop(express, { way });
      const hostile = openHostilePurse();
      for (let round = 0; round < 5; round++) {
        const poison = Promise.all([buy(hostile), buy(hostile)]);
        if (way === "hangs" && round === 0) await until(() => hanging.size > 0);
        const honest = await Promise.all(Array.from({ length: 5 }, () => buy(openPurse())));
        expect(honest.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
        for (const { status } of await letFail(poison)) expect(status).toBe(503);
      }
      // After three failures the hostile payer's own settlements pause, and so do the handlers for them.
      expect(runs()).toBeLessThanOrEqual(25 + 4);
    },
  );

  test("one payer alone cannot pause settlement for the others, without an honest payment between", async () => {
    const { buy, openPurse, openHostilePurse, payments } = await openHostileShop(express);
    const hostile = openHostilePurse();
    for (let time = 0; time < 6; time++) expect((await buy(hostile)).status).toBe(503);
    expect((await payments.health()).facilitators[0]?.breakers.settle).toBe("closed");
    expect((await buy(openPurse())).status).toBe(200);
  });

  test("the handler does not run while settlement is paused, and the same payment is good afterwards", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { buy, again, openPurse, openHostilePurse, payments, runs } = await openHostileShop(express);
    for (let time = 0; time < 3; time++) await buy(openHostilePurse());
    expect((await payments.health()).facilitators[0]?.breakers.settle).toBe("open");
    const before = runs();
    const paused = await Promise.all(Array.from({ length: 10 }, () => buy(openPurse())));
    for (const { status, headers, json } of paused) {
      expect([status, headers["payment-required"]]).toEqual([503, undefined]);
      expect(Number(headers["retry-after"])).toBeGreaterThan(0);
      expect(json()).toMatchObject({ error: "unexpected_settle_error" });
    }
    expect(runs()).toBe(before);
    vi.setSystemTime(Date.now() + PAUSE_MS);
    expect((await again(paused[0]!.payment!)).status).toBe(200);
    expect((await Promise.all(paused.slice(1).map(({ payment }) => again(payment!)))).map((r) => r.status)).toEqual(
      Array.from({ length: 9 }, () => 200),
    );
  });

  test("payments that failed before never take the place of a fresh one, however often they are sent again", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { buy, again, openPurse, openHostilePurse, letFail, payments } = await openHostileShop(express, {
      way: "hangs",
    });
    const poisons: PaymentPayload[] = [];
    for (let time = 0; time < 3; time++) poisons.push((await letFail(buy(openHostilePurse()))).payment!);
    expect((await payments.health()).facilitators[0]?.breakers.settle).toBe("open");
    vi.setSystemTime(Date.now() + PAUSE_MS);
    const repeats = Promise.all(poisons.map(again));
    const served = await buy(openPurse());
    expect(served.status).toBe(200);
    for (const { status } of await letFail(repeats)) expect(status).toBe(503);
    // Three payers' payments failed again, one after another. They do not count twice.
    expect((await payments.health()).facilitators[0]?.breakers.settle).toBe("closed");
    expect((await buy(openPurse())).status).toBe(200);
  });

  test("payments that failed before are settled once the facilitator works, without any fresh one", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { buy, again, forgive, openHostilePurse, payments } = await openHostileShop(express);
    const poisons: PaymentPayload[] = [];
    for (let time = 0; time < 3; time++) poisons.push((await buy(openHostilePurse())).payment!);
    forgive();
    vi.setSystemTime(Date.now() + PAUSE_MS);
    expect((await again(poisons[0]!)).status).toBe(200);
    expect((await payments.health()).facilitators[0]?.breakers.settle).toBe("closed");
  });

  test("a second facilitator keeps the handlers running while settlement by the first is paused", async () => {
    const [first, second] = [await openHostileBank("fails"), await openHostileBank("fails")];
    const { buy, payments } = await openHostileShop(express, { facilitator: [first.server.url, second.server.url] });
    for (let time = 0; time < 3; time++) {
      const hostile = first.openHostilePurse();
      expect((await buy(hostile)).status).toBe(503);
    }
    expect((await payments.health()).facilitators.map(({ breakers }) => breakers.settle)).toEqual(["open", "closed"]);
    expect((await buy(second.openPurse())).status).toBe(200);
    expect(second.settled).toHaveLength(1);
  });
});
