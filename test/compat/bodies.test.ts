/**
 * What clients see of a seller's own words: bodies of 402s, pages for browsers, the resource, and what handlers see of a payment.
 *
 * @module
 */
import {
  ExactEvmScheme,
  HTTPFacilitatorClient,
  type PaywallProvider,
  paymentMiddleware,
  paymentMiddlewareFromHTTPServer,
  type RouteConfig,
  setSettlementOverrides,
  UptoEvmScheme,
  x402HTTPResourceServer,
  x402ResourceServer,
} from "@farebox/compat";
import { createPayer, pay } from "@farebox/testing";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { browse, decode, NETWORK, openStage, PAY_TO, QUIET, quietApp, type Stage } from "./stage.js";

const OPTION = { scheme: "exact", price: "$0.01", network: NETWORK, payTo: PAY_TO } as const;

interface Plan extends Partial<RouteConfig> {
  readonly provider?: PaywallProvider;
  readonly handler?: RequestHandler;
}

function serverFor({ facilitatorServer }: Stage): x402ResourceServer {
  return new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorServer.url }), QUIET)
    .register(NETWORK, new ExactEvmScheme())
    .register(NETWORK, new UptoEvmScheme());
}

async function openShop({ provider, handler, ...route }: Plan) {
  const stage = await openStage();
  const routes = { "GET /paid": { accepts: OPTION, ...route } };
  const paywallConfig = { appName: "Weather", testnet: true };
  const app = quietApp().use(paymentMiddleware(routes, serverFor(stage), paywallConfig, provider));
  app.get("/paid", handler ?? ((_req, res) => void res.send("goods")));
  return { ...stage, url: `${await stage.serve(app)}/paid` };
}

test("unpaidResponseBody replaces the body of the 402, from the reference's context", async () => {
  const { url } = await openShop({
    unpaidResponseBody: async ({ adapter, path }) => ({
      contentType: "application/json",
      body: { please: "pay", path, tier: adapter.getQueryParam?.("tier") },
    }),
  });
  const response = await fetch(`${url}?tier=gold`);
  expect([response.status, await response.json()]).toEqual([402, { please: "pay", path: "/paid", tier: "gold" }]);
  expect(decode(response.headers.get("PAYMENT-REQUIRED"))).toMatchObject({ accepts: [{ amount: "10000" }] });
});

test("settlementFailedResponseBody replaces the body after a settlement that was refused", async () => {
  const seen: unknown[] = [];
  const { url, pay, facilitator, payer } = await openShop({
    settlementFailedResponseBody: ({ method }, { success, errorReason, headers, network }) => {
      seen.push(method, success, network, Object.keys(headers));
      return { contentType: "text/plain", body: `sorry: ${errorReason}` };
    },
    handler: (_req, res) => {
      facilitator.ledger.fund(payer, -1_000_000n);
      res.send("goods");
    },
  });
  const response = await pay(url);
  expect([response.status, await response.text()]).toEqual([402, "sorry: insufficient_funds"]);
  expect(seen).toEqual(["GET", false, NETWORK, ["PAYMENT-RESPONSE"]]);
});

test("settlementFailedResponseBody replaces the body, too, when onBeforeSettle aborts", async () => {
  const stage = await openStage();
  const server = serverFor(stage).onBeforeSettle(async () => ({
    abort: true,
    reason: "not_today",
    message: "Come back",
  }));
  const settlementFailedResponseBody: RouteConfig["settlementFailedResponseBody"] = (_context, failure) => ({
    contentType: "application/json",
    body: { why: failure.errorReason, says: failure.errorMessage },
  });
  const app = quietApp().use(
    paymentMiddleware({ "GET /paid": { accepts: OPTION, settlementFailedResponseBody } }, server),
  );
  app.get("/paid", (_req, res) => void res.send("goods"));
  const response = await stage.pay(`${await stage.serve(app)}/paid`);
  expect([response.status, await response.json()]).toEqual([402, { why: "not_today", says: "Come back" }]);
  expect(decode(response.headers.get("PAYMENT-RESPONSE"))).toMatchObject({ success: false, errorReason: "not_today" });
});

