/**
 * What the reference asks money for by the path of a request, compat asks money for as well, and OPTIONS runs no priced handler.
 *
 * @module
 */
import * as compat from "@farebox/compat";
import * as core from "@x402/core/server";
import * as evm from "@x402/evm/exact/server";
import { paymentMiddleware as referenceMiddleware } from "@x402/express";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { NETWORK, openStage, PAY_TO, QUIET } from "./stage.js";

type ExpressModule = (typeof VERSIONS)[number][1];

type Price = (routes: object) => RequestHandler;

const ROUTE = { accepts: { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAY_TO } };
const KEY = { "GET /api/report": ROUTE };

const goods: RequestHandler = (_req, res) => void res.json({ goods: true });
const auth: RequestHandler = (_req, _res, next) => next();
const notFound: RequestHandler = (_req, res) => void res.status(404).json({ error: "no such page" });
const cors: RequestHandler = (req, res, next) => {
  res.set("Access-Control-Allow-Origin", "*");
  if (req.method === "OPTIONS") res.status(204).end();
  else next();
};

async function open() {
  const { facilitatorServer, serve } = await openStage();
  const theirs = new core.x402ResourceServer(new core.HTTPFacilitatorClient({ url: facilitatorServer.url }));
  theirs.register(NETWORK, new evm.ExactEvmScheme());
  const ours = new compat.x402ResourceServer(new compat.HTTPFacilitatorClient({ url: facilitatorServer.url }));
  ours.register(NETWORK, new compat.ExactEvmScheme());
  const priceBy: Readonly<Record<"reference" | "compat", Price>> = {
    reference: (routes) => referenceMiddleware(routes as never, theirs) as RequestHandler,
    compat: (routes) =>
      compat.paymentMiddleware(routes as never, ours, undefined, undefined, true, QUIET) as RequestHandler,
  };
  return { priceBy, serve };
}

/** Builds an app that stands behind a table. */
type Layout = (express: ExpressModule, table: RequestHandler) => ReturnType<ExpressModule>;

async function statusesOf(express: ExpressModule, layout: Layout, requests: readonly string[]) {
  const { priceBy, serve } = await open();
  const statuses = async (price: Price) => {
    const url = await serve(layout(express, price(KEY)).set("env", "test"));
    const asked = requests.map(async (request) => {
      const [method = "", path = ""] = request.split(" ");
      return (await fetch(url + path, { method })).status;
    });
    return Promise.all(asked);
  };
  return { theirs: await statuses(priceBy.reference), ours: await statuses(priceBy.compat) };
}

const LAYOUTS: Readonly<Record<string, Layout>> = {
  "a handler for all paths": (express, table) => express().use(table).use(goods),
  "a handler for all paths, then a 404 handler": (express, table) => express().use(table).use(goods).use(notFound),
  "a handler at a mount, then a 404 handler": (express, table) => express().use(table).use("/api", goods).use(notFound),
  "a handler, then a page for the rest": (express, table) => express().use(table).use(goods).all(/.*/, notFound),
  "a handler in a router, then a 404 handler": (express, table) =>
    express().use(table).use(express.Router().use(auth, goods)).use(notFound),
  "a regular expression, then a 404 handler": (express, table) =>
    express().use(table).all(/.*/, auth, goods).use(notFound),
};

const REQUESTS = [
  ...["GET /api/report", "HEAD /api/report", "GET /API/Report/", "GET /api/%72eport", "GET /%61pi/report"],
  ...["HEAD /api/%72eport", "GET /api/report?a=1", "GET /api//report", "GET /api/other", "GET /api/%6fther"],
  ...["GET /api/%2572eport", "GET /public"],
];

describe.each(VERSIONS)("on %s", (_, express) => {
  test.each(Object.entries(LAYOUTS))(
    "compat asks for money wherever the reference does, with %s",
    async (_name, layout) => {
      const { theirs, ours } = await statusesOf(express, layout, REQUESTS);
      expect(theirs.filter((status) => status === 402).length).toBeGreaterThan(4);
      const given = REQUESTS.filter((_request, at) => theirs[at] === 402 && ours[at] !== 402);
      expect(given).toEqual([]);
      const free = ["GET /api/other", "GET /api/%6fther", "GET /public"].map((one) => REQUESTS.indexOf(one));
      expect(free.map((at) => ours[at])).toEqual(free.map((at) => theirs[at]));
    },
  );

  const HANDLERS: Readonly<Record<string, readonly RequestHandler[]>> = {
    "one function": [goods],
    "a function with next": [(req, res, next) => goods(req, res, next)],
    "a check in front": [auth, goods],
    "an async function": [async (req, res, next) => goods(req, res, next)],
  };

  test.each(Object.entries(HANDLERS))(
    "OPTIONS to a key without a method runs no handler of app.all, with %s",
    async (_name, handlers) => {
      const { priceBy, serve } = await open();
      let runs = 0;
      const count: RequestHandler = (_req, _res, next) => {
        runs += 1;
        next();
      };
      const app = express().set("env", "test");
      app.use(priceBy.compat({ "/report": ROUTE, "* /star": ROUTE, "GET /read": ROUTE }));
      for (const path of ["/report", "/star", "/read"])
        app.all(path, ...handlers.slice(0, -1), count, ...handlers.slice(-1));
      const url = await serve(app);
      for (const path of ["/report", "/star", "/read", "/Report/"]) {
        const { status, headers } = await fetch(url + path, { method: "OPTIONS" });
        expect([path, status, headers.has("allow"), runs]).toEqual([path, 204, true, 0]);
      }
      for (const path of ["/report", "/star"]) {
        for (const method of ["GET", "POST", "DELETE"]) {
          expect([path, method, (await fetch(url + path, { method })).status]).toEqual([path, method, 402]);
        }
      }
      expect(runs).toBe(0);
    },
  );

  test.each(Object.entries(HANDLERS))(
    "OPTIONS runs no handler of a route whose own table has a key without a method, with %s",
    async (_name, handlers) => {
      const { priceBy, serve } = await open();
      let runs = 0;
      const count: RequestHandler = (_req, _res, next) => {
        runs += 1;
        next();
      };
      const app = express().set("env", "test");
      app.all("/inside", priceBy.compat({ "/inside": ROUTE }), count, ...handlers);
      const url = `${await serve(app)}/inside`;
      expect((await fetch(url, { method: "POST" })).status).toBe(402);
      expect([(await fetch(url, { method: "OPTIONS" })).status, runs]).toEqual([204, 0]);
    },
  );

  test("CORS middleware answers OPTIONS of a priced path, in front of the table and behind it", async () => {
    const { priceBy, serve } = await open();
    for (const order of ["front", "behind"]) {
      const app = express().set("env", "test");
      const table = priceBy.compat({ "/report": ROUTE });
      app.use(...(order === "front" ? [cors, table] : [table, cors])).all("/report", auth, goods);
      const { status, headers } = await fetch(`${await serve(app)}/report`, { method: "OPTIONS" });
      expect([order, status, headers.get("access-control-allow-origin")]).toEqual([order, 204, "*"]);
    }
  });
});
