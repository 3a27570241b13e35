/**
 * Route tables as the reference's sellers write them.
 *
 * @module
 */

import {
  ExactEvmScheme,
  HTTPFacilitatorClient,
  type PaymentOption,
  paymentMiddleware,
  paymentMiddlewareFromConfig,
  paymentMiddlewareFromHTTPServer,
  type RouteConfig,
  RouteConfigurationError,
  type RoutesConfig,
  UptoEvmScheme,
  x402HTTPResourceServer,
  x402ResourceServer,
} from "@farebox/compat";
import { ConfigError } from "@farebox/express";
import * as core from "@x402/core/server";
import express from "express";
import { describe, expect, test } from "vitest";
import { decode, NETWORK, openStage, PAY_TO, QUIET, quietApp } from "./stage.js";

const OPTION = { scheme: "exact", price: "$0.01", network: NETWORK, payTo: PAY_TO } as const;

interface Accepted {
  readonly amount: string;
  readonly asset: string;
  readonly payTo: string;
  readonly extra: Readonly<Record<string, unknown>>;
}

async function openShop(routes: RoutesConfig) {
  const stage = await openStage();
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }))
    .register("eip155:*", new ExactEvmScheme())
    .register("eip155:*", new UptoEvmScheme());
  const app = quietApp();
  app.use(paymentMiddleware(routes, server, undefined, undefined, true, QUIET));
  app.all("/{*rest}", (_req, res) => void res.send("served"));
  const url = await stage.serve(app);
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(url + path, init);
    const header = response.headers.get("PAYMENT-REQUIRED");
    const challenge = header === null ? undefined : decode(header);
    return { status: response.status, challenge, accepts: (challenge?.["accepts"] ?? []) as readonly Accepted[] };
  };
  return { ...stage, url, ask };
}

function offline(routes: RoutesConfig) {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: "https://facilitator.example" }));
  server.register(NETWORK, new ExactEvmScheme());
  return paymentMiddleware(routes, server, undefined, undefined, false, QUIET);
}

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

test("a price function that throws with the payment changes nothing: the quote holds", async () => {
  let calls = 0;
  const price: PaymentOption["price"] = () => {
    calls += 1;
    if (calls > 1) throw new Error("asked twice");
    return "$0.002";
  };
  const { pay, url, income } = await openShop({ "GET /paid": { accepts: { ...OPTION, price } } });
  expect((await pay(`${url}/paid`)).status).toBe(200);
  expect([calls, income()]).toEqual([2, 2000n]);
});

