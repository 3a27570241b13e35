/**
 * The reference's hooks: when they are called, with what, and what clients get when they decide.
 *
 * @module
 */
import {
  ExactEvmScheme,
  type FacilitatorClient,
  HTTPFacilitatorClient,
  paymentMiddleware,
  paymentMiddlewareFromHTTPServer,
  type ResourceServerExtension,
  type RoutesConfig,
  type SettleResultContext,
  UptoEvmScheme,
  x402HTTPResourceServer,
  x402ResourceServer,
} from "@farebox/compat";
import { HTTPFacilitatorClient as ForeignClient, x402ResourceServer as ForeignServer } from "@x402/core/server";
import { ExactEvmScheme as ForeignScheme } from "@x402/evm/exact/server";
import express, { type RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { decode, NETWORK, openStage, PAY_TO, QUIET, quietApp, type Stage } from "./stage.js";

const OPTION = { scheme: "exact", price: "$0.01", network: NETWORK, payTo: PAY_TO } as const;
const ROUTES: RoutesConfig = { "POST /paid/:id": { accepts: OPTION, extensions: {} } };

interface Plan {
  readonly register: (server: x402ResourceServer) => unknown;
  readonly onProtected?: Parameters<x402HTTPResourceServer["onProtectedRequest"]>[0];
  readonly routes?: RoutesConfig;
  readonly handler?: RequestHandler;
  readonly foreign?: boolean;
  readonly extension?: ResourceServerExtension;
  readonly facilitatorOf?: (url: string) => FacilitatorClient;
}

async function openShop({
  register,
  onProtected,
  routes = ROUTES,
  handler,
  foreign = false,
  extension,
  facilitatorOf,
}: Plan) {
  const stage: Stage = await openStage();
  const url = { url: stage.facilitatorServer.url };
  const server = foreign
    ? (new ForeignServer(new ForeignClient(url)).register(
        NETWORK,
        new ForeignScheme(),
      ) as unknown as x402ResourceServer)
    : new x402ResourceServer(facilitatorOf?.(url.url) ?? new HTTPFacilitatorClient(url))
        .register(NETWORK, new ExactEvmScheme())
        .register(NETWORK, new UptoEvmScheme());
  if (extension !== undefined) server.registerExtension(extension);
  const app = quietApp().use(express.json());
  if (onProtected === undefined) app.use(paymentMiddleware(routes, server, undefined, undefined, true, QUIET));
  else {
    const httpServer = new x402HTTPResourceServer(server, routes).onProtectedRequest(onProtected);
    app.use(paymentMiddlewareFromHTTPServer(httpServer, undefined, undefined, true, QUIET));
  }
  // After the middleware, as some sellers do.
  register(server);
  let runs = 0;
  app.post("/paid/:id", (req, res, next) => {
    runs += 1;
    return handler === undefined
      ? res.set("X-Goods", "yes").json({ goods: req.params["id"] })
      : handler(req, res, next);
  });
  const origin = await stage.serve(app);
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ q: 1 }) };
  return {
    ...stage,
    runs: () => runs,
    buy: () => stage.pay(`${origin}/paid/7?a=b`, init),
    ask: (headers = {}) =>
      fetch(`${origin}/paid/7${"PAYMENT-SIGNATURE" in headers ? "?a=b" : ""}`, {
        ...init,
        headers: { ...init.headers, ...headers },
      }),
  };
}

const errorOf = (response: Response) => decode(response.headers.get("PAYMENT-REQUIRED"))["error"];

