/**
 * What hooks, price and validate functions see of a request and its payment, over real HTTP.
 */
import type { PaymentContext, PaymentHooks, PricedRequest } from "@farebox/express";
import type { Request, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openObservedShop } from "./observed-shop.js";
import { expectNoStrayErrors, PAY_TO, type ShopPlan, VERSIONS } from "./shop.js";

const NETWORK = "eip155:84532";

/** A body that has no JSON, from a parser of the seller's. */
const parseStrangely: RequestHandler = (req, _res, next) => {
  const body: Record<string, unknown> = { big: 10n };
  body["self"] = body;
  req.body = body;
  next();
};

const READ = (request: PricedRequest) => ({
  ...{ method: request.method, path: request.path, search: request.search, url: request.url, route: request.route },
  ...{
    pathParams: request.pathParams,
    hasPayment: request.hasPayment,
    body: request.body,
    key: request.headers["x-key"],
  },
  ...{ other: request.header("X-KEY"), two: request.headers["x-two"], none: request.headers["constructor"] },
  ip: (request.native as Request).ip !== undefined,
});

describe.each(VERSIONS)("on %s", (_, express) => {
  const open = (hooks: PaymentHooks, { route = {}, ...plan }: ShopPlan & { readonly route?: object } = {}) => {
    expectNoStrayErrors();
    const priced = { accepts: { price: "$0.01", network: NETWORK, payTo: PAY_TO }, ...route } as const;
    const before = plan.before ?? [express.json()];
    const routes = { "/paid/:item": priced, "POST /upfront/:item": { ...priced, settle: "before" as const } };
    const sells: RequestHandler = (_req, res) => void res.send("goods");
    return openObservedShop(express, {
      ...plan,
      before,
      routes,
      options: { hooks },
      also: (app) => app.all(["/paid/:item", "/upfront/:item"], sells),
    });
  };

  const SENT = { method: "POST", path: "/paid/a%20b?n=1", body: { n: [1] } } as const;
  const HEADERS = { "content-type": "application/json", "x-key": "k", "x-two": "1, 2" };
  const SEEN = {
    ...{ method: "POST", path: "/paid/a%20b", search: "?n=1", url: expect.stringMatching(/^http:.*\/paid\/a%20b$/) },
    ...{ route: "/paid/:item", pathParams: { item: "a b" }, body: { n: [1] } },
    ...{ key: "k", other: "k", two: "1, 2", none: undefined, ip: true },
  };

  test.each(["/paid", "/upfront"])("every hook of %s sees the request, and the payment as it was sent", async (at) => {
    const seen: unknown[] = [];
    const see =
      (name: string) =>
      ({ request, payload, requirements, payer }: PaymentContext) => {
        expect(request!.payment).toBe(payload);
        expect([requirements.payTo, Object.isFrozen(payload.payload)]).toEqual([PAY_TO, true]);
        seen.push([name, READ(request!), payer, payload]);
      };
    const hooks: PaymentHooks = {
      onRequest: (request) => void seen.push(["onRequest", READ(request), undefined, request.payment]),
      beforeVerify: see("beforeVerify"),
      afterVerify: see("afterVerify"),
      beforeSettle: see("beforeSettle"),
      afterSettle: see("afterSettle"),
    };
    const shop = await open(hooks);
    const path = SENT.path.replace("/paid", at);
    const { header, payment } = await shop.sign(path, "POST");
    seen.length = 0;
    expect(await shop.ask({ ...SENT, path, headers: HEADERS, payment: header })).toMatchObject({ status: 200 });
    const payers = shop.payer.address;
    const names = [
      "onRequest",
      "beforeVerify",
      ...(at === "/paid" ? ["afterVerify"] : []),
      "beforeSettle",
      "afterSettle",
    ];
    const expected = { ...SEEN, ...(at === "/paid" ? {} : UPFRONT), hasPayment: true };
    expect(seen).toEqual(names.map((name) => [name, expected, name === "onRequest" ? undefined : payers, payment]));
  });

  const UPFRONT = {
    path: "/upfront/a%20b",
    url: expect.stringMatching(/^http:.*\/upfront\/a%20b$/),
    route: "POST /upfront/:item",
  };

  test("price and validate functions see the same request", async () => {
    const seen: unknown[] = [];
    const see = (result: string | undefined) => (request: PricedRequest) => {
      seen.push(READ(request));
      return result;
    };
    const shop = await open(
      {},
      { route: { accepts: { price: see("$0.02"), network: NETWORK, payTo: PAY_TO }, validate: see(undefined) } },
    );
    const paid = await shop.pay({ ...SENT, headers: HEADERS });
    expect([paid.status, shop.facilitator.settled]).toEqual([200, [20_000n]]);
    expect(seen).toEqual([
      { ...SEEN, hasPayment: false },
      { ...SEEN, hasPayment: true },
      { ...SEEN, hasPayment: true },
    ]);
  });

  test("a hook that waits for the response still sees the payment, which is no longer in the headers", async () => {
    const seen: unknown[] = [];
    const shop = await open({
      onRequest: ({ headers }) => void seen.push(headers["payment-signature"] !== undefined),
      afterSettle: ({ request }) =>
        void seen.push([request!.header("payment-signature"), request!.hasPayment, request!.payment]),
    });
    const { header, payment } = await shop.sign(SENT.path, "POST");
    await shop.ask({ ...SENT, headers: HEADERS, payment: header });
    expect(seen).toEqual([false, true, [undefined, true, payment]]);
  });

  test("a payment that is junk is no payment for onRequest", async () => {
    const seen: unknown[] = [];
    const shop = await open({ onRequest: ({ payment, hasPayment }) => void seen.push([payment, hasPayment]) });
    expect((await shop.ask({ ...SENT, payment: "junk" })).status).toBe(400);
    expect(seen).toEqual([[undefined, true]]);
  });

  test.each<[string, RequestHandler, unknown]>([
    ["JSON", express.json(), { n: [1] }],
    ["cycles and big integers", parseStrangely, "[not JSON]"],
  ])("every context can be written as JSON, with a body of %s", async (_what, parser, body) => {
    const written: Record<string, Record<string, unknown>> = {};
    const write = (name: string) => (context: unknown) => {
      written[name] = JSON.parse(JSON.stringify(context, null, 2));
    };
    const names = ["onRequest", "beforeVerify", "afterVerify", "beforeSettle", "afterSettle"];
    const shop = await open(Object.fromEntries(names.map((name) => [name, write(name)])), { before: [parser] });
    const { header, payment } = await shop.sign(SENT.path, "POST");
    await shop.ask({ ...SENT, headers: HEADERS, payment: header });
    const { onRequest, ...others } = written;
    const payer = shop.payer.address;
    expect(onRequest).toMatchObject({ ...REQUEST, body, headers: { "x-key": "k", "payment-signature": header } });
    expect(Object.keys(others)).toHaveLength(4);
    for (const context of Object.values(others)) {
      const request = { ...REQUEST, body, payment };
      expect(context).toMatchObject({ payer, payload: payment, requirements: { amount: "10000" }, request });
      expect(context["request"]).not.toHaveProperty("native");
    }
  });

  test("no hook sees the token by which a client gets its response", async () => {
    const seen: unknown[] = [];
    const shop = await open({
      onRequest: (request) => void seen.push(request.header("Payment-Retry-Token"), request.headers, request),
    });
    await shop.ask({ ...SENT, headers: { ...HEADERS, "PAYMENT-RETRY-TOKEN": "tok3n" } });
    expect([seen.length, seen[0], JSON.stringify(seen).includes("tok3n")]).toEqual([3, undefined, false]);
    expect(seen[1]).toMatchObject({ "x-key": "k" });
  });

  const REQUEST = {
    method: "POST",
    path: "/paid/a%20b",
    search: "?n=1",
    route: "/paid/:item",
    pathParams: { item: "a b" },
  };

  test("no secret of a payment is in the event of its denial", async () => {
    const shop = await open({ afterVerify: () => ({ deny: "no" }) });
    const { header, payment } = await shop.sign(SENT.path, "POST");
    await shop.ask({ ...SENT, headers: HEADERS, payment: header });
    const [denied] = shop.events.filter(({ type }) => type === "denied");
    expect(Object.keys(denied!).sort()).toEqual([
      ...["amount", "asset", "atMs", "by", "network", "payer", "payment", "route", "scheme", "type"],
    ]);
    expect(JSON.stringify(shop.events)).not.toContain(payment.payload["signature"]);
  });
});
