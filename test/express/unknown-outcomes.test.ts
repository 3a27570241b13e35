/**
 * A payment whose outcome is not known gets no challenge, in whatever way it is sent again: a client that signs one pays twice.
 * Over real HTTP, at one seller and at two that share a store.
 */
import type { PaymentPayload } from "@farebox/core";
import type { PayResult } from "@farebox/testing";
import { describe, expect, test } from "vitest";
import { createLeasingStore } from "./shared-store.js";
import { openShop, PRICED, type Shop, type ShopPlan, VERSIONS } from "./shop.js";

type ExpressModule = (typeof VERSIONS)[number][1];

const DEARER = { ...PRICED, accepts: { ...PRICED.accepts, price: "$0.02" } } as typeof PRICED;
const OTHER_PAYEE = {
  ...PRICED,
  accepts: { ...PRICED.accepts, payTo: "0x1111111111111111111111111111111111111111" },
} as typeof PRICED;
const OTHER_ASSET = {
  ...PRICED,
  accepts: {
    ...PRICED.accepts,
    price: {
      amount: "10000",
      asset: "0x2222222222222222222222222222222222222222",
      extra: { name: "Other", version: "1" },
    },
  },
} as unknown as typeof PRICED;
const ROUTES = { "/paid": PRICED, "/same": PRICED, "/dearer": DEARER };
const ID = "0123456789abcdef";

/** Copies of a payment by somebody who does not know its identifier, or not any more. */
const COPIES: readonly (readonly [what: string, change: (payment: PaymentPayload) => PaymentPayload])[] = [
  ["without an identifier", ({ extensions: _, ...payment }) => payment],
  ["with another identifier", (payment) => ({ ...payment, ...withId("fedcba9876543210") })],
  ["in another spelling", (payment) => ({ ...payment, ...withId(ID.toUpperCase()) })],
];

/** The same payment for something else. */
const ELSEWHERE: readonly (readonly [what: string, ask: Parameters<Shop["ask"]>[0]])[] = [
  ["for another query", { path: "/paid?b=2" }],
  ["for another method", { method: "POST" }],
  ["for HEAD", { method: "HEAD" }],
  ["for another route", { path: "/same" }],
  ["for a dearer route", { path: "/dearer" }],
];

function withId(id: string) {
  return { extensions: { "payment-identifier": { info: { id }, schema: {} } } };
}

/** Two sellers with one facilitator. By the clock of the second one, the first may have died. */
async function openTwo(
  express: ExpressModule,
  second: Partial<ShopPlan> = {},
  routes: ShopPlan["routes"] = ROUTES,
  handler?: ShopPlan["handler"],
) {
  const { options } = createLeasingStore();
  const clock = { aheadMs: 0 };
  let runs = 0;
  const plan: ShopPlan = { routes, handler: handler ?? ((_req, res) => void res.send(`run ${++runs}`)) };
  const first = await openShop(express, { ...plan, options });
  const now = () => Date.now() + clock.aheadMs;
  const shared = { ...options, now, facilitator: first.facilitator, ...second.options };
  const other = await openShop(express, { ...plan, ...second, options: shared });
  return { first, other, clock, runs: () => runs };
}

/** A payment with an identifier, whose settlement moved the money without anybody hearing of it. */
async function payUnknown(shop: Shop): Promise<PaymentPayload> {
  const { payment } = await shop.sign();
  const named = { ...payment, ...withId(ID) };
  shop.facilitator.failNext("unknown");
  expect((await shop.ask({ payment: named })).status).toBe(503);
  return named;
}

/** Pays, and holds the settlement until it is told to go on. */
async function holdSettlement(shop: Shop, payment: PaymentPayload) {
  const { settle } = shop.facilitator;
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    shop.facilitator.settle = async (...call) => {
      resolve();
      await held;
      return settle(...call);
    };
  });
  const payer = shop.ask({ payment });
  await asked;
  return { payer, settle: goOn };
}

/** The status and error of a response that asks nobody to pay, and says nothing of the payment. */
function told({ status, headers, challenge, text }: PayResult): readonly [number, unknown] {
  expect(challenge).toBeUndefined();
  expect(headers).not.toHaveProperty("payment-required");
  expect(headers).not.toHaveProperty("payment-response");
  expect(headers).not.toHaveProperty("payment-retry-token");
  expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  const json = text === "" ? {} : JSON.parse(text);
  expect(json).not.toHaveProperty("accepts");
  return [status, json.error];
}

const PENDING = [503, "settlement_pending"];
const IN_PROGRESS = [409, "payment_in_progress"];