describe.each([
  ["ours", false],
  ["the reference's", true],
])("a server of %s", (_name, foreign) => {
  test("calls each hook of a sale in order, also those that were registered after the middleware", async () => {
    const calls: string[] = [];
    const note = (name: string) => async () => void calls.push(name);
    const { buy } = await openShop({
      foreign,
      register: (server) =>
        server
          .onAfterSettle(note("afterSettle"))
          .onBeforeSettle(note("beforeSettle"))
          .onAfterVerify(note("afterVerify"))
          .onBeforeVerify(note("beforeVerify 1"))
          .onBeforeVerify(note("beforeVerify 2")),
      handler: (_req, res) => {
        calls.push("handler");
        res.send("goods");
      },
    });
    expect((await buy()).status).toBe(200);
    expect(calls).toEqual([
      "beforeVerify 1",
      "beforeVerify 2",
      "afterVerify",
      "handler",
      "beforeSettle",
      "afterSettle",
    ]);
  });

  test("onAfterSettle gets payment, receipt, request and response before the client has its answer, and can write all of it as JSON", async () => {
    const seen: SettleResultContext[] = [];
    let isAnswered = false;
    const { buy, payer } = await openShop({
      foreign,
      register: (server) =>
        server.onAfterSettle(async (context) => {
          await new Promise(setImmediate);
          expect(isAnswered).toBe(false);
          JSON.stringify(context, null, 2);
          seen.push(context);
        }),
    });
    const response = await buy();
    isAnswered = true;
    expect(seen).toHaveLength(1);
    const context = seen[0]!;
    expect(context).toMatchObject({
      paymentPayload: { x402Version: 2, accepted: { scheme: "exact" }, payload: { authorization: { from: payer } } },
      requirements: { scheme: "exact", network: NETWORK, amount: "10000", payTo: PAY_TO },
      declaredExtensions: {},
      phase: "after-handler",
      result: decode(response.headers.get("PAYMENT-RESPONSE")),
    });
    const { request, responseBody, responseHeaders } = context.transportContext as {
      request: {
        path: string;
        method: string;
        routePattern: string;
        adapter: Record<string, (name?: string) => unknown>;
      };
      responseBody: Buffer;
      responseHeaders: Record<string, string>;
    };
    expect(request).toMatchObject({ path: "/paid/7", method: "POST", routePattern: "/paid/:id" });
    expect(request.adapter["getBody"]?.()).toEqual({ q: 1 });
    expect(request.adapter["getQueryParam"]?.("a")).toBe("b");
    expect((request.adapter["req"] as unknown as { originalUrl: string }).originalUrl).toBe("/paid/7?a=b");
    expect(JSON.parse(responseBody.toString())).toEqual({ goods: "7" });
    expect(responseHeaders).toMatchObject({ "x-goods": "yes" });
  });

  test("an abort of onBeforeVerify is a 402 with its reason, and neither facilitator nor handler is asked", async () => {
    const { buy, runs, facilitator } = await openShop({
      foreign,
      register: (server) => server.onBeforeVerify(async () => ({ abort: true, reason: "payer_blocked" })),
    });
    const response = await buy();
    expect([response.status, errorOf(response)]).toEqual([402, "payer_blocked"]);
    expect([runs(), facilitator.calls.verify.length]).toEqual([0, 0]);
  });

  test("an abort of onBeforeSettle is a 402 with a receipt that says so, and nothing is charged", async () => {
    const { buy, income } = await openShop({
      foreign,
      register: (server) => server.onBeforeSettle(async () => ({ abort: true, reason: "not_today" })),
    });
    const response = await buy();
    expect(response.status).toBe(402);
    expect(decode(response.headers.get("PAYMENT-RESPONSE"))).toMatchObject({
      success: false,
      errorReason: "not_today",
    });
    expect(income()).toBe(0n);
  });
});

test.each(["onBeforeVerify", "onBeforeSettle"] as const)("%s denies when it throws", async (name) => {
  const { buy, income } = await openShop({
    register: (server) =>
      server[name](async () => {
        throw new TypeError("a mistake");
      }),
  });
  expect((await buy()).status).toBe(403);
  expect(income()).toBe(0n);
});

test.each(["onAfterVerify", "onAfterSettle"] as const)("%s changes nothing when it throws", async (name) => {
  const { buy, income } = await openShop({
    register: (server) =>
      server[name](async () => {
        throw new TypeError("a mistake");
      }),
  });
  expect((await buy()).status).toBe(200);
  expect(income()).toBe(10_000n);
});

test("a skip of onBeforeVerify takes the payment without a facilitator, which still settles it", async () => {
  const { buy, facilitator, income } = await openShop({
    register: (server) => server.onBeforeVerify(async () => ({ skip: true, result: { isValid: true } })),
  });
  expect((await buy()).status).toBe(200);
  expect([facilitator.calls.verify.length, income()]).toEqual([0, 10_000n]);
});

test("a skip of onBeforeSettle delivers nothing: no facilitator has settled", async () => {
  const { buy, income } = await openShop({
    register: (server) =>
      server.onBeforeSettle(async () => ({
        skip: true,
        result: { success: true, transaction: "0x1", network: NETWORK },
      })),
  });
  expect((await buy()).status).toBe(402);
  expect(income()).toBe(0n);
});