test("a price function is called with the payment, too, and the handler finds what it noted", async () => {
  const quoted = new WeakMap<object, string>();
  let calls = 0;
  const stage = await openStage();
  const client = new HTTPFacilitatorClient({ url: stage.facilitatorServer.url });
  const server = new x402ResourceServer(client).register("eip155:*", new ExactEvmScheme());
  const accepts: PaymentOption = {
    ...{ scheme: "exact", network: NETWORK, payTo: PAY_TO },
    async price({ adapter }) {
      const body = adapter.getBody?.() as { readonly texts: readonly string[] };
      await Promise.resolve();
      const price = `$${(0.001 * body.texts.length).toFixed(3)}`;
      quoted.set(body, price);
      calls += 1;
      return price;
    },
  };
  const app = quietApp().use(express.json());
  app.use(paymentMiddleware({ "POST /count": { accepts } }, server, undefined, undefined, true, QUIET));
  app.post("/count", (req, res) => void res.json({ quoted: quoted.get(req.body) }));
  const url = `${await stage.serve(app)}/count`;
  const body = JSON.stringify({ texts: ["a", "b"] });
  const response = await stage.pay(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  expect([response.status, await response.json()]).toEqual([200, { quoted: "$0.002" }]);
  expect([calls, stage.income()]).toEqual([2, 2000n]);
});

describe("keys", () => {
  test.each([
    ["get /paid", "/paid", "GET"],
    ["GET  /paid", "/paid", "GET"],
    ["/paid", "/paid", "DELETE"],
    ["* /paid", "/paid", "POST"],
    ["ALL /paid", "/paid", "PATCH"],
    ["GET /users/[id]", "/users/7", "GET"],
    ["GET /users/:id", "/users/7", "GET"],
    ["/api/*", "/api", "GET"],
    ["/api/*", "/api/a/b", "PUT"],
    ["*", "/anything", "GET"],
  ])("%j prices %s for %s", async (key, path, method) => {
    const { ask } = await openShop({ [key]: { accepts: OPTION } });
    expect((await ask(path, { method })).status).toBe(402);
  });

  test("one route without a key prices every path", async () => {
    const { ask } = await openShop({ accepts: [OPTION] });
    expect((await ask("/")).status).toBe(402);
    expect((await ask("/a/b", { method: "POST" })).status).toBe(402);
  });

  test("two keys of the same route are refused at start", () => {
    expect(() => offline({ "GET /a": { accepts: OPTION }, "get /a": { accepts: OPTION } })).toThrow(ConfigError);
  });
});

describe("prices", () => {
  test.each([
    ["$0.01", "10000"],
    ["$0.0100000", "10000"],
    ["0.01", "10000"],
    ["$ 0.01", "10000"],
    ["0.01 USD", "10000"],
    ["0.01 usdc", "10000"],
    [0.01, "10000"],
    [1, "1000000"],
    [0.1 + 0.2, "300000"],
    [1e-6, "1"],
    [{ asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", amount: "1234", extra: {} }, "1234"],
  ])("%j is %s atomic units", async (price, amount) => {
    const { ask } = await openShop({ "GET /paid": { accepts: { ...OPTION, price } } });
    expect((await ask("/paid")).accepts[0]).toMatchObject({ amount });
  });

  test.each([["$0.0000001"], [1e-7], [0], [-1], [Number.NaN], ["free"], ["0.01USDC"]])(
    "%j is refused at start",
    (price) => {
      expect(thrownBy(() => offline({ "GET /paid": { accepts: { ...OPTION, price } } }))).toMatchObject({
        name: "ConfigError",
        issues: [{ path: 'routes["GET /paid"].accepts[0].price' }],
      });
    },
  );

  test("a function of the reference's context prices a request, and the client pays that price", async () => {
    const price: RouteConfig["accepts"] = {
      ...OPTION,
      price: async ({ adapter }) => (adapter.getQueryParam?.("tier") === "premium" ? 0.05 : "$0.01"),
    };
    const { ask, pay, url, income } = await openShop({ "GET /paid": { accepts: price } });
    expect((await ask("/paid")).accepts[0]).toMatchObject({ amount: "10000" });
    expect((await ask("/paid?tier=premium")).accepts[0]).toMatchObject({ amount: "50000" });
    expect((await pay(`${url}/paid?tier=premium`)).status).toBe(200);
    expect(income()).toBe(50_000n);
  });

  test("what a function computes is cut to the decimals of the token, but never to zero", async () => {
    const price: RouteConfig["accepts"] = {
      ...OPTION,
      price: ({ adapter }) => (adapter.getQueryParam?.("tokens") === "1" ? 1.23e-8 : "$0.0123456789"),
    };
    const { ask } = await openShop({ "GET /paid": { accepts: price } });
    expect((await ask("/paid")).accepts[0]).toMatchObject({ amount: "12345" });
    expect((await ask("/paid?tokens=1")).status).toBe(503);
  });

  test("a recipient by function gets the reference's context", async () => {
    const others = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
    const seen: unknown[] = [];
    const payTo: RouteConfig["accepts"] = {
      ...OPTION,
      payTo: (context) => {
        const { adapter, path, method, routePattern, decodedPath } = context;
        seen.push([
          adapter.getMethod(),
          adapter.getPath(),
          adapter.getUserAgent(),
          path,
          method,
          routePattern,
          decodedPath,
        ]);
        return adapter.getHeader("X-Country") === "UK" ? others : PAY_TO;
      },
    };
    const { ask } = await openShop({ "GET /a b": { accepts: OPTION }, "GET /pay/:who": { accepts: payTo } });
    const { accepts } = await ask("/pay/J%C3%B6", { headers: { "x-country": "UK", "user-agent": "tester" } });
    expect(accepts[0]?.payTo).toBe(others);
    expect(seen[0]).toEqual(["GET", "/pay/J%C3%B6", "tester", "/pay/J%C3%B6", "GET", "/pay/:who", "/pay/Jö"]);
  });
});

describe("options", () => {
  test("extra.assetTransferMethod reaches the offer", async () => {
    const price = {
      amount: "1000",
      asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
      extra: { assetTransferMethod: "permit2" },
    };
    const { ask } = await openShop({ "GET /paid": { accepts: { ...OPTION, price } } });
    expect((await ask("/paid")).accepts[0]?.extra).toMatchObject({ assetTransferMethod: "permit2" });
  });

  test("extra.paymentFlow upfront settles before the handler runs", async () => {
    const option = { ...OPTION, extra: { paymentFlow: "upfront" } };
    const { ask, pay, url, facilitatorServer } = await openShop({ "GET /paid": { accepts: option } });
    expect((await ask("/paid")).accepts[0]?.extra).toMatchObject({ paymentFlow: "upfront" });
    expect((await pay(`${url}/paid`)).status).toBe(200);
    expect(facilitatorServer.requests.map(({ operation }) => operation)).not.toContain("verify");
  });

  test("a declaration of an extension that nobody registered is sent as it is written", async () => {
    const extensions = { "my-note": { says: "hello", to: ["everybody"] } };
    const { ask, pay, url } = await openShop({ "GET /paid": { accepts: OPTION, extensions } });
    expect((await ask("/paid")).challenge?.["extensions"]).toMatchObject(extensions);
    expect((await pay(`${url}/paid`)).status).toBe(200);
  });

  test("a description of more than 500 characters is cut", async () => {
    const { ask } = await openShop({ "GET /paid": { accepts: OPTION, description: "d".repeat(600) } });
    const { challenge } = await ask("/paid");
    expect(challenge?.["resource"]).toMatchObject({ description: "d".repeat(500) });
  });
});

test("two tables of one server take a payment once", async () => {
  const stage = await openStage();
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }), QUIET);
  server.register(NETWORK, new ExactEvmScheme());
  const app = quietApp();
  app.use(paymentMiddleware({ "GET /a": { accepts: OPTION } }, server));
  app.use(paymentMiddleware({ "GET /b": { accepts: OPTION } }, server));
  let runs = 0;
  app.get(["/a", "/b"], (req, res) => {
    runs += 1;
    res.send(req.get("payment-signature"));
  });
  const url = await stage.serve(app);
  const payment = await (await stage.pay(`${url}/a`)).text();
  const again = await fetch(`${url}/b`, { headers: { "PAYMENT-SIGNATURE": payment } });
  expect(decode(again.headers.get("PAYMENT-REQUIRED"))["error"]).toContain("payment_already_used");
  expect([runs, stage.facilitator.calls.verify.length, stage.income()]).toEqual([1, 1, 10_000n]);
});

