/**
 * The seller's own bodies, pages and resource URLs: they replace the body, and nothing else of a response.
 *
 * @module
 */
import { readRegistration } from "@farebox/bazaar/facilitator";
import { ConfigError, createPayments, type RouteConfig } from "@farebox/express";
import { createTestFacilitator, type PayResult } from "@farebox/testing";
import { x402Client } from "@x402/core/client";
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment } from "@x402/fetch";
import express5, { type Express, type RequestHandler } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, onTestFinished, test } from "vitest";
import { openShop, PAY_TO, PRICED, type ShopPlan, VERSIONS } from "./shop.js";

const sell: RequestHandler = (_req, res) => void res.json({ sold: true });
/** A policy for every response, as helmet sets it. */
const policy: RequestHandler = (_req, res, next) => {
  res.setHeader("Content-Security-Policy", "default-src 'self'");
  next();
};

const BROWSER = { Accept: "text/html,*/*", "User-Agent": "Mozilla/5.0" };
const NOWHERE = "http://127.0.0.1:1";
const QUIET = { info() {}, warn() {}, error() {} };
const POLICY = "content-security-policy";

const route = (more: RouteConfig): ShopPlan => ({ routes: { "GET /paid": { ...PRICED, ...more } }, handler: sell });

/** Sends a payment whose settlement is refused. */
async function buyRefused(plan: ShopPlan, express = express5) {
  const shop = await openShop(express, plan);
  shop.facilitator.failNext("rejected");
  return { shop, refused: await shop.pay() };
}

/** The challenge in the header, as the reference reads it. */
const challengeOf = ({ headers }: PayResult) => decodePaymentRequiredHeader(String(headers["payment-required"]));

/** Collects what is logged. */
function collect() {
  const lines: (readonly [event: string, fields: object])[] = [];
  const note = (event: string, fields: object) => void lines.push([event, fields]);
  return { lines, logger: { info() {}, warn: note, error: note } };
}