test("skipHandler of onAfterVerify sells its own response", async () => {
  const { buy, runs, income } = await openShop({
    register: (server) =>
      server.onAfterVerify(async ({ result }) =>
        result.isValid
          ? { skipHandler: true, response: { contentType: "text/plain", body: "from the hook" } }
          : undefined,
      ),
  });
  const response = await buy();
  expect([response.status, await response.text()]).toEqual([200, "from the hook"]);
  expect([runs(), income()]).toEqual([0, 10_000n]);
});

test("an abort of onAfterVerify is a 402 with its reason, and onVerifiedPaymentCanceled hears of it", async () => {
  const reasons: string[] = [];
  const { buy, runs } = await openShop({
    register: (server) =>
      server
        .onAfterVerify(async () => ({ abort: true, reason: "too_young" }))
        .onVerifiedPaymentCanceled(async ({ reason, phase }) => void reasons.push(reason, phase)),
  });
  const response = await buy();
  expect([response.status, errorOf(response)]).toEqual([402, "too_young"]);
  expect(runs()).toBe(0);
  expect(reasons).toEqual(["after_verify_aborted", "cancel"]);
});

test("onVerifiedPaymentCanceled hears of a handler that fails, with its status", async () => {
  const seen: unknown[] = [];
  const { buy, income } = await openShop({
    register: (server) =>
      server.onVerifiedPaymentCanceled(async ({ reason, responseStatus }) => void seen.push([reason, responseStatus])),
    handler: (_req, res) => void res.status(404).send("none"),
  });
  expect((await buy()).status).toBe(404);
  expect(income()).toBe(0n);
  expect(seen).toEqual([["handler_failed", 404]]);
});

test("onVerifyFailure and onAfterVerify hear of a payment that the facilitator refuses", async () => {
  const seen: unknown[] = [];
  const errors: unknown[] = [];
  const { buy, facilitator, payer } = await openShop({
    register: (server) =>
      server
        .onAfterVerify(async ({ result }) => void seen.push(result.isValid, result.invalidReason))
        .onVerifyFailure(async ({ error }) => {
          seen.push(error.message);
          errors.push(error);
        }),
  });
  facilitator.ledger.fund(payer, -1_000_000n);
  const response = await buy();
  expect([response.status, errorOf(response)]).toEqual([402, expect.stringContaining("insufficient_funds")]);
  expect(seen).toEqual([false, "insufficient_funds", expect.stringContaining("insufficient_funds")]);
  // Sellers log its fields.
  expect(errors).toMatchObject([{ name: "VerifyError", invalidReason: "insufficient_funds", payer, statusCode: 200 }]);
});

test("onSettleFailure hears of a settlement that is refused, and cannot recover it", async () => {
  const failures: string[] = [];
  const { buy, facilitator, payer } = await openShop({
    register: (server) =>
      server.onSettleFailure(async ({ error }) => {
        failures.push(error.message);
        return { recovered: true, result: { success: true, transaction: "0x1", network: NETWORK } };
      }),
    handler: (_req, res) => {
      facilitator.ledger.fund(payer, -1_000_000n);
      res.send("goods");
    },
  });
  const response = await buy();
  expect(response.status).toBe(402);
  expect(failures).toEqual([expect.stringContaining("insufficient_funds")]);
});

test("extra of a facilitator's settlement is in the receipt, and in what onAfterSettle gets", async () => {
  const seen: unknown[] = [];
  const extra = { stripped: true, by: ["a", "b"] };
  const { buy } = await openShop({
    facilitatorOf: (url) => {
      const client = new HTTPFacilitatorClient({ url });
      return {
        verify: (payload, requirements) => client.verify(payload, requirements),
        settle: async (payload, requirements) => ({ ...(await client.settle(payload, requirements)), extra }),
        getSupported: () => client.getSupported(),
      };
    },
    register: (server) => server.onAfterSettle(async ({ result }) => void seen.push(result.extra)),
  });
  expect(decode((await buy()).headers.get("PAYMENT-RESPONSE"))).toMatchObject({ success: true, extra });
  expect(seen).toEqual([extra]);
});

