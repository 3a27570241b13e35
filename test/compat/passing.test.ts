/**
 * Which requests a table prices: those that pass its middleware, as with the reference, wherever a key would match besides.
 *
 * @module
 */
import * as compat from "@farebox/compat";
import * as core from "@x402/core/server";
import * as evm from "@x402/evm/exact/server";
import { paymentMiddleware as referenceMiddleware } from "@x402/express";
import { type Express, type RequestHandler, Router } from "express";
import { describe, expect, test } from "vitest";
import { NETWORK, openStage, PAY_TO, QUIET, quietApp } from "./stage.js";

type Price = (routes: Record<string, object> | object) => RequestHandler;

const ROUTE = { accepts: { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAY_TO } };

const goods: RequestHandler = (_req, res) => void res.json({ goods: true });

/** How sellers place the middleware, and the requests that tell. */
const PLACES: Readonly<Record<string, (app: Express, price: Price) => readonly string[]>> = {
  "behind free routes"(app, price) {
    app
      .get("/health", goods)
      .use(price({ "/*": ROUTE }))
      .get("/paid", goods);
    return ["/health", "/paid"];
  },
  "behind free routes of its mount"(app, price) {
    app
      .get("/api/health", goods)
      .use("/api", price({ "GET /*": ROUTE }))
      .get("/api/paid", goods);
    return ["/api/health", "/api/paid", "/other"];
  },
  "in one route, with one route for every path"(app, price) {
    app.get("/star", price(ROUTE), goods).get("/free", goods);
    return ["/star", "/free"];
  },
  "in one route, with a wildcard"(app, price) {
    app.get("/vault/:id", price({ "GET /vault/*": ROUTE }), goods).get("/vault/free/x", goods);
    return ["/vault/7", "/vault/free/x"];
  },
  "in a route of another method"(app, price) {
    app.post("/star", price({ "/star": ROUTE }), goods).get("/star", goods);
    return ["POST /star", "/star"];
  },
  "in a route of a router"(app, price) {
    const router = Router()
      .get("/star", price({ "/*": ROUTE }), goods)
      .get("/free", goods);
    app.use("/paid", router);
    return ["/paid/star", "/paid/free"];
  },
  "in a function of the seller's"(app, price) {
    const pay = price({ "GET /paid": ROUTE });
    app.use((req, res, next) => (req.get("x-member") === undefined ? pay(req, res, next) : next()));
    app.get("/paid", goods).get("/free", goods);
    return ["/paid", "/free"];
  },
};

describe.each(Object.entries(PLACES))("a table %s", (_name, place) => {
  test("prices the same requests as the reference", async () => {
    const { facilitatorServer, serve } = await openStage();
    const statusOf = async (price: Price) => {
      const app = quietApp();
      const requests = place(app, price);
      const url = await serve(app);
      const asked = requests.map(async (request) => {
        const [path = "", method = "GET"] = request.split(" ").reverse();
        return [request, (await fetch(url + path, { method })).status];
      });
      return Promise.all(asked);
    };
    const theirServer = new core.x402ResourceServer(new core.HTTPFacilitatorClient({ url: facilitatorServer.url }));
    theirServer.register(NETWORK, new evm.ExactEvmScheme());
    const theirs = await statusOf((routes) => referenceMiddleware(routes as never, theirServer) as RequestHandler);
    expect(theirs.map(([, status]) => status)).toContain(402);
    expect(await statusOf((routes) => compatMiddleware(routes, facilitatorServer.url))).toEqual(theirs);
  });
});

function compatMiddleware(routes: object, url: string): RequestHandler {
  const server = new compat.x402ResourceServer(new compat.HTTPFacilitatorClient({ url }));
  server.register(NETWORK, new compat.ExactEvmScheme());
  return compat.paymentMiddleware(routes as never, server, undefined, undefined, true, QUIET) as RequestHandler;
}

test("a function that waits for the middleware goes on when the response is over", async () => {
  const { facilitatorServer, serve, pay, income } = await openStage();
  const price = compatMiddleware({ "GET /paid": ROUTE }, facilitatorServer.url);
  const seen: unknown[] = [];
  const app = quietApp();
  app.use((req, res, next) => {
    Promise.resolve(price(req, res, next))
      .then(() =>
        seen.push([req.path, res.statusCode, res.writableFinished, res.getHeader("PAYMENT-RESPONSE") !== undefined]),
      )
      .catch(next);
  });
  app.get("/paid", goods).get("/free", async (_req, res) => {
    await new Promise(setImmediate);
    res.json({ free: true });
  });
  const url = await serve(app);
  expect((await fetch(`${url}/free`)).status).toBe(200);
  expect((await pay(`${url}/paid`)).status).toBe(200);
  expect(income()).toBe(1000n);
  expect(seen).toEqual([
    ["/free", 200, false, false],
    ["/paid", 402, true, false],
    ["/paid", 200, true, true],
  ]);
});

test("tables of several servers share a handler: a request that one of them sold gets past the others", async () => {
  const { facilitatorServer, serve, pay, income } = await openStage();
  const app = quietApp();
  const at = (price: string) => ({ accepts: { ...ROUTE.accepts, network: NETWORK, price } as const });
  const tables: readonly compat.RoutesConfig[] = [
    { "GET /credits": at("$0.003"), "GET /sized": at("$0.005") },
    { "GET /night": at("$0.002") },
    { "GET /cheap": at("$0.004"), "GET /cheaper": at("$0.001") },
  ];
  for (const routes of tables) {
    const client = new compat.HTTPFacilitatorClient({ url: facilitatorServer.url });
    const server = new compat.x402ResourceServer(client).register(NETWORK, new compat.ExactEvmScheme());
    app.use(compat.paymentMiddleware(routes, server, undefined, undefined, true, QUIET));
  }
  app.get("/:what", goods);
  const url = await serve(app);
  const bought: unknown[] = [];
  for (const path of ["/credits", "/sized", "/night", "/cheap", "/cheaper"]) {
    const before = income();
    bought.push([path, (await pay(url + path)).status, income() - before]);
  }
  expect(bought).toEqual([
    ["/credits", 200, 3000n],
    ["/sized", 200, 5000n],
    ["/night", 200, 2000n],
    ["/cheap", 200, 4000n],
    ["/cheaper", 200, 1000n],
  ]);
});