describe.each(VERSIONS)("on %s", (_, express) => {
  test("an unpaid request gets the body of unpaidBody, with the usual status and headers", async () => {
    const usual = await (await openShop(express, route({}))).ask();
    const shop = await openShop(
      express,
      route({
        unpaidBody: async ({ method, url, search, route, header }) => ({
          contentType: "application/vnd.weather+json",
          body: { method, url, search, route, lang: header("Accept-Language") },
        }),
      }),
    );
    const asked = await shop.ask({ path: "/paid?a=1", headers: { "Accept-Language": "fr" } });
    expect([asked.status, asked.json()]).toEqual([
      402,
      { method: "GET", url: `${shop.url}/paid`, search: "?a=1", route: "GET /paid", lang: "fr" },
    ]);
    expect(asked.headers["content-type"]).toBe("application/vnd.weather+json; charset=utf-8");
    expect(asked.headers["cache-control"]).toBe("no-store");
    expect(Object.keys(asked.headers).sort()).toEqual(Object.keys(usual.headers).sort());
    expect(challengeOf(asked).accepts).toEqual(
      challengeOf(usual).accepts.map((offer) => ({
        ...offer,
        resource: `${shop.url}/paid`,
        outputSchema: expect.anything(),
      })),
    );
  });

  test("HEAD gets the headers of the seller's body, and no body", async () => {
    const shop = await openShop(
      express,
      route({ unpaidBody: () => ({ contentType: "text/plain", body: "Pay, please" }) }),
    );
    const head = await shop.ask({ method: "HEAD" });
    expect([head.status, head.text, head.headers["content-type"]]).toEqual([402, "", "text/plain; charset=utf-8"]);
    expect(head.headers["payment-required"]).toEqual(expect.any(String));
  });

  test("a browser gets the route's page, else the seller's, without a policy of Farebox", async () => {
    const shop = await openShop(express, {
      routes: {
        "GET /paid": { ...PRICED, paywall: { html: "<!doctype html><p>Own</p>" } },
        "GET /all": PRICED,
      },
      before: [policy],
      options: {
        strict: false,
        paywall: {
          html: async ({ accepts }, { path, url }) => `<p>${accepts[0]?.amount} ${path} ${url}</p>`,
        },
      },
      handler: sell,
    });
    const own = await shop.ask({ headers: BROWSER });
    expect([own.status, own.text, own.headers[POLICY]]).toEqual([
      402,
      "<!doctype html><p>Own</p>",
      "default-src 'self'",
    ]);
    expect(own.headers).toMatchObject({ "content-type": "text/html; charset=utf-8", "cache-control": "no-store" });
    expect(challengeOf(own).accepts).toHaveLength(1);
    const usual = await shop.ask({ path: "/all", headers: BROWSER });
    expect([usual.status, usual.text]).toEqual([402, `<p>10000 /all ${shop.url}/all</p>`]);
    expect((await shop.ask()).json()).toMatchObject({ error: "Payment required" });
  });

  test("a payment whose settlement is refused gets settlementFailedBody, and so does its duplicate", async () => {
    const { shop, refused } = await buyRefused(
      route({
        settlementFailedBody: ({ url }, { reason, receipt }) => ({
          contentType: "text/plain",
          body: `${url}: ${reason} ${receipt.success}`,
        }),
      }),
      express,
    );
    const text = `${shop.url}/paid: insufficient_funds false`;
    expect([refused.status, refused.text]).toEqual([402, text]);
    expect(refused.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(challengeOf(refused).error).toBe("insufficient_funds");
    expect(decodePaymentResponseHeader(String(refused.headers["payment-response"]))).toMatchObject({ success: false });
    const again = await shop.ask({ payment: refused.payment! });
    expect([again.status, again.text]).toEqual([402, text]);
    expect(shop.facilitator.settled).toEqual([]);
  });

  test("accepts: [] serves granted requests only, and refuses payments", async () => {
    const shop = await openShop(express, {
      routes: {
        "GET /paid": { accepts: [], extensions: { "sign-in": { info: { domain: "a.example" }, schema: {} } } },
        "GET /sold": PRICED,
      },
      options: {
        strict: false,
        hooks: { onRequest: ({ header }) => (header("x-key") === "good" ? { grant: true } : undefined) },
      },
      handler: sell,
    });
    const granted = await shop.ask({ headers: { "X-Key": "good" } });
    expect([granted.status, granted.json(), granted.headers["cache-control"]]).toEqual([
      200,
      { sold: true },
      "private",
    ]);
    const asked = await shop.ask();
    expect([asked.status, asked.json()]).toMatchObject([402, { accepts: [], error: "Payment required" }]);
    expect(challengeOf(asked)).toMatchObject({
      accepts: [],
      extensions: { "sign-in": { info: { domain: "a.example" } } },
    });
    const page = await shop.ask({ headers: BROWSER });
    expect([page.status, page.text.includes("not sold per request")]).toEqual([402, true]);
    const { payment } = await shop.sign("/sold");
    const paid = await shop.ask({ payment });
    expect([paid.status, challengeOf(paid).error, challengeOf(paid).accepts]).toEqual([
      402,
      expect.stringContaining("invalid_payment_requirements"),
      [],
    ]);
    expect((await shop.ask({ payment: "garbage" })).status).toBe(400);
    expect([shop.facilitator.verified.length, shop.facilitator.settled]).toEqual([0, []]);
  });
});

describe("a body of the seller's", () => {
  const BYTES = Buffer.from([0, 255, 1]);
  test.each<[what: string, body: unknown, contentType: string, sent: Buffer, type: string]>([
    ["a text", "für <b>", "text/html", Buffer.from("für <b>"), "text/html; charset=utf-8"],
    ["a text with a charset", "a", "text/plain; charset=us-ascii", Buffer.from("a"), "text/plain; charset=us-ascii"],
    ["bytes", BYTES, "image/png", BYTES, "image/png"],
    ["null", null, "application/json", Buffer.from("null"), "application/json; charset=utf-8"],
    ["an array", [1], "application/json", Buffer.from("[1]"), "application/json; charset=utf-8"],
  ])("that is %s is sent as such", async (_what, body, contentType, sent, type) => {
    const shop = await openShop(express5, route({ unpaidBody: () => ({ contentType, body }) }));
    const asked = await shop.ask();
    expect([asked.status, asked.body, asked.headers["content-type"]]).toEqual([402, sent, type]);
  });

  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  test.each<[what: string, unpaidBody: unknown]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject("no")],
    ["returns nothing", () => undefined],
    ["returns a body that is no JSON", () => ({ contentType: "application/json", body: circle })],
    ["returns no body", () => ({ contentType: "application/json" })],
    ["returns no type", () => ({ body: {} })],
    ["returns a type with a line break", () => ({ contentType: "text/plain\r\nX-Evil: 1", body: "" })],
  ])("is the challenge if the function %s, which is logged", async (_what, unpaidBody) => {
    const { lines, logger } = collect();
    const plan = route({ unpaidBody: unpaidBody as never });
    const shop = await openShop(express5, { ...plan, options: { logger } });
    const asked = await shop.ask();
    expect([asked.status, asked.json()]).toMatchObject([402, { x402Version: 2, error: "Payment required" }]);
    expect(lines[0]).toEqual(["body_failed", expect.objectContaining({ route: "GET /paid", body: "unpaidBody" })]);
    expect(lines.slice(1).map(([event]) => event)).toEqual(["FAREBOX_BODY_FAILED"]);
  });

  test("of a 503 has the reason and the time, and keeps Retry-After; a payment by it settles once", async () => {
    const unavailable: object[] = [];
    const shop = await openShop(
      express5,
      route({
        unavailableBody: ({ path }, why) => {
          unavailable.push(why);
          return { contentType: "application/json", body: { path, wait: why.retryAfterSeconds } };
        },
      }),
    );
    shop.facilitator.failNext("unknown");
    const first = await shop.pay();
    expect([first.status, first.json()]).toEqual([503, { path: "/paid", wait: Number(first.headers["retry-after"]) }]);
    expect(unavailable).toEqual([{ reason: "settlement_pending", retryAfterSeconds: expect.any(Number) }]);
    const again = await shop.ask({ payment: first.payment! });
    expect([again.status, again.json()]).not.toEqual([402, expect.anything()]);
  });

  test("is the challenge if the function takes longer than 5 seconds", async () => {
    let fire!: () => void;
    const delays: number[] = [];
    const started = new Promise<void>((resolve) => {
      fire = resolve;
    });
    let act: () => void = () => {};
    const { lines, logger } = collect();
    const shop = await openShop(express5, {
      ...route({ unpaidBody: () => new Promise<never>(() => fire()) }),
      options: {
        logger,
        timer: (then, delayMs) => {
          if (delayMs === 5000) act = then;
          delays.push(delayMs);
          return () => {};
        },
      },
    });
    const asking = shop.ask();
    await started;
    await Promise.resolve();
    act();
    expect((await asking).json()).toMatchObject({ error: "Payment required" });
    expect([delays.includes(5000), lines.map(([event]) => event)]).toEqual([
      true,
      ["body_failed", "FAREBOX_BODY_FAILED"],
    ]);
  });

  test("is not asked for where a payment was refused, or its outcome is unknown", async () => {
    let calls = 0;
    const count = () => {
      calls += 1;
      return { contentType: "text/plain", body: "mine" };
    };
    const shop = await openShop(express5, route({ unpaidBody: count, settlementFailedBody: count }));
    expect((await shop.ask({ payment: "garbage" })).json()).toMatchObject({
      error: expect.stringMatching(/^invalid_payload/),
    });
    const { payment } = await shop.sign();
    shop.facilitator.removeFunds();
    expect(calls).toBe(1);
    expect((await shop.ask({ payment })).json()).toMatchObject({ error: "insufficient_funds" });
    expect(calls).toBe(1);
    const other = await openShop(express5, route({ settlementFailedBody: count }));
    other.facilitator.failNext("unknown");
    expect(await other.pay()).toMatchObject({ status: 503 });
    expect(calls).toBe(1);
  });

  test("that fails leaves the page and the body of a refused settlement as they are", async () => {
    const fail = () => {
      throw new Error("no");
    };
    const { shop, refused } = await buyRefused(route({ paywall: { html: fail }, settlementFailedBody: fail }));
    expect([refused.status, refused.json()]).toMatchObject([402, { error: "insufficient_funds", x402Version: 2 }]);
    const page = await shop.ask({ headers: BROWSER });
    expect([page.status, page.headers[POLICY]]).toEqual([402, expect.stringContaining("default-src 'none'")]);
    expect(page.text).toContain("Payment required");
  });

  test('is sent for a refused settlement with settle: "before", too', async () => {
    const { refused } = await buyRefused(
      route({
        settle: "before",
        settlementFailedBody: (_request, { reason }) => ({ contentType: "text/plain", body: reason }),
      }),
    );
    expect([refused.status, refused.text]).toEqual([402, "insufficient_funds"]);
  });

  test("hides nothing from @x402/fetch, which pays by the header", async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    const facilitator = createTestFacilitator();
    facilitator.ledger.fund(account.address, 1_000_000n);
    const sold = {
      ...PRICED,
      resource: "https://api.example.com/v1/weather?units=metric",
      unpaidBody: () => ({ contentType: "text/plain", body: "Pay, please" }),
    };
    const shop = await openShop(express5, {
      build(app) {
        app.use(createPayments({ facilitator }).routes({ "GET /paid": sold }));
        app.get("/paid", sell);
      },
    });
    const buy = wrapFetchWithPayment(fetch, new x402Client().register("eip155:*", new ExactEvmScheme(account)));
    const bought = await buy(`${shop.url}/paid`);
    expect([bought.status, await bought.json()]).toEqual([200, { sold: true }]);
    const [verified] = facilitator.calls.verify;
    expect(verified?.paymentPayload.resource?.url).toBe("https://api.example.com/v1/weather?units=metric");
    expect(facilitator.ledger.transfers.map(({ amount }) => amount)).toEqual([10_000n]);
  });
});