describe.each(VERSIONS)("on %s, a payment whose outcome is unknown", (_, express) => {
  describe.each(["the same seller", "another seller with the same store"])("sent again to %s", (where) => {
    test.each(COPIES)("%s gets 503 without a challenge, and settles nothing", async (_what, change) => {
      const { first, other, runs } = await openTwo(express);
      const shop = where === "the same seller" ? first : other;
      const payment = await payUnknown(first);
      expect(told(await shop.ask({ payment: change(payment) }))).toEqual(PENDING);
      // The payer with its identifier gets the response, and pays once.
      expect(await shop.ask({ payment })).toMatchObject({ status: 200, text: "run 1" });
      expect([runs(), first.facilitator.settled.length]).toEqual([1, 1]);
      const afterwards = await shop.ask({ payment: change(payment) });
      expect(afterwards).toMatchObject({ status: 402, challenge: { error: "payment_already_used" } });
    });

    test.each(ELSEWHERE)("%s gets 409 without a challenge", async (_what, ask) => {
      const { first, other, runs } = await openTwo(express);
      const shop = where === "the same seller" ? first : other;
      const payment = await payUnknown(first);
      const [status, error] = told(await shop.ask({ payment, ...ask }));
      expect([status, error]).toEqual(ask?.method === "HEAD" ? [409, undefined] : IN_PROGRESS);
      expect(await shop.ask({ payment })).toMatchObject({ status: 200, text: "run 1" });
      expect([runs(), first.facilitator.settled.length]).toEqual([1, 1]);
    });

    test("with an identifier that is none gets no challenge", async () => {
      const { first, other } = await openTwo(express);
      const shop = where === "the same seller" ? first : other;
      const payment = await payUnknown(first);
      expect(told(await shop.ask({ payment: { ...payment, ...withId("short") } }))).toEqual(IN_PROGRESS);
    });
  });

  test.each(COPIES)("gets no challenge where it settles before the handler, %s", async (_what, change) => {
    const before = { ...PRICED, settle: "before" } as const;
    const { first, other, runs } = await openTwo(express, { routes: { "/paid": before } }, { "/paid": before });
    const payment = await payUnknown(first);
    for (const shop of [first, other]) expect(told(await shop.ask({ payment: change(payment) }))).toEqual(PENDING);
    expect(await other.ask({ payment })).toMatchObject({ status: 200, text: "run 1" });
    expect([runs(), first.facilitator.settled.length]).toEqual([1, 1]);
  });

  test.each([
    ["raised the price", DEARER],
    ["changed the payee", OTHER_PAYEE],
    ["changed the asset", OTHER_ASSET],
  ])("gets what it has paid for, and no challenge, at a seller that has %s since", async (_what, route) => {
    const { first, other, runs } = await openTwo(express, { routes: { "/paid": route } });
    const payment = await payUnknown(first);
    expect(told(await other.ask({ payment, path: "/paid?b=2" }))).toEqual(IN_PROGRESS);
    for (const [, change] of COPIES) expect(told(await other.ask({ payment: change(payment) }))).toEqual(PENDING);
    expect(await other.ask({ payment })).toMatchObject({ status: 200, text: "run 1", receipt: { amount: "10000" } });
    expect([runs(), first.facilitator.settled.length]).toEqual([1, 1]);
  });

  test("of a run that failed, and is owed another one, gets that at a seller that has raised the price since", async () => {
    let isBroken = true;
    const before = { ...PRICED, settle: "before" } as const;
    const handler: ShopPlan["handler"] = (_req, res) => void (isBroken ? res.sendStatus(500) : res.send("made"));
    const dearer = { ...DEARER, settle: "before" } as const;
    const { first, other } = await openTwo(
      express,
      { routes: { "/paid": dearer }, handler },
      { "/paid": before },
      handler,
    );
    const { payment } = await first.sign();
    expect(await first.ask({ payment })).toMatchObject({ status: 500, receipt: { success: true } });
    isBroken = false;
    expect(await other.ask({ payment })).toMatchObject({ status: 200, text: "made", receipt: { amount: "10000" } });
    const { challenge } = await other.ask({ payment });
    expect([challenge?.error, first.facilitator.settled.length]).toEqual(["payment_already_used", 1]);
  });

  test("that settles gets no challenge at a seller that has raised the price, and its response afterwards", async () => {
    const { first, other, runs } = await openTwo(express, { routes: { "/paid": DEARER } });
    const payment = { ...(await first.sign()).payment, ...withId(ID) };
    const { payer, settle } = await holdSettlement(first, payment);
    const copy = other.ask({ payment });
    settle();
    expect(await payer).toMatchObject({ status: 200, text: "run 1" });
    expect(await copy).toMatchObject({ status: 200, text: "run 1" });
    expect([runs(), first.facilitator.settled.length]).toEqual([1, 1]);
  });

  test("gets no challenge at a seller that demands identifiers since", async () => {
    const { first, other } = await openTwo(express, {
      routes: { "/paid": { ...PRICED, paymentIdentifier: "required" } },
    });
    const { extensions: _extensions, ...payment } = await payUnknown(first);
    expect(told(await other.ask({ payment }))).toEqual(IN_PROGRESS);
  });
});

describe.each(VERSIONS)("on %s, a payment that settles", (_, express) => {
  test.each(COPIES)("gets 503 without a challenge when nobody is at work on it, %s", async (_what, change) => {
    const { first, other, clock, runs } = await openTwo(express);
    const payment = { ...(await first.sign()).payment, ...withId(ID) };
    const { payer, settle } = await holdSettlement(first, payment);
    // By the second seller's clock, the lease of the first is over: as if its process had died.
    clock.aheadMs = 20_000;
    expect(told(await other.ask({ payment: change(payment) }))).toEqual(PENDING);
    expect(told(await other.ask({ payment, path: "/same" }))).toEqual(IN_PROGRESS);
    settle();
    expect(await payer).toMatchObject({ status: 200, text: "run 1" });
    expect([runs(), first.facilitator.settled.length]).toEqual([1, 1]);
  });

  test.each(COPIES)("makes a copy %s wait, which then gets what the outcome gives", async (_what, change) => {
    for (const [ending, expected] of [
      ["unknown", PENDING],
      ["settled", [402, "payment_already_used"]],
    ] as const) {
      const { first } = await openTwo(express);
      const payment = { ...(await first.sign()).payment, ...withId(ID) };
      if (ending === "unknown") first.facilitator.failNext("unknown");
      const { payer, settle } = await holdSettlement(first, payment);
      const copy = first.ask({ payment: change(payment) });
      expect(told(await first.ask({ payment, path: "/same" }))).toEqual(IN_PROGRESS);
      settle();
      await payer;
      const got = await copy;
      expect([got.status, got.challenge?.error ?? JSON.parse(got.text).error]).toEqual(expected);
      if (ending === "unknown") told(got);
    }
  });
});