describe("onProtectedRequest", () => {
  test("lets a request through with grantAccess", async () => {
    const { ask, runs } = await openShop({
      register: () => {},
      onProtected: async ({ adapter, path, routePattern }, route) =>
        adapter.getHeader("content-type") === "application/json" &&
        path === "/paid/7" &&
        routePattern === "/paid/:id" &&
        route.accepts === OPTION
          ? { grantAccess: true }
          : undefined,
    });
    expect(await (await ask()).json()).toEqual({ goods: "7" });
    expect(runs()).toBe(1);
  });

  test("refuses one with abort, as 403 with the reason as error", async () => {
    const { ask } = await openShop({
      register: () => {},
      onProtected: async ({ adapter }) => ({ abort: true, reason: `no ${JSON.stringify(adapter.getBody?.())}` }),
    });
    const response = await ask();
    expect([response.status, await response.json()]).toEqual([403, { error: 'no {"q":1}' }]);
  });

  test("refuses also where a seller without types left out the reason", async () => {
    const { ask, runs } = await openShop({ register: () => {}, onProtected: async () => ({ abort: true }) as never });
    const response = await ask();
    expect([response.status, await response.json(), runs()]).toEqual([403, { error: "refused" }, 0]);
  });

  test("denies when it throws", async () => {
    const { ask, runs } = await openShop({
      register: () => {},
      onProtected: async () => {
        throw new TypeError("a mistake");
      },
    });
    expect([(await ask()).status, runs()]).toEqual([403, 0]);
  });

  test("goes on without a decision", async () => {
    const { buy, income } = await openShop({ register: () => {}, onProtected: async () => {} });
    expect([(await buy()).status, income()]).toEqual([200, 10_000n]);
  });
});

describe("onVerifiedPaymentCanceled of a route that settles before its handler", () => {
  const routes: RoutesConfig = {
    "POST /paid/:id": { accepts: { ...OPTION, extra: { paymentFlow: "upfront" } }, extensions: { refund: {} } },
  };

  /** Pays a handler that fails, then sends the payment again. */
  async function buyTwice(register: Plan["register"], handler: RequestHandler, extension?: ResourceServerExtension) {
    let payment = "";
    const shop = await openShop({
      routes,
      handler,
      ...(extension && { extension }),
      register: (server) => {
        server.onBeforeVerify(async ({ paymentPayload }) => {
          payment = Buffer.from(JSON.stringify(paymentPayload)).toString("base64");
        });
        register(server);
      },
    });
    const { status } = await shop.buy();
    const again = await shop.ask({ "PAYMENT-SIGNATURE": payment });
    return { ...shop, statuses: [status, again.status] };
  }

  test.each<[string, number, RequestHandler]>([
    ["responds with 500", 500, (_req, res) => void res.sendStatus(500)],
    ["responds with 402", 402, (_req, res) => void res.sendStatus(402)],
    ["throws", 500, () => throwTypeError()],
  ])(
    "hears of a handler that %s, so that it can refund; the payment then buys nothing more",
    async (_what, status, handler) => {
      const heard: unknown[] = [];
      const { statuses, runs, income, payer } = await buyTwice(
        (server) => server.onVerifiedPaymentCanceled(async (context) => void heard.push(context)),
        handler,
      );
      expect(statuses).toEqual([status, 402]);
      expect(heard).toMatchObject([
        {
          ...{ phase: "cancel", reason: "handler_failed", responseStatus: status, settledPhases: ["before-handler"] },
          paymentPayload: { payload: { authorization: { from: payer } } },
          requirements: { amount: "10000" },
          transportContext: { request: { path: "/paid/7" } },
        },
      ]);
      expect([runs(), income()]).toEqual([1, 10_000n]);
    },
  );

  test("leaves the payment another run if it is not there, or if each hook throws", async () => {
    const fails: RequestHandler = (_req, res) => void res.sendStatus(500);
    const [none, broken] = [
      await buyTwice(() => {}, fails),
      await buyTwice((server) => server.onVerifiedPaymentCanceled(async () => throwTypeError()), fails),
    ];
    expect([none.statuses, none.runs(), broken.statuses, broken.runs()]).toEqual([[500, 500], 2, [500, 500], 2]);
  });

  test("is called for an extension, too", async () => {
    const heard: unknown[] = [];
    const extension: ResourceServerExtension = {
      key: "refund",
      hooks: {
        onVerifiedPaymentCanceled: async (_declaration, { settledPhases }) => void heard.push(settledPhases),
      },
    };
    const { runs } = await buyTwice(
      () => {},
      (_req, res) => void res.sendStatus(500),
      extension,
    );
    expect([heard, runs()]).toEqual([[["before-handler"]], 1]);
  });
});

function throwTypeError(): never {
  throw new TypeError("a mistake");
}