describe("resource", () => {
  const RESOURCE = "https://api.example.com/v1/weather";

  test("replaces the computed URL in the challenge, for hooks, and in the documents for catalogs", async () => {
    const urls: string[] = [];
    const shop = await openShop(express5, {
      build(app, _table, { facilitator }) {
        const payments = createPayments({
          facilitator,
          logger: QUIET,
          hooks: { onRequest: ({ url }) => void urls.push(url) },
        });
        app.get("/.well-known/x402", payments.wellKnown());
        app.get("/llms.txt", payments.llmsTxt({ title: "Weather" }));
        app.use(payments.routes({ "GET /paid": { ...PRICED, resource: RESOURCE } }));
        app.get("/paid", sell);
        app.get("/own", payments.charge({ ...PRICED, resource: `${RESOURCE}/own` }), sell);
        const [, own] = payments.report(app).routes;
        expect(own).toMatchObject({ method: "GET", path: "/own" });
      },
    });
    const asked = await shop.ask();
    expect(challengeOf(asked).resource.url).toBe(RESOURCE);
    expect(asked.json()).toMatchObject({ resource: { url: RESOURCE }, accepts: [{ resource: RESOURCE }] });
    expect(challengeOf(await shop.ask({ path: "/own" })).resource.url).toBe(`${RESOURCE}/own`);
    expect(urls).toEqual([RESOURCE, `${RESOURCE}/own`]);
    const known = await shop.ask({ path: "/.well-known/x402" });
    expect(known.json()).toMatchObject({
      resources: [RESOURCE, `${RESOURCE}/own`],
      items: [{ resource: RESOURCE }, { resource: `${RESOURCE}/own` }],
    });
    expect((await shop.ask({ path: "/llms.txt" })).text).toContain(`GET ${RESOURCE}\``);
  });

  test("is what a catalog lists, whatever path the app has", async () => {
    const bazaar = { discoverable: true, inputSchema: { queryParams: { units: { type: "string" } } } };
    const shop = await openShop(express5, {
      routes: {
        "GET /paid": { ...PRICED, resource: RESOURCE, extensions: { bazaar } },
        "GET /users/:id": {
          ...PRICED,
          resource: `${RESOURCE}/users`,
          extensions: { bazaar: { ...bazaar, pathParamsSchema: { properties: { id: { type: "string" } } } } },
        },
      },
      options: { strict: false },
      handler: sell,
      behind: [(req, res, next) => (req.path.startsWith("/users") ? void res.json({ sold: true }) : next())],
    });
    for (const path of ["/paid", "/users/7"]) expect((await shop.pay({ path })).status).toBe(200);
    const read = shop.facilitator.verified.map((paymentPayload) =>
      readRegistration({ paymentPayload, paymentRequirements: paymentPayload.accepted }),
    );
    expect(read).toMatchObject([
      { kind: "registration", registration: { resource: RESOURCE } },
      { kind: "registration", registration: { resource: `${RESOURCE}/users` } },
    ]);
  });

  test("is part of a quote, so that a price for one resource does not hold for another", async () => {
    let resource = `${RESOURCE}/a`;
    const quoteSecret = "0123456789abcdef0123456789abcdef";
    const open = () =>
      openShop(express5, {
        routes: {
          "GET /paid": { accepts: { price: () => price as "$1", network: "eip155:84532", payTo: PAY_TO }, resource },
        },
        options: { quoteSecret },
        handler: sell,
      });
    let price = "$0.01";
    const first = await open();
    const { payment } = await first.sign();
    price = "$0.02";
    const same = await open();
    resource = `${RESOURCE}/b`;
    const other = await open();
    const refused = await other.ask({ payment });
    expect([refused.status, challengeOf(refused).error]).toEqual([402, expect.stringMatching(/^invalid_payment_req/)]);
    const held = await same.ask({ payment });
    expect(challengeOf(held).error).toBe("insufficient_funds");
  });

  test("does not change where a redirect leads", async () => {
    const redirect: RequestHandler = (_req, res) => void res.writeHead(302, { Location: "?page=2" }).end();
    const shop = await openShop(express5, {
      routes: { "GET /paid": { ...PRICED, resource: `${RESOURCE}/elsewhere` } },
      handler: redirect,
    });
    const bought = await shop.pay();
    expect([bought.status, bought.receipt?.errorReason]).toEqual([302, "not_charged"]);
  });
});