test("a middleware that is made anew for each request takes a payment once", async () => {
  const stage = await openStage();
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }), QUIET);
  server.register(NETWORK, new ExactEvmScheme());
  const routes = { "GET /paid": { accepts: OPTION } };
  const app = quietApp().use((req, res, next) => void paymentMiddleware(routes, server)(req, res, next));
  let runs = 0;
  app.get("/paid", (req, res) => {
    runs += 1;
    res.send(req.get("payment-signature"));
  });
  const url = `${await stage.serve(app)}/paid`;
  const payment = await (await stage.pay(url)).text();
  await fetch(url, { headers: { "PAYMENT-SIGNATURE": payment } });
  expect([runs, stage.income()]).toEqual([1, 10_000n]);
});

describe("mistakes", () => {
  test("a subclass that replaces methods of x402HTTPResourceServer is refused, and each of them is named", () => {
    class Own extends x402HTTPResourceServer {
      override async initialize() {}
    }
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: "https://facilitator.example" }));
    server.register(NETWORK, new ExactEvmScheme());
    const own = new Own(server, { "GET /paid": { accepts: OPTION } });
    expect(thrownBy(() => paymentMiddlewareFromHTTPServer(own))).toMatchObject({
      issues: [{ path: "httpServer.initialize" }],
    });
  });

  test.each([
    ["compat", x402ResourceServer, HTTPFacilitatorClient],
    ["the reference", core.x402ResourceServer as never, core.HTTPFacilitatorClient as never],
  ] as [string, typeof x402ResourceServer, typeof HTTPFacilitatorClient][])(
    "a subclass that replaces methods of x402ResourceServer of %s is refused, and each of them is named",
    (_name, Server, Client) => {
      const registered: string[] = [];
      class Own extends Server {
        override register(...args: Parameters<x402ResourceServer["register"]>) {
          registered.push(args[0]);
          return super.register(...args);
        }
        override onBeforeVerify(...args: Parameters<x402ResourceServer["onBeforeVerify"]>) {
          return super.onBeforeVerify(...args);
        }
        override async verifyPayment() {
          return { isValid: false };
        }
      }
      const server = new Own(new Client({ url: "https://facilitator.example" })).register(
        NETWORK,
        new ExactEvmScheme(),
      );
      const issues = [{ path: "server.verifyPayment" }];
      expect(thrownBy(() => paymentMiddleware({ "GET /paid": { accepts: OPTION } }, server))).toMatchObject({ issues });
      expect(registered).toEqual([NETWORK]);
    },
  );

  test("a method that a seller replaces on x402ResourceServer is named as well", () => {
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: "https://facilitator.example" }));
    server.register(NETWORK, new ExactEvmScheme()).settlePayment = () => Promise.reject(new Error("closed"));
    const issues = [{ path: "server.settlePayment" }];
    expect(thrownBy(() => paymentMiddleware({ "GET /paid": { accepts: OPTION } }, server))).toMatchObject({ issues });
  });

  test("an option whose scheme is not registered is named, with the reference's reason", () => {
    const routes = { "GET /paid": { accepts: [OPTION, { ...OPTION, network: "solana:abc" as const }] } };
    const facilitator = new HTTPFacilitatorClient({ url: "https://facilitator.example" });
    const schemes = [{ network: NETWORK, server: new ExactEvmScheme() }] as const;
    const error = thrownBy(() => paymentMiddlewareFromConfig(routes, facilitator, [...schemes]));
    expect(error).toBeInstanceOf(RouteConfigurationError);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({
      name: "RouteConfigurationError",
      code: "ERR_FAREBOX_CONFIG",
      errors: [{ routePattern: "GET /paid", scheme: "exact", network: "solana:abc", reason: "missing_scheme" }],
      issues: [{ path: 'routes["GET /paid"]' }],
    });
  });

  test.each([
    [{ paymentFlow: "escrow" }, "unsupported_payment_flow"],
    [{ assetTransferMethod: "carrier-pigeon" }, "unsupported_asset_transfer_method"],
  ])("what a scheme cannot do, %j, is refused by the server's constructor", (extra, reason) => {
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: "https://facilitator.example" }));
    server.register(NETWORK, new ExactEvmScheme());
    const routes = { "GET /paid": { accepts: { ...OPTION, extra } } };
    expect(thrownBy(() => new x402HTTPResourceServer(server, routes))).toMatchObject({ errors: [{ reason }] });
  });

  test("no facilitator is asked that the seller did not name", () => {
    expect(() => new HTTPFacilitatorClient()).toThrow(/the URL of your facilitator/);
    expect(() => new x402ResourceServer()).toThrow(/none is asked that you did not name/);
    expect(() => paymentMiddlewareFromConfig({ "GET /paid": { accepts: OPTION } })).toThrow(ConfigError);
  });

  test("a server whose private fields are gone is refused, and each of them is named", () => {
    const server = { register() {}, hasExtension: () => false, hasRegisteredScheme: () => true, async initialize() {} };
    expect(thrownBy(() => paymentMiddleware({ "GET /paid": { accepts: OPTION } }, server))).toMatchObject({
      name: "ConfigError",
      issues: expect.arrayContaining([
        {
          path: "server.beforeVerifyHooks",
          expected: expect.stringContaining("@farebox/compat"),
          received: expect.any(String),
        },
        expect.objectContaining({ path: "server.registeredServerSchemes" }),
      ]),
    });
  });
});
