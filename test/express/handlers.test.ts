import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, METHODS, request as requestTo } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createPayments,
  type PaymentHooks,
  type Payments,
  type RouteConfig,
  type RoutesConfig,
} from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";

import express5, { type Express, type RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { openServer, PATIENT, PAY_TO, PRICED, type Shop, VERSIONS } from "./shop.js";

/** It has no types of its own here. */
const cors: () => RequestHandler = createRequire(import.meta.url)("cors");

const DEAR: RouteConfig = { accepts: { price: "$1", network: "eip155:84532", payTo: PAY_TO } };
const FREE: RouteConfig = { accepts: { price: "$0", network: "eip155:84532", payTo: PAY_TO }, free: true };
/** A sample is free, and what is big or dear costs more. */
const BY_REQUEST: RouteConfig = {
  accepts: { network: "eip155:84532", payTo: PAY_TO },
  price: ({ pathParams, search }) =>
    pathParams["id"] === "sample" ? "$0" : pathParams["id"] === "dear" || search.includes("big") ? "$1" : "$0.01",
  free: true,
};
const CENT = 10_000n;
const DOLLAR = 1_000_000n;

/** Builds an app. `run` notes each request that it gets, and responds; so does `other`, by another name. */
interface Tools {
  readonly run: RequestHandler;
  readonly other: RequestHandler;
  readonly payments: Payments;
}

type Build = (app: Express, tools: Tools) => unknown;

interface Recorded {
  readonly shop: Shop;
  /** `run GET /weather`, as the handler saw it. */
  readonly runs: readonly string[];
  /** Sends a request with this very target, and returns the status. */
  ask(line: string, headers?: Readonly<Record<string, string>>): Promise<string>;
  /** What `ask` says of each request, and which handlers ran. */
  askAll(lines: readonly string[], headers?: Readonly<Record<string, string>>): Promise<readonly string[]>;
}

async function open(express: typeof express5, build: Build, hooks: PaymentHooks = {}): Promise<Recorded> {
  const runs: string[] = [];
  const noting =
    (name: string): RequestHandler =>
    (req, res) => {
      runs.push(`${name} ${req.method} ${req.originalUrl}`);
      res.send(name);
    };
  const shop = await openServer(express, (app, { facilitator }) => {
    const logger = { info() {}, warn() {}, error() {} };
    const payments = createPayments({ facilitator, logger, hooks, strict: false, deadlines: PATIENT });
    onTestFinished(() => payments.close());
    build(app, { run: noting("run"), other: noting("other"), payments });
  });
  const ask: Recorded["ask"] = async (line, headers = {}) => {
    const fields = Object.entries({ Host: "a", Connection: "close", "Content-Length": "0", ...headers });
    const text = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const [method = "", path = ""] = line.split(" ");
    const connection = await shop.connect(`${method} ${path} HTTP/1.1\r\n${text}\r\n`);
    return /^HTTP\/1\.1 (\d+)/.exec(await connection.ended)?.[1] ?? "nothing";
  };
  return {
    shop,
    runs,
    ask,
    async askAll(lines, headers) {
      const statuses: string[] = [];
      for (const line of lines) statuses.push(`${line} ${await ask(line, headers)}`);
      return statuses;
    },
  };
}

/** Requests that a priced handler must not get unpaid, and their statuses. */
type Row = readonly [
  what: string,
  routes: RoutesConfig,
  requests: readonly string[],
  build: (app: Express, tools: Tools, table: RequestHandler) => unknown,
];

const WEATHER: RoutesConfig = { "GET /weather": PRICED };

const UNNAMED = ["POST", "PUT", "PATCH", "DELETE", "PROPFIND", "TRACE", ...METHODS.filter((name) => name === "QUERY")];

/** Middleware that changes the URL of a request. */
function rewriting(change: (url: string) => string): RequestHandler {
  return (req, _res, next) => {
    req.url = change(req.url);
    next();
  };
}

describe.each(VERSIONS)("on %s, a handler that a key prices", (version, express) => {
  const wildcard = version === "Express 4" ? "*" : "*rest";

  const rows: readonly Row[] = [
    [
      "app.all, by every method",
      WEATHER,
      ["GET /weather 402", "HEAD /weather 402", ...UNNAMED.map((method) => `${method} /weather 402`)],
      (app, { run }, table) => app.use(table).all("/weather", run),
    ],
    [
      "a route with a parameter, and its own route behind it",
      { "GET /u/me": PRICED },
      ["GET /u/me 402", "GET /u/me/ 402", "HEAD /U/ME 402", "GET /alias 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace("/alias", "/u/me")))
          .all("/u/:id", run)
          .get("/u/me", run),
    ],
    [
      "a function at its path, and its own route behind it",
      WEATHER,
      ["GET /Weather/ 402", "HEAD /weather/ 402", "GET /alias 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace("/alias", "/weather")))
          .use("/weather", run)
          .get("/weather", run),
    ],
    [
      "middleware that responds in its place",
      WEATHER,
      ["GET /weather 402", "GET /WEATHER 402", "GET /weather/ 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use((req, res, next) => (/^.weather/i.test(req.url) ? run(req, res, next) : next()))
          .get("/weather", run),
    ],
    [
      "a regular expression, for a key with a parameter",
      { "GET /img/:id": PRICED },
      ["GET /img/1 402", "GET /img/1/x 402"],
      (app, { run }, table) => app.use(table).get(/^\/img\/(\w+)/, run),
    ],
    [
      "a route of two keys with two prices, by an encoded parameter",
      { "GET /u/:id": PRICED, "GET /u/vip": DEAR },
      ["GET /u/%76ip 400", "GET /u/vip 402", "GET /u/a%20b 402"],
      (app, { run }, table) => app.use(table).get("/u/:id", run),
    ],
    [
      "a route of a free key and a priced one, by an encoded parameter",
      { "GET /u/:id": FREE, "GET /u/vip": DEAR },
      ["GET /u/%76ip 400", "GET /u/vip 402"],
      (app, { run }, table) => app.use(table).get("/u/:id", run),
    ],
    [
      "a table at several paths",
      { "GET /w": PRICED },
      ["GET /a/w 402", "POST /b/w 402"],
      (app, { run }, table) => app.use(["/a", "/b"], table).all(["/a/w", "/b/w"], run),
    ],
    [
      "router.all in a mounted router",
      { "GET /api/weather": PRICED },
      ["GET /api/weather 402", "POST /api/weather 402", "GET /API/Weather/ 402"],
      (app, { run }, table) => app.use(table).use("/api", express.Router().all("/weather", run)),
    ],
    [
      "a route before its table, in an app that a router mounts",
      { "GET /a/b/weather": PRICED },
      ["GET /a/b/weather 402", "GET /A/b/Weather/ 402"],
      (app, { run }, table) => app.use("/a", express.Router().use("/b", express().get("/weather", run).use(table))),
    ],
    [
      "a mount with a parameter, and text that looks like a placeholder",
      { "/~u": PRICED },
      ["GET /a/~u 402", "PUT /a/~u/child 402", "GET /~/~U 402"],
      (app, { run }, table) => app.use("/:any", table).use("/:any/~u", run),
    ],
    [
      "a double slash that a mount of Express 4 takes away, and a free route of the path without it",
      { "/:any": PRICED },
      ["GET /paid//paid 402", "GET /paid//paid/ 402", "POST /paid/paid 402", "GET /paid 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use("/:any", run)
          .get("/paid/paid", (_req, res) => void res.end()),
    ],
    [
      // Express cuts the mount off what was sent, by the length of what it has escaped.
      "a mount with a parameter, and characters that Express escapes",
      { "/a/:any/weather": PRICED },
      ["GET /a/|/weather/# 402", "GET http://x/a/|a.b/weather/ 402", 'PUT /a/"/Weather# 402', "GET /a/b/weather 402"],
      (app, { run }, table) => app.use(table).use("/a/:any", run),
    ],
    [
      "app.use with a path, by every method and at every child path",
      WEATHER,
      ["GET /weather 402", "POST /weather 402", "GET /weather/ 402", "GET /weather/child 402", "PUT /Weather/a/b 402"],
      (app, { run }, table) => app.use(table).use("/weather", run),
    ],
    [
      "an array of paths",
      WEATHER,
      ["GET /weather 402", "GET /w 402", "HEAD /W/ 402"],
      (app, { run }, table) => app.use(table).get(["/weather", "/w"], run),
    ],
    [
      "a regular expression",
      WEATHER,
      ["GET /weather 402", "GET /weatherx 402", "GET /weather/x 402"],
      (app, { run }, table) => app.use(table).get(/^\/weather/, run),
    ],
    [
      "a route of several methods, of which a key names one",
      WEATHER,
      ["GET /weather 402", "POST /weather 402", "DELETE /weather 404"],
      (app, { run }, table) => app.use(table).route("/weather").get(run).post(run),
    ],
    [
      "an alias that middleware rewrites",
      WEATHER,
      ["GET /w 402", "GET /w?x=1 402", "GET /weather 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace(/^\/w(?=\?|$)/, "/weather")))
          .get("/weather", run),
    ],
    [
      "a version prefix that middleware removes",
      WEATHER,
      ["GET /v1/weather 402", "GET /v2/weather/ 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace(/^\/v\d/, "")))
          .get("/weather", run),
    ],
    [
      "lower-casing middleware and a router that knows case",
      WEATHER,
      ["GET /WEATHER 402", "GET /Weather/ 402"],
      (app, { run }, table) =>
        app
          .set("case sensitive routing", true)
          .use(table)
          .use(rewriting((url) => url.toLowerCase()))
          .get("/weather", run),
    ],
    [
      "middleware that normalises slashes and dots",
      WEATHER,
      ["GET //weather 402", "GET /./weather 402", "GET /x/../weather 402", "GET /weather// 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => new URL(url.replace(/\/{2,}/g, "/"), "http://a").pathname))
          .get("/weather", run),
    ],
    [
      "middleware that decodes",
      WEATHER,
      ["GET /%77eather 402", "GET /weathe%72/ 402", "GET /%57eather 402"],
      (app, { run }, table) => app.use(table).use(rewriting(decodeURIComponent)).get("/weather", run),
    ],
    [
      "a method override by query",
      { "DELETE /weather": PRICED },
      ["POST /weather?_method=DELETE 402", "GET /weather?_method=DELETE 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use((req, _res, next) => {
            if (typeof req.query["_method"] === "string") req.method = req.query["_method"];
            next();
          })
          .delete("/weather", run),
    ],
    [
      "a table below /api, where the handler is also reached elsewhere",
      WEATHER,
      ["GET /api/weather 402", "GET /v2/weather 402", "GET /%61pi/weather 402", "GET /API/weather 402"],
      (app, { run }, table) => app.use("/api", table).get("/:x/weather", run),
    ],
    [
      "one router mounted twice, and the table below one mount",
      { "GET /a/weather": PRICED },
      ["GET /a/weather 402", "GET /b/weather 402"],
      (app, { run }, table) => {
        const router = express.Router().get("/weather", run);
        app.use(table).use("/a", router).use("/b", router);
      },
    ],
    [
      "a parameter in braces, behind middleware at a mount",
      { "GET /api/u/{id}": PRICED },
      ["GET /api/u/7 402"],
      (app, { run }, table) =>
        app
          .use("/api", (_req, _res, next) => next())
          .use(table)
          .use("/api", (_req, _res, next) => next())
          .get("/api/u/:id", run),
    ],
    [
      "a parameter in braces",
      { "GET /u/{id}": PRICED },
      ["GET /u/id 402", "GET /u/7 402"],
      (app, { run }, table) => app.use(table).get("/u/:id", run),
    ],
    [
      "a parameter in angle brackets",
      { "GET /u/<id>": PRICED },
      ["GET /u/<id> 402", "GET /u/7 402"],
      (app, { run }, table) => app.use(table).get("/u/:id", run),
    ],
    [
      "a key with two slashes, and middleware that joins them",
      { "GET //weather": PRICED },
      ["GET //weather 402", "GET /weather 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace(/^\/+/, "/")))
          .get("/weather", run),
    ],
    [
      "a key with a dot",
      { "GET /./weather": PRICED },
      ["GET /./weather 402", "GET /weather 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace("/./", "/")))
          .get("/weather", run),
    ],
    [
      "a key with letters that a URL encodes",
      { "GET /café": PRICED },
      ["GET /caf%C3%A9 402", "GET /caf%c3%a9 402"],
      (app, { run }, table) => app.use(table).get("/café", run).get(encodeURI("/café"), run),
    ],
    [
      "a table after its routes",
      WEATHER,
      ["GET /weather 402", "HEAD /weather 402"],
      (app, { run }, table) => app.get("/weather", run).use(table),
    ],
    [
      "a table after a mounted router",
      { "GET /api/weather": PRICED },
      ["GET /api/weather 402"],
      (app, { run }, table) => app.use("/api", express.Router().get("/weather", run)).use(table),
    ],
    [
      "a table with router-relative keys, mounted globally",
      WEATHER,
      ["GET /api/weather 402"],
      (app, { run }, table) => app.use(table).use("/api", express.Router().get("/weather", run)),
    ],
    [
      "an inner app",
      { "GET /in/weather": PRICED },
      ["GET /in/weather 402", "GET /IN/Weather/ 402"],
      (app, { run }, table) => app.use(table).use("/in", express().get("/weather", run)),
    ],
    [
      "an inner app with rewriting middleware of its own",
      { "GET /in/weather": PRICED },
      ["GET /in/w 402"],
      (app, { run }, table) =>
        app.use(table).use(
          "/in",
          express()
            .use(rewriting((url) => url.replace("/w", "/weather")))
            .get("/weather", run),
        ),
    ],
    [
      "a wrapper of the seller's around the middleware",
      WEATHER,
      ["GET /weather 402", "GET /Weather/ 402", "HEAD /weather 402"],
      (app, { run }, table) => app.use((req, res, next) => table(req, res, next)).get("/weather", run),
    ],
    [
      "a wrapper of the seller's, an array and app.all",
      WEATHER,
      ["GET /weather 402", "GET /w 402", "POST /weather 402"],
      (app, { run }, table) => app.use((req, res, next) => table(req, res, next)).all(["/weather", "/w"], run),
    ],
    [
      "two tables, and a path that neither names",
      WEATHER,
      ["GET /weather 402", "POST /weather 402", "GET /news 402", "POST /news 402"],
      (app, { run, payments }, table) =>
        app
          .use(table, payments.routes({ "GET /news": DEAR }))
          .all("/weather", run)
          .all("/news", run),
    ],
    [
      "two keys of one price at one handler, by a path that neither names",
      { "GET /weather": PRICED, "GET /news": PRICED },
      ["GET /weather 402", "GET /news 402", "GET /other 402"],
      (app, { run }, table) => app.use(table).get(["/weather", "/news", "/other"], run),
    ],
    [
      "two keys of different prices at one handler, by a path that neither names",
      { "GET /weather": PRICED, "GET /news": DEAR },
      ["GET /weather 402", "GET /news 402", "GET /other 404"],
      (app, { run }, table) => app.use(table).get(["/weather", "/news", "/other"], run),
    ],
    [
      "a route of several handlers",
      WEATHER,
      ["GET /weather 402", "POST /weather 402"],
      (app, { run }, table) => app.use(table).all("/weather", run, run),
    ],
    [
      "app.param and a parameter that is rewritten",
      { "GET /u/:id": PRICED },
      ["GET /u/7 402", "GET /x/u/7 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace("/x", "")))
          .get("/u/:id", run),
    ],
    [
      "a wildcard",
      { [`GET /files/*`]: PRICED },
      ["GET /files/a 402", "GET /files/a/b 402", "GET /FILES/a 402"],
      (app, { run }, table) => app.use(table).get(`/files/${wildcard}`, run),
    ],
    [
      "several wildcards",
      { "GET /a/*/b/*/c/*": PRICED },
      ["GET /a/1/b/2/3/c/4 402", "GET /A/1/b/2/C/4/ 402", "POST /a/1/b/2/c/4 402"],
      (app, { run }, table) =>
        app.use(table).all(version === "Express 4" ? "/a/*/b/*/c/*" : "/a/*one/b/*two/c/*three", run),
    ],
    [
      "a route for the path without the wildcard in the middle, beside one with it",
      { "GET /*/:x": PRICED, "GET /a/*/b": PRICED },
      ["GET /x 402", "GET /X/ 402", "HEAD /x 402", "GET /a/b 402", "GET /A/B 402", "GET /y/x 402", "GET /a/1/2/b 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .get("/x", run)
          .get("/a/b", run)
          .get(version === "Express 4" ? "/a/*/b" : "/a/*s/b", run)
          .get(version === "Express 4" ? "/*/:x" : "/*s/:x", run),
    ],
  ];

  const secret: RoutesConfig = { "GET /secret": PRICED };
  const everySecret = ["GET /secret 402", "POST /secret 402", "GET /Secret/ 402", "OPTIONS /secret 204"];

  const hidden: readonly Row[] = [
    [
      "an inner app with a table of full keys",
      { "GET /in/a": PRICED },
      ["POST /in/a 402", "OPTIONS /in/a 204", "GET /in/a 402", "GET /IN/A/ 402"],
      (app, { run }, table) => app.use("/in", express().use(table).all("/a", run)),
    ],
    [
      "an inner app of a router, with a table of full keys",
      { "GET /r/in/a": PRICED },
      ["POST /r/in/a 402", "GET /r/in/a 402"],
      (app, { run }, table) => app.use("/r", express.Router().use("/in", express().use(table).all("/a", run))),
    ],
    [
      "a table after its routes, before any request met it",
      WEATHER,
      ["POST /weather 402", "GET /weather 402"],
      (app, { run }, table) => app.all("/weather", run).use(table),
    ],
    [
      "a mount behind a route that names OPTIONS and passes on",
      { "GET /x": PRICED },
      ["OPTIONS /x 204", "GET /x 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .options("/x", (_req, _res, next) => next())
          .use("/x", run),
    ],
    [
      "a mount that charges, behind a route that names OPTIONS and passes on",
      { "GET /y": PRICED },
      ["OPTIONS /x 204", "GET /x 402"],
      (app, { run, payments }) =>
        app.options("/x", (_req, _res, next) => next()).use("/x", payments.charge(PRICED), run),
    ],
    ["app.all for every path", secret, everySecret, (app, { run }, table) => app.use(table).all(/.*/, run)],
    ["a function for every path", secret, everySecret, (app, { run }, table) => app.use(table).use(run)],
    [
      "a page for every path, to which middleware rewrites",
      secret,
      ["GET /alias 402", "POST /alias 402", "GET /%73ecret 402", "GET /x/../secret 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace("/alias", "/secret")))
          .all(/.*/, run),
    ],
    [
      "a proxy in a router that is mounted twice",
      { "GET /a/secret": PRICED },
      [
        "GET /a/secret 402",
        "GET /b/secret 402",
        "POST /b/Secret 402",
        "GET /b/x/../secret 402",
        "GET /a/../secret 402",
      ],
      (app, { run }, table) => {
        const router = express.Router().use(run);
        app.use(table).use("/a", router).use("/b", router);
      },
    ],
    [
      "a route whose paths are a key's and everything, beside another key",
      { "/paid": PRICED, "/paid/secret": PRICED },
      ["GET /s 402", "GET /paid 402", "GET /paid/Secret 402", "POST /paid/Secret 402", "POST /paid/x/../secret 402"],
      (app, { run }, table) =>
        app
          .use(table)
          .get(["/paid", `/${wildcard}`], run)
          .use("/paid", run),
    ],
    [
      "a regular expression and a route, for two readings of a key",
      { "/paid/*/paid": PRICED },
      ["GET /paid/paid 402", "GET /paid/paid/s/paid/ 402", "POST /paid/paid/s/PAID 402"],
      (app, { run }, table) =>
        app.use("/paid", table).use(
          "/paid",
          express
            .Router()
            .all(/\/s\/paid/i, run)
            .all("/paid", run),
        ),
    ],
    [
      "a proxy in a router whose mount has a backslash",
      { "/d\\\\e/secret": PRICED },
      ["GET /d\\e/secret 402", "GET /D\\E/X/../SECRET 402", "GET /d\\e/%73ecret 402"],
      (app, { run }, table) => app.use(table).use("/d\\\\e", express.Router().use(run)),
    ],
    [
      "a proxy before the table",
      { "GET /up/secret": PRICED },
      ["GET /up/secret 402", "POST /up/secret 402", "GET /up/x/../secret 402"],
      (app, { run }, table) => app.use("/up", run).use(table),
    ],
    [
      "a proxy before the table, that may pass requests on",
      { "GET /up/secret": PRICED },
      ["GET /up/secret 402", "POST /up/secret 402", "GET /up/x/../secret 402"],
      (app, { run }, table) => app.use("/up", (req, res, next) => run(req, res, next)).use(table),
    ],
    [
      "a wrapped table, and a page for every path",
      secret,
      everySecret,
      (app, { run }, table) => app.use((req, res, next) => table(req, res, next)).all(/.*/, run),
    ],
    [
      "a router with its table that a function calls",
      secret,
      everySecret,
      (app, { run }, table) => {
        const router = express.Router().use(table).all("/secret", run);
        app.use((req, res, next) => router(req, res, next));
      },
    ],
    [
      "a router that a function calls behind the table",
      secret,
      everySecret,
      (app, { run }, table) => {
        const router = express.Router().all("/secret", run);
        app.use(table).use((req, res, next) => router(req, res, next));
      },
    ],
  ];

  test.each(hidden)("never runs unpaid where only paths tell: %s", async (_what, routes, expected, build) => {
    const { runs, askAll } = await open(express, (app, tools) => build(app, tools, tools.payments.routes(routes)));
    const lines = expected.map((row) => row.slice(0, row.lastIndexOf(" ")));
    expect(await askAll(lines)).toEqual(expected);
    expect(runs).toEqual([]);
  });

  test.each(rows)("never runs unpaid: %s", async (_what, routes, expected, build) => {
    const { runs, askAll } = await open(express, (app, tools) => build(app, tools, tools.payments.routes(routes)));
    const lines = expected.map((row) => row.slice(0, row.lastIndexOf(" ")));
    expect(await askAll(lines)).toEqual(expected);
    expect(runs).toEqual([]);
  });

  test.each<[what: string, method: string, path: string, build: Build]>([
    [
      "app.all, by POST",
      "POST",
      "/weather",
      (app, { run, payments }) => app.use(payments.routes(WEATHER)).all("/weather", run),
    ],
    [
      "an array of paths",
      "GET",
      "/w",
      (app, { run, payments }) => app.use(payments.routes(WEATHER)).get(["/weather", "/w"], run),
    ],
    [
      "a child path",
      "GET",
      "/weather/x",
      (app, { run, payments }) => app.use(payments.routes(WEATHER)).use("/weather", run),
    ],
    [
      "an alias",
      "GET",
      "/w",
      (app, { run, payments }) =>
        app
          .use(payments.routes(WEATHER))
          .use(rewriting((url) => url.replace("/w", "/weather")))
          .get("/weather", run),
    ],
    [
      "an inner app",
      "GET",
      "/in/weather",
      (app, { run, payments }) =>
        app.use(payments.routes({ "GET /in/weather": PRICED })).use("/in", express().get("/weather", run)),
    ],
  ])("runs once and is charged once, for %s", async (_what, method, path, build) => {
    const { shop, runs } = await open(express, build);
    expect(await shop.pay({ method, path })).toMatchObject({ status: 200, text: "run", receipt: { success: true } });
    expect([runs, shop.facilitator.settled]).toEqual([[`run ${method} ${path}`], [CENT]]);
  });

  test.each<
    [what: string, change: (path: string) => { readonly path: string; readonly headers?: Record<string, string> }]
  >([
    ["by header", (path) => ({ path, headers: { "X-HTTP-Method-Override": "DELETE" } })],
    ["by query", (path) => ({ path: `${path}?_method=DELETE` })],
  ])("is not bought by a cheap request that an override %s makes dear", async (_what, change) => {
    const { shop, runs } = await open(express, (app, { run, other, payments }) => {
      app.use(payments.routes({ "GET /weather": PRICED, "DELETE /weather": DEAR }));
      app.use((req, _res, next) => {
        req.method = req.get("X-HTTP-Method-Override") ?? String(req.query["_method"] ?? req.method);
        next();
      });
      app.get("/weather", other).delete("/weather", run);
    });
    const paid = await shop.pay(change("/weather"));
    expect([paid.status, runs, shop.facilitator.settled]).toEqual([404, [], []]);
    expect(await shop.pay({ path: "/weather", method: "DELETE" })).toMatchObject({ status: 200 });
    expect(shop.facilitator.settled).toEqual([DOLLAR]);
  });

  test("in a router that two tables share is sold at the price of the table above it", async () => {
    const { shop } = await open(express, (app, { run, payments }) => {
      const router = express.Router().all("/m", run);
      app.use("/basic", payments.routes({ "GET /m": PRICED }), router);
      app.use("/pro", payments.routes({ "GET /m": DEAR }), router);
    });
    for (const [method, path] of [
      ["GET", "/pro/m/"],
      ["POST", "/pro/m"],
      ["POST", "/basic/m"],
    ] as const) {
      expect(await shop.pay({ method, path })).toMatchObject({ status: 200, text: "run" });
    }
    expect(shop.facilitator.settled).toEqual([DOLLAR, DOLLAR, CENT]);
  });

  test.each<[what: string, path: string, config: RouteConfig]>([
    ["a path with a dearer price", "/i/cheap?to=/i/dear", BY_REQUEST],
    ["a query with a dearer price", "/i/cheap?to=/i/cheap?size=big", BY_REQUEST],
    ["a path that is not free", "/i/sample?to=/i/dear", BY_REQUEST],
    ["a path that a hook does not grant", "/i/sample?to=/i/dear", PRICED],
  ])("is not sold by a price of another request when middleware makes of it %s", async (_what, path, config) => {
    const { shop, runs } = await open(
      express,
      (app, { run, payments }) => {
        app.use(payments.routes({ "GET /i/:id": config }));
        app.use(rewriting((url) => decodeURIComponent(url.split("?to=")[1] ?? url)));
        app.get("/i/:id", run);
      },
      { onRequest: ({ path }) => (config === PRICED && path === "/i/sample" ? { grant: true } : undefined) },
    );
    const got = await shop.pay({ path });
    expect([got.status, JSON.parse(got.text).error]).toEqual([404, "denied"]);
    expect([runs, shop.facilitator.settled]).toEqual([[], []]);
    expect((await shop.pay({ path: "/i/dear" })).status).toBe(200);
    expect(runs).toHaveLength(1);
  });

  test("is not charged for a paid request that middleware turns into OPTIONS", async () => {
    let codes: (() => readonly string[]) | undefined;
    const { shop, runs } = await open(express, (app, { run, payments }) => {
      codes = () => payments.report(app).findings.map(({ code }) => code);
      app.use(payments.routes(WEATHER));
      app.use((req, _res, next) => {
        req.method = "OPTIONS";
        next();
      });
      app.all("/weather", run);
    });
    expect((await shop.pay({ path: "/weather" })).status).toBe(404);
    expect([runs, shop.facilitator.settled]).toEqual([[], []]);
    expect(codes?.()).toContain("FAREBOX_REQUEST_UNNAMED");
  });

  test("is sold in each spelling that Express accepts, beside a key for everything", async () => {
    const { shop } = await open(express, (app, { run, payments }) =>
      app.use(payments.routes({ "GET /*": PRICED, "GET /b": DEAR })).all("/b", run),
    );
    for (const path of ["/b/", "/B"]) expect(await shop.pay({ path })).toMatchObject({ status: 200, text: "run" });
    expect(shop.facilitator.settled).toEqual([DOLLAR, DOLLAR]);
  });

  test.each<[what: string, path: string, route: string, routes: RoutesConfig, build: Row[3]]>([
    [
      "that neither of two keys with different prices names",
      "/other",
      "GET /weather",
      { "GET /weather": PRICED, "GET /news": DEAR },
      (app, { run }, table) => app.use(table).get(["/weather", "/news", "/other"], run),
    ],
    [
      "for which it has paid another price",
      "/news",
      "GET /weather",
      { "GET /weather": PRICED, "GET /news": DEAR },
      (app, { run, other }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace("/news", "/weather")))
          .get("/weather", run)
          .get("/news", other),
    ],
    [
      "for which it has paid the table instead of the route",
      "/news",
      "payments.charge",
      { "GET /news": DEAR },
      (app, { run, other, payments }, table) =>
        app
          .use(table)
          .use(rewriting((url) => url.replace("/news", "/weather")))
          .get("/weather", payments.charge(PRICED), run)
          .get("/news", other),
    ],
  ])("tells the seller once of requests %s", async (_what, path, named, routes, build) => {
    let report: Payments["report"] | undefined;
    const { shop, runs } = await open(express, (app, tools) => {
      build(app, tools, tools.payments.routes(routes));
      report = () => tools.payments.report();
    });
    for (const query of ["", "?again"]) expect((await shop.pay({ path: `${path}${query}` })).status).toBe(404);
    expect([runs, shop.facilitator.settled]).toEqual([[], []]);
    const found = report?.().findings.filter(({ code }) => code === "FAREBOX_REQUEST_UNNAMED");
    expect(found?.map(({ route }) => route)).toEqual([named]);
  });

  test("is not bought by a path of the same price, of which it asks for other conditions", async () => {
    const refuse = () => "not for sale";
    const { shop, runs } = await open(express, (app, { run, other, payments }) => {
      app.use(payments.routes({ "GET /any": PRICED, "GET /some": { ...PRICED, validate: refuse } }));
      app.use(rewriting((url) => url.replace("/any", "/some")));
      app.get("/any", other).get("/some", run);
    });
    expect((await shop.pay({ path: "/any" })).status).toBe(404);
    expect([runs, shop.facilitator.settled]).toEqual([[], []]);
  });

  test("is not bought by a cheap path that middleware rewrites to a dear one", async () => {
    const { shop, runs } = await open(express, (app, { run, other, payments }) => {
      app.use(payments.routes({ "GET /cheap": PRICED, "GET /dear": DEAR }));
      app.use(rewriting((url) => url.replace("/cheap", "/dear")));
      app.get("/cheap", other).get("/dear", run);
    });
    expect((await shop.pay({ path: "/cheap" })).status).toBe(404);
    expect([runs, shop.facilitator.settled]).toEqual([[], []]);
  });

  test("may be added after the first request", async () => {
    let add = () => {};
    const { ask, askAll, runs } = await open(express, (app, { run, other, payments }) => {
      app.use(payments.routes({ ...WEATHER, "GET /late/weather": PRICED })).get("/free", other);
      const router = express.Router();
      app.use("/late", router);
      add = () => {
        app.all("/weather", run);
        router.all("/weather", run);
      };
    });
    expect(await ask("GET /free")).toBe("200");
    add();
    const lines = ["POST /weather", "GET /weather", "POST /late/weather", "GET /late/weather"];
    expect(await askAll(lines)).toEqual(lines.map((line) => `${line} 402`));
    expect(runs).toEqual(["other GET /free"]);
  });

  test("may be added to a route that is there already", async () => {
    let add = () => {};
    const { ask, runs } = await open(express, (app, { run, other, payments }) => {
      app.use(payments.routes({ "GET /weather": PRICED })).get("/free", other);
      const route = app.route("/weather");
      route.get(run);
      add = () => void route.post(run);
    });
    expect(await ask("GET /free")).toBe("200");
    add();
    expect(await ask("POST /weather")).toBe("402");
    expect(runs).toEqual(["other GET /free"]);
  });

  test("may be in an app that is mounted later", async () => {
    let mount = () => {};
    const { askAll, ask, runs } = await open(express, (app, { run, other, payments }) => {
      const inner = express().use(payments.routes(WEATHER)).all("/weather", run);
      app.get("/free", other);
      mount = () => void app.use("/in", inner);
    });
    expect(await ask("GET /free")).toBe("200");
    mount();
    const lines = ["GET /in/weather", "POST /in/weather", "GET /in/Weather/"];
    expect(await askAll(lines)).toEqual(lines.map((line) => `${line} 402`));
    expect(runs).toEqual(["other GET /free"]);
  });

  test("may be in an inner app that gets it later", async () => {
    let add = () => {};
    const { askAll, ask, runs } = await open(express, (app, { run, other, payments }) => {
      const inner = express();
      app
        .use(payments.routes({ "GET /in/weather": PRICED }))
        .get("/free", other)
        .use("/in", inner);
      add = () => void inner.all("/weather", run);
    });
    expect(await ask("GET /free")).toBe("200");
    add();
    const lines = ["GET /in/weather", "POST /in/weather"];
    expect(await askAll(lines)).toEqual(lines.map((line) => `${line} 402`));
    expect(runs).toEqual(["other GET /free"]);
  });

  test("behind a function that calls the table is priced only for requests that the function gives to it", async () => {
    const { ask, askAll, runs } = await open(express, (app, { run, payments }) => {
      const table = payments.routes(WEATHER);
      app.use((req, res, next) => (req.get("X-Staff") === undefined ? table(req, res, next) : next()));
      app.get(["/weather", "/w"], run);
    });
    expect(await ask("GET /weather", { "X-Staff": "1" })).toBe("200");
    expect(await askAll(["GET /w", "GET /weather"])).toEqual(["GET /w 402", "GET /weather 402"]);
    expect(await ask("GET /w", { "X-Staff": "1" })).toBe("200");
    expect(runs).toEqual(["run GET /weather", "run GET /w"]);
  });

  test("behind a function that calls the table at a mount with a parameter is priced for every value", async () => {
    const { shop, askAll, runs } = await open(express, (app, { run, payments }) => {
      const table = payments.routes({ "GET /weather": PRICED, "GET /news": DEAR });
      const router = express.Router().use((req, res, next) => table(req, res, next));
      app.use("/:tenant", router.all("/weather", run).all("/news", run));
    });
    const lines = ["GET /a/weather", "POST /a/weather", "GET /b/weather", "GET /b/news", "POST /c/news"];
    expect(await askAll(lines)).toEqual(lines.map((line) => `${line} 402`));
    expect(runs).toEqual([]);
    await shop.pay({ path: "/d/news" });
    await shop.pay({ path: "/d/weather", method: "POST" });
    expect(shop.facilitator.settled).toEqual([DOLLAR, CENT]);
  });

  test("behind a function at a mount with a parameter is priced whatever the first request was", async () => {
    const { askAll, runs } = await open(express, (app, { run, payments }) => {
      const table = payments.routes({ "/a/b": PRICED });
      app.use("/:p/x", (req, res, next) => table(req, res, next));
      app.use("/:p/x", express.Router().use("/a", express().all("/b", run)));
    });
    const lines = ["GET /:(/x/nothing 404", "GET /S/X/A/B 402", "POST /s/x/a/B/ 402", "OPTIONS /s/x/a/b 204"];
    expect(await askAll(lines.map((line) => line.slice(0, -4)))).toEqual(lines);
    expect(runs).toEqual([]);
  });

  test("behind a function at the path of the table is priced by keys with two wildcards", async () => {
    const { askAll, runs } = await open(express, (app, { run, other, payments }) => {
      const table = payments.routes({ "/paid/*/:a-:b/*": PRICED });
      app.use("/paid", (req, res, next) => table(req, res, next));
      app.use(
        "/paid/paid",
        express
          .Router()
          .get(/^\/.+\/[^/]+-[^/]+/, run)
          .get("/", other),
      );
    });
    const lines = ["GET /paid/paid/a/b-c/d 402", "GET /paid/paid/a/b/c/d-e/f/g/h 402", "GET /paid/paid 200"];
    expect(await askAll(lines.map((line) => line.slice(0, -4)))).toEqual(lines);
    expect(runs).toEqual(["other GET /paid/paid"]);
  });

  test.each([true, false])(
    "at a path is priced if a route has one of its paths (wrapped table: %s)",
    async (isWrapped) => {
      const { askAll, runs } = await open(express, (app, { run, other, payments }) => {
        const table = payments.routes({ "/api/*": PRICED });
        app.use(isWrapped ? (req, res, next) => table(req, res, next) : table);
        app.get("/api/paid", other);
        app.use("/api", (req, res) => run(req, res, () => {}));
      });
      const lines = ["GET /api/x 402", "PUT /API/X 402", "GET /api//x 402", "POST /api/paid 402", "OPTIONS /api/x 204"];
      expect(await askAll(lines.map((line) => line.slice(0, -4)))).toEqual(lines);
      expect(runs).toEqual([]);
    },
  );

  test("is sold where Express gives it the path of a key with the same price", async () => {
    const { shop, runs } = await open(express, (app, { run, other, payments }) => {
      app.use(payments.routes({ "/:page": PRICED, "/weather": PRICED }));
      app.get("/:page", run).get("/weather", other);
    });
    await shop.pay({ path: "/weather" });
    expect(runs).toEqual(["run GET /weather"]);
    expect(shop.facilitator.settled).toEqual([CENT]);
  });

  test.each<
    [
      what: string,
      path: string,
      routes: RoutesConfig,
      build: (app: Express, tools: Tools, charge: RequestHandler) => unknown,
    ]
  >([
    [
      "a route that charges by itself gets another spelling of the key",
      "/PAID",
      { "/paid": DEAR },
      (app, { run, other }, charge) => app.get(`/${wildcard}`, charge, run).get("/paid", other),
    ],
    [
      "a mount that charges by itself gets what no key names",
      "/PAID/y",
      { "/paid/x": DEAR },
      (app, { run, other }, charge) => app.use("/paid", charge, run).get("/paid/x", other),
    ],
    [
      "a mount that charges by itself is behind middleware that the key prices",
      "/paid/x",
      { "/paid": DEAR },
      (app, { run }, charge) => app.use("/paid", (_req, _res, next) => next()).use("/paid/x", charge, run),
    ],
  ])("is not asked for its key's price where %s", async (_what, path, routes, build) => {
    const { shop, runs } = await open(express, (app, tools) => {
      const { payments } = tools;
      app.use(payments.routes(routes));
      build(app, tools, payments.charge(PRICED));
    });
    await shop.pay({ path });
    expect([runs, shop.facilitator.settled]).toEqual([[`run GET ${path}`], [CENT]]);
  });

  test("at the top of the app leaves what a file server passes on free", async () => {
    const { askAll, runs } = await open(express, (app, { other, payments }) => {
      app
        .use(payments.routes({ "GET /book.pdf": PRICED }))
        .use(express5.static(tmpdir()))
        .use(other);
    });
    const lines = ["GET /", "GET /free", "POST /free", "OPTIONS /free"];
    expect(await askAll([...lines, "GET /book.pdf", "GET //book.pdf"])).toEqual([
      ...lines.map((line) => `${line} 200`),
      "GET /book.pdf 402",
      "GET //book.pdf 402",
    ]);
    expect(runs).toHaveLength(lines.length);
  });

  test.each<[what: string, routes: RoutesConfig, free: string[], build: Row[3]]>([
    [
      "of a key that a wrapped table has",
      { "GET /:a/:b/:c.json": PRICED },
      ["GET /paid/paid/paid", "POST /a"],
      (app, { other }, table) =>
        app
          .use((req, res, next) => table(req, res, next))
          .get("/paid/paid/paid", other)
          .post("/a", other),
    ],
    [
      "of a key with the full path, in a table at a mount",
      { "GET /api/x": PRICED },
      ["GET /api/b/c"],
      (app, { run, other }, table) =>
        app.use("/api", table).use("/api", express.Router().get(/^\/x/, run).get("/:any/:other", other)),
    ],
    [
      "below a function at the path of a key that has a route",
      { "GET /users": PRICED },
      ["GET /users/7", "PUT /users/7"],
      (app, { run, other }, table) =>
        app
          .use(table)
          .use("/users", (_req, _res, next) => next())
          .get("/users", run)
          .all("/users/:id", other),
    ],
    [
      "that get a path that no mount takes",
      { "GET /paid/paid": PRICED },
      ["GET //paid/paid/paid"],
      (app, { run, other }, table) => app.use("/paid", table).get("/paid/paid/paid", run).all(/.*/, other),
    ],
    [
      "that get another case of a key than the mount of its route accepts",
      { "GET /Paid/report/:id": PRICED },
      ["GET /PAID/report/7", "GET /paid/REPORT/7"],
      (app, { run, other }, table) =>
        app
          .enable("case sensitive routing")
          .use(table)
          .get("/:any/:kind/:id", other)
          .use("/Paid", express.Router().get("/report/:id", run)),
    ],
    [
      "below a table at a mount with a parameter, with a middleware for a key",
      { "/paid": PRICED },
      ["GET /paid/free"],
      (app, { run, other }, table) =>
        app
          .use("/:any", table, (_req, _res, next) => next())
          .use("/:any/paid", run)
          .get("/paid/free", other),
    ],
    [
      "beside a route for a key with a parameter, below a mount that has the sign of a placeholder",
      { "GET /paid/:id/x": PRICED },
      ["GET /~u/paid/1", "GET /~u"],
      (app, { run, other }, table) =>
        app
          .use("/~u", table, (_req, _res, next) => next())
          .get("/~u/paid/:id/x", run)
          .use("/~u", other),
    ],
    [
      "behind a file server, below the path of a route that a key prices",
      { "/docs": PRICED },
      ["GET /docs/free", "HEAD /docs/free"],
      (app, { run, other }, table) =>
        app.use(table).use(express5.static(tmpdir())).get("/docs", run).get("/docs/free", other),
    ],
    [
      "behind a file server at a mount that a key prices, by other methods",
      { "/docs/a": PRICED },
      ["POST /docs/free", "DELETE /docs/free"],
      (app, { run, other }, table) =>
        app
          .use(table)
          .use("/docs", express5.static(tmpdir()))
          .get(/^\/docs\/a/, run)
          .all("/docs/free", other),
    ],
    [
      "behind middleware at the path of a key",
      WEATHER,
      ["POST /weather", "GET /weather/today"],
      (app, { run, other }, table) =>
        app
          .use(table)
          .use("/weather", (_req, _res, next) => next())
          .post("/weather", other)
          .get("/weather/today", other)
          .get(/^\/weather$/, run),
    ],
    [
      "that get one path of a key for a mount",
      { "/paid/free/*": PRICED },
      ["GET /paid/a.b", "POST /paid/x"],
      (app, { run, other }, table) => app.use(table).all("/paid/:page", other).use("/paid/free", run),
    ],
    [
      "behind middleware at a path, with a key that no route is for",
      { "GET /api/wether": PRICED },
      ["GET /api/news", "POST /api/news/7"],
      (app, { other }, table) =>
        app
          .use(table)
          .use("/api", (_req, _res, next) => next())
          .get("/api/news", other)
          .post("/api/news/:id", other),
    ],
    [
      "of another method, in a route of its own",
      WEATHER,
      ["POST /weather", "OPTIONS /weather"],
      (app, { run, other }, table) =>
        app
          .use(table)
          .post("/weather", other)
          .options("/weather", (req, res) => void other(req, res, () => {}))
          .all("/weather", run),
    ],
    [
      "for other methods behind middleware for all of them",
      WEATHER,
      ["POST /weather"],
      (app, { run, other }, table) =>
        app
          .use(table)
          .all("/weather", (_req, _res, next) => next())
          .get("/weather", run)
          .post("/weather", other),
    ],
    [
      "in routers that are mounted in themselves",
      { "GET /r/weather": PRICED },
      ["GET /r/free", "GET /r/s/s/free", "GET /free"],
      (app, { run, other }, table) => {
        const router = express.Router();
        router.use("/s", router).get("/free", other).get("/weather", run);
        app.use(table).use("/r", router).get("/free", other);
      },
    ],
    [
      "for another method of a path that only a page for every path has",
      { "GET /secret": PRICED },
      ["POST /secret", "GET /", "GET /style.css", "PUT /other", "OPTIONS /other"],
      (app, { run, other }, table) =>
        app
          .use(table)
          .use((_req, _res, next) => next())
          .post("/secret", other)
          .all(/^\/secret$/, run)
          .all(/.*/, other),
    ],
  ])("leaves handlers free %s", async (_what, routes, free, build) => {
    const { runs, askAll } = await open(express, (app, tools) => build(app, tools, tools.payments.routes(routes)));
    expect(await askAll(free)).toEqual(free.map((line) => `${line} 200`));
    expect(runs).toHaveLength(free.length);
    expect(runs.filter((one) => one.startsWith("run"))).toEqual([]);
  });

  test("may take the place of another one", async () => {
    let swap = () => {};
    const { ask, runs } = await open(express, (app, { run, other, payments }) => {
      app.use(payments.routes(WEATHER)).get("/free", other).all("/old", other);
      swap = () => {
        const { stack } = (app as unknown as { router?: { stack: unknown[] }; _router: { stack: unknown[] } })[
          version === "Express 4" ? "_router" : "router"
        ] as { stack: unknown[] };
        stack.pop();
        app.all("/weather", run);
      };
    });
    expect(await ask("GET /free")).toBe("200");
    swap();
    expect(await ask("POST /weather")).toBe("402");
    expect(runs).toEqual(["other GET /free"]);
  });

  test.each<readonly [place: string, path: string, Build]>([
    [
      "at its own path",
      "/weather",
      (app, { run, other, payments }) => app.use("/weather", other).use(payments.routes(WEATHER)).get("/weather", run),
    ],
    [
      "above its path",
      "/api/weather",
      (app, { run, other, payments }) =>
        app
          .use("/api", other)
          .use(payments.routes({ "GET /api/weather": PRICED }))
          .get("/api/weather", run),
    ],
    [
      "beside the table",
      "/api/weather",
      (app, { run, other, payments }) =>
        app.use("/api", other, payments.routes(WEATHER), express.Router().get("/weather", run)),
    ],
  ])("is priced behind middleware that is mounted %s before the table", async (_, path, build) => {
    const seen: string[] = [];
    const other: RequestHandler = (req, res, next) => {
      seen.push(`${req.method} ${req.get("PAYMENT-SIGNATURE") === undefined ? "unpaid" : "paid"}`);
      res.set("Access-Control-Allow-Origin", "*");
      next();
    };
    const { shop, runs } = await open(express, (app, tools) => build(app, { ...tools, other }));
    const paid = await shop.pay({ path });
    expect(paid).toMatchObject({ status: 200, text: "run" });
    expect(seen).toEqual(["GET unpaid", "GET paid"]);
    expect(runs).toEqual([`run GET ${path}`]);
    expect((await shop.ask({ path })).headers).toMatchObject({ "access-control-allow-origin": "*" });
  });

  test("leaves other handlers free", async () => {
    const { askAll, runs } = await open(express, (app, { run, other, payments }) => {
      app.use(
        payments.routes({
          "GET /weather": PRICED,
          "GET /items/:id": PRICED,
          "GET /items/free": { price: "$0", free: true, accepts: { network: "eip155:84532", payTo: PAY_TO } },
        }),
      );
      app.get("/weather", run).post("/weather", other).get("/news", other);
      app.get("/items/free", other).get("/items/:id", run).use(other);
    });
    const lines = ["POST /weather", "GET /news", "GET /items/free", "GET /nowhere", "GET //x/../y"];
    expect(await askAll(lines)).toEqual(lines.map((line) => `${line} 200`));
    expect(runs).toHaveLength(lines.length);
    expect(runs.filter((one) => one.startsWith("run"))).toEqual([]);
  });
});

describe.each(VERSIONS)("on %s, routers that cannot be read", (version, express) => {
  /** Whether Express itself asks, which goes on as before. A stack in text would be mapped to sources, a hundred times slower. */
  function isExpress(): boolean {
    const { prepareStackTrace } = Error;
    Error.prepareStackTrace = (_error, sites) => sites[2]?.getFileName();
    const asking = new Error().stack;
    Error.prepareStackTrace = prepareStackTrace;
    return !/packages[\\/]express/.test(String(asking));
  }
  const hide = (object: object, name: string, value: unknown) =>
    Object.defineProperty(object, name, { configurable: true, get: () => (isExpress() ? value : undefined) });
  const routerOf = (app: Express) =>
    (app as unknown as Record<string, { stack: { handle: unknown }[] }>)[
      version === "Express 4" ? "_router" : "router"
    ] ?? { stack: [] };

  const shapes: readonly (readonly [what: string, change: (app: Express) => void])[] = [
    [
      "layers without handle",
      (app) => {
        for (const layer of routerOf(app).stack) hide(layer, "handle", layer.handle);
      },
    ],
    ["a router without stack", (app) => void hide(routerOf(app), "stack", routerOf(app).stack)],
  ];

  test.each(shapes)("are priced by path in front of the routes, and reported: %s", async (_what, change) => {
    let found: Promise<string> | undefined;
    const { askAll, runs, shop } = await open(express, (app, { run, other, payments }) => {
      app.use(payments.routes(WEATHER)).all("/weather", run).get("/free", other);
      change(app);
      found = payments.ready(app).then(({ findings }) => findings.map(({ code }) => code).join());
    });
    expect(await found).toContain("FAREBOX_ROUTER_UNREADABLE");
    const lines = ["GET /weather 402", "GET /Weather/ 402", "POST /weather 402", "GET /%77eather 402", "GET /free 200"];
    expect(await askAll(lines.map((line) => line.slice(0, -4)))).toEqual(lines);
    expect(await askAll(["OPTIONS /weather"])).toEqual(["OPTIONS /weather 204"]);
    expect(runs).toEqual(["other GET /free"]);
    expect(await shop.pay({ path: "/weather" })).toMatchObject({ status: 200, text: "run" });
  });

  test("throw at ready by default", async () => {
    for (const [, change] of shapes) {
      const app = express();
      const payments = createPayments({
        facilitator: createTestFacilitator(),
        logger: { info() {}, warn() {}, error() {} },
      });
      onTestFinished(() => payments.close());
      app.use(payments.routes(WEATHER)).all("/weather", (_req, res) => void res.send("run"));
      change(app);
      await expect(payments.ready(app)).rejects.toThrow("FAREBOX_ROUTER_UNREADABLE");
    }
  });
});

describe.each(VERSIONS)("on %s, OPTIONS", (_, express) => {
  test.each<[what: string, status: string, ran: boolean, build: Build]>([
    [
      "app.all with a key for GET",
      "204",
      false,
      (app, { run, payments }) => app.use(payments.routes(WEATHER)).all("/weather", run),
    ],
    [
      "app.all with a key for every method",
      "204",
      false,
      (app, { run, payments }) => app.use(payments.routes({ "/weather": PRICED })).all("/weather", run),
    ],
    [
      "app.use with a path",
      "204",
      false,
      (app, { run, payments }) => app.use(payments.routes(WEATHER)).use("/weather", run),
    ],
    [
      "app.all that charges",
      "204",
      false,
      (app, { run, payments }) => app.all("/weather", payments.charge(PRICED), run),
    ],
    [
      "app.use that charges",
      "204",
      false,
      (app, { run, payments }) => app.use("/weather", payments.charge(PRICED), run),
    ],
    [
      "router.all that charges",
      "204",
      false,
      (app, { run, payments }) => app.use(express.Router().all("/weather", payments.charge(PRICED), run)),
    ],
    [
      "cors in front",
      "204",
      false,
      (app, { run, payments }) => app.use(cors(), payments.routes(WEATHER)).all("/weather", run),
    ],
    [
      "a route for GET",
      "200",
      false,
      (app, { run, payments }) => app.use(payments.routes(WEATHER)).get("/weather", run),
    ],
    [
      "a key that names it",
      "402",
      false,
      (app, { run, payments }) => app.use(payments.routes({ "OPTIONS /weather": PRICED })).all("/weather", run),
    ],
    [
      "a route that names it and charges",
      "402",
      false,
      (app, { run, payments }) => app.options("/weather", payments.charge(PRICED), run),
    ],
    [
      "a free route that names it, beside a priced one",
      "200",
      true,
      (app, { run, other, payments }) =>
        app.use(payments.routes(WEATHER)).options("/weather", other).all("/weather", run),
    ],
  ])("%s gets %s", async (_what, status, ran, build) => {
    const { ask, runs } = await open(express, build);
    const asked = { Origin: "https://b.example", "Access-Control-Request-Method": "GET" };
    expect(await ask("OPTIONS /weather", asked)).toBe(status);
    expect(runs).toEqual(ran ? ["other OPTIONS /weather"] : []);
  });

  test("OPTIONS says what a priced route allows", async () => {
    const { shop } = await open(express, (app, { run, payments }) =>
      app.use(payments.routes(WEATHER)).all("/weather", run).route("/x").get(run),
    );
    const { status, headers } = await shop.ask({ path: "/weather", method: "OPTIONS" });
    expect(status).toBe(204);
    expect(String(headers["allow"]).split(", ")).toEqual(expect.arrayContaining(["GET", "POST"]));
  });
});

describe.each(VERSIONS)("on %s, files and proxies", (_, express) => {
  function folder(): string {
    const root = mkdtempSync(join(tmpdir(), "farebox-"));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    mkdirSync(join(root, "report"));
    writeFileSync(join(root, "report", "index.html"), "PAID");
    writeFileSync(join(root, "book.html"), "PAID");
    writeFileSync(join(root, "index.html"), "PAID");
    return root;
  }

  const FILES: RoutesConfig = { "GET /f/report/": PRICED, "GET /f/book": PRICED };

  const REACHING = [
    ...["/f/report/", "/f/report/index.html", "/f/report/./index.html", "/f//report/index.html"],
    ...[
      "/f/%72eport/index.html",
      "/f/report%2Findex.html",
      "/f/book",
      "/f/book.html",
      "/f/%62ook.html",
      "/F/book.html",
    ],
  ];

  test("express.static serves no priced file unpaid, by any of its paths", async () => {
    const { shop } = await open(express, (app, { payments }) =>
      app.use(payments.routes(FILES)).use("/f", express5.static(folder(), { extensions: ["html"] })),
    );
    for (const path of REACHING) {
      const connection = await shop.connect(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      const text = await connection.ended;
      expect(text, path).not.toContain("\r\nPAID");
      expect(text, path).toMatch(/^HTTP\/1\.1 40[024] /);
    }
  });

  test("a file is not served unpaid by a key that names it unencoded", async () => {
    const root = folder();
    writeFileSync(join(root, "café"), "PAID");
    for (const below of [express5.static(root), ((_, res) => res.send("PAID")) as RequestHandler]) {
      const { ask } = await open(express, (app, { payments }) =>
        app.use(payments.routes({ "GET /café": PRICED })).use(below),
      );
      for (const path of ["/caf%C3%A9", "/caf%c3%a9", "/%63af%C3%A9"]) {
        expect(await ask(`GET ${path}`), path).toMatch(/^40[02]$/);
      }
    }
  });

  const AT_THE_TOP = [
    ...["/report/", "/report/index", "/report/index.html", "/report%2Findex.html", "/book.html", "//book.html"],
    ...["/%62ook.html", "/index", "//index.html"],
  ];

  test("express.static at the top serves no priced file unpaid, by any of its paths", async () => {
    const { shop } = await open(express, (app, { payments }) =>
      app
        .use(payments.routes({ "GET /report/": PRICED, "GET /book": PRICED, "GET /": PRICED }))
        .use(express5.static(folder(), { extensions: ["html"] })),
    );
    for (const path of AT_THE_TOP) {
      const connection = await shop.connect(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      expect(await connection.ended, path).not.toContain("\r\nPAID");
    }
  });

  const UPSTREAM = [
    ...["/up/weather", "/up//weather", "/up/./weather", "/up/x/../weather"],
    ...["/up/%77eather", "/up/weather/", "/up/WEATHER"],
  ];

  test("a proxy to a server that normalises paths serves nothing priced unpaid", async () => {
    const seen: string[] = [];
    const upstream = createServer((req, res) => {
      const { pathname } = new URL((req.url ?? "/").replace(/\/{2,}/g, "/"), "http://a");
      if (/^\/weather\/?$/i.test(decodeURIComponent(pathname))) seen.push(pathname);
      res.end("upstream");
    }).listen(0, "127.0.0.1");
    await once(upstream, "listening");
    onTestFinished(() => void upstream.close());
    const { port } = upstream.address() as AddressInfo;
    const proxy: RequestHandler = (req, res, next) => {
      const sent = requestTo({ port, host: "127.0.0.1", path: req.url, method: req.method, agent: false }, (got) =>
        got.pipe(res),
      );
      sent.on("error", next);
      req.pipe(sent);
    };
    const { ask } = await open(express, (app, { payments }) =>
      app.use(payments.routes({ "GET /up/weather": PRICED })).use("/up", proxy),
    );
    for (const path of UPSTREAM) expect(await ask(`GET ${path}`), path).toMatch(/^40[024]$/);
    expect(seen).toEqual([]);
  });
});