describe("a wrong configuration", () => {
  const issuesOf = (more: object, options: object = {}) => {
    const payments = () => createPayments({ facilitator: NOWHERE, logger: QUIET, ...options });
    try {
      payments().routes({ "GET /paid": { ...PRICED, ...more } });
      return [];
    } catch (error) {
      return (error as ConfigError).issues.map(({ path }) => path);
    }
  };
  const AT = 'routes["GET /paid"]';

  test.each<[resource: unknown]>([
    ["/weather"],
    ["mcp://tool/weather"],
    ["https://user:secret@api.example.com/"],
    ["https://api.example.com/#top"],
    ["https://api.example.com/caf\u00e9"],
    ["https://api.example.com/a b"],
    [`https://api.example.com/${"x".repeat(2048)}`],
    [7],
  ])("with the resource %j is refused at start", (resource) => {
    expect(issuesOf({ resource })).toEqual([`${AT}.resource`]);
  });

  test("names every option that is wrong at once, and quotes no credentials", () => {
    const wrong = {
      unpaidBody: {},
      settlementFailedBody: "no",
      paywall: { html: " " },
      resource: "https://user:secret@a.example/",
    };
    expect(issuesOf(wrong).sort()).toEqual(
      ["paywall.html", "resource", "settlementFailedBody", "unpaidBody"].map((key) => `${AT}.${key}`),
    );
    expect(issuesOf({}, { paywall: { html: 7 } })).toEqual(["options.paywall.html"]);
    const thrown = () =>
      createPayments({ facilitator: NOWHERE, logger: QUIET }).charge({ ...PRICED, ...(wrong as object) });
    expect(thrown).toThrow(ConfigError);
    expect(thrown).not.toThrow(/secret/);
  });

  test("accepts: [] needs a hook that grants, and has no price", () => {
    const hooks = { onRequest: () => undefined };
    expect(issuesOf({ accepts: [] })).toEqual([`${AT}.accepts`]);
    expect(issuesOf({ accepts: [] }, { hooks: { beforeVerify: () => undefined } })).toEqual([`${AT}.accepts`]);
    expect(issuesOf({ accepts: [] }, { hooks })).toEqual([]);
    expect(issuesOf({ accepts: [], price: "$1", free: true }, { hooks }).sort()).toEqual([`${AT}.free`, `${AT}.price`]);
  });
});