describe("a browser", () => {
  test("gets the route's customPaywallHtml", async () => {
    const { url } = await openShop({
      customPaywallHtml: "<h1>Buy</h1>",
      provider: { generateHtml: () => "provider's" },
    });
    expect(await (await browse(url)).text()).toBe("<h1>Buy</h1>");
  });

  test("gets the page of a provider, from challenge and config", async () => {
    const provider: PaywallProvider = {
      generateHtml: ({ accepts }, config) => `<p>${accepts[0]?.amount} ${config?.appName} ${config?.currentUrl}</p>`,
    };
    const { url } = await openShop({ provider });
    const response = await browse(url);
    expect(response.status).toBe(402);
    expect(response.headers.get("content-type")).toContain("text/html");
    expect(await response.text()).toBe(`<p>10000 Weather ${url}</p>`);
  });

  test("gets the page of a provider that was registered with the server", async () => {
    const stage = await openStage();
    const httpServer = new x402HTTPResourceServer(serverFor(stage), { "GET /paid": { accepts: OPTION } });
    httpServer.registerPaywallProvider({ generateHtml: () => "<p>registered</p>" });
    const app = quietApp().use(paymentMiddlewareFromHTTPServer(httpServer));
    app.get("/paid", (_req, res) => void res.send("goods"));
    expect(await (await browse(`${await stage.serve(app)}/paid`)).text()).toBe("<p>registered</p>");
  });

  test("gets Farebox's page without one", async () => {
    const { url } = await openShop({});
    expect(await (await browse(url)).text()).toContain("<!doctype html>");
  });
});

test("the route's resource replaces the computed URL", async () => {
  const resource = "https://api.example.com/v1/paid";
  const { url, pay, facilitator } = await openShop({ resource });
  expect(decode((await fetch(url)).headers.get("PAYMENT-REQUIRED"))).toMatchObject({ resource: { url: resource } });
  expect((await pay(url)).status).toBe(200);
  expect(facilitator.calls.settle[0]?.paymentPayload.resource).toMatchObject({ url: resource });
});

test("a route without payment options is for requests that a hook grants", async () => {
  const stage = await openStage();
  const routes = { "GET /members": { accepts: [], description: "Members only" } };
  const httpServer = new x402HTTPResourceServer(serverFor(stage), routes).onProtectedRequest(async ({ adapter }) =>
    adapter.getHeader("x-member") === "yes" ? { grantAccess: true } : undefined,
  );
  const app = quietApp().use(paymentMiddlewareFromHTTPServer(httpServer));
  app.get("/members", (_req, res) => void res.send("welcome"));
  const url = `${await stage.serve(app)}/members`;
  expect((await fetch(url)).status).toBe(402);
  expect(await (await fetch(url, { headers: { "x-member": "yes" } })).text()).toBe("welcome");
});

describe("a handler", () => {
  test("finds the payment in its header, as with the reference", async () => {
    const { url, pay, payer } = await openShop({
      handler: (req, res) => void res.json(decode(req.get("payment-signature") ?? null)),
    });
    expect(await (await pay(url)).json()).toMatchObject({ payload: { authorization: { from: payer } } });
  });

  test("charges a part of what was authorized by setSettlementOverrides", async () => {
    const { url, facilitator, income } = await openShop({
      accepts: { ...OPTION, scheme: "upto" },
      handler: (_req, res) => {
        setSettlementOverrides(res, { amount: "4000" });
        res.send("goods");
      },
    });
    const payer = createPayer();
    facilitator.ledger.fund(payer.address, 10_000n);
    const { status, receipt } = await pay(url, { payer });
    expect([status, receipt?.amount]).toEqual([200, "4000"]);
    expect(income()).toBe(4000n);
  });
});