test("a route for granted requests only is in the report and the documents as such", async () => {
  const payments = createPayments({
    facilitator: NOWHERE,
    logger: QUIET,
    hooks: { onRequest: () => undefined },
  });
  onTestFinished(() => payments.close());
  let seller: Express | undefined;
  const shop = await openShop(express5, {
    build(app) {
      app.get("/.well-known/x402", payments.wellKnown());
      app.get("/llms.txt", payments.llmsTxt({ title: "Weather" }));
      app.get("/openapi.json", payments.openapi({ title: "Weather", version: "1" }));
      app.use(payments.routes({ "GET /paid": { accepts: [], description: "Members" } }));
      app.get("/paid", sell);
      seller = app;
    },
  });
  // The facilitator cannot be reached, and is not needed.
  expect(await payments.ready(seller!)).toMatchObject({
    routes: [{ path: "/paid", offers: [], isGrantOnly: true }],
    findings: [{ code: "FAREBOX_FACILITATOR_DOWN" }],
  });
  expect((await shop.ask()).status).toBe(402);
  expect((await shop.ask({ path: "/.well-known/x402" })).json()).toMatchObject({ resources: [], items: [] });
  expect((await shop.ask({ path: "/llms.txt" })).text).toContain("Members. Not for sale");
  const { get } = (shop && ((await shop.ask({ path: "/openapi.json" })).json() as never)["paths"]["/paid"]) as Record<
    string,
    object
  >;
  expect(get).toMatchObject({ responses: { "402": { description: expect.stringContaining("Not for sale") } } });
  expect(get).not.toHaveProperty("security");
  expect(get).not.toHaveProperty("x-payment-info");
});
