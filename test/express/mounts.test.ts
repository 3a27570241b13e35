import { paymentMiddleware } from "@farebox/express";
import type { Express, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openServer, openShop, PRICED, VERSIONS } from "./shop.js";

const QUIET = { info() {}, warn() {}, error() {} };

/** A response that proves that the handler was reached. An unpaid request must never get it. */
const reached: RequestHandler = (req, res) => void res.set("X-Reached", "1").send(req.originalUrl);

describe.each(VERSIONS)("on %s, a table", (_, express) => {
  const mounted = { routes: { "GET /api/m": PRICED, "GET /n/:id": PRICED, "POST /api/n/:id": PRICED } };

  const TARGETS = [
    ["GET", "/api/m", "a key with the full path"],
    ["GET", "/api/n/7", "a key relative to the mount"],
    ["POST", "/api/n/7", "a full key with a parameter"],
    ["HEAD", "/api/m", "HEAD by a key for GET"],
    ["GET", "/api/m/", "a trailing slash"],
    ["GET", "/API/M", "capitals"],
    ["GET", "/Api/N/7/", "capitals and a trailing slash"],
    ["GET", "/api/m?free=1", "a query"],
    ["GET", "/api/m?", "an empty query"],
    ["GET", "http://elsewhere.example/api/m", "a target in absolute form"],
  ] as const;

  test("a table mounted under /api prices its keys in each spelling that Express accepts", async () => {
    const shop = await openShop(express, {
      ...mounted,
      build: (app, payments) => app.use("/api", payments).all(["/api/m", "/api/n/:id"], reached),
    });
    for (const [method, path, what] of TARGETS) {
      const unpaid = await shop.ask({ method, path });
      expect(unpaid.status, what).toBe(402);
      expect(unpaid.headers, what).not.toHaveProperty("x-reached");
      const paid = await shop.pay({ method, path });
      expect(paid, what).toMatchObject({ status: 200, headers: { "x-reached": "1" }, receipt: { success: true } });
    }
    expect(shop.facilitator.settled).toHaveLength(TARGETS.length);
  });

  test("a challenge names the resource by its full path, without the query", async () => {
    const shop = await openShop(express, {
      ...mounted,
      build: (app, payments) => app.use("/api", payments).all("/api/n/:id", reached),
    });
    const { challenge } = await shop.ask({ path: "/api/n/7?a=1" });
    expect(challenge?.resource.url).toBe(`${shop.url}/api/n/7`);
    expect((await shop.pay({ path: "/api/n/7?a=1" })).text).toBe("/api/n/7?a=1");
  });

  test.each<[string, (app: Express, payments: RequestHandler) => unknown]>([
    ["a router", (app, payments) => app.use("/v1", express.Router().use(payments).get("/paid", reached))],
    [
      "a router in a router",
      (app, payments) => {
        const inner = express.Router().use(payments).get("/paid", reached);
        app.use("/v1", express.Router().use("/:tenant", inner));
      },
    ],
    ["an app in an app", (app, payments) => app.use("/v1", express().use(payments).get("/paid", reached))],
    ["front of one route", (app, payments) => app.get("/paid", payments, reached)],
    ["the route of a router", (app, payments) => app.use("/v1", express.Router().get("/paid", payments, reached))],
  ])("a table prices what is behind it in %s", async (_where, build) => {
    const shop = await openShop(express, { build });
    const paths = ["/paid", "/v1/paid", "/v1/acme/paid", "/V1/PAID/", "/v1/acme/PAID"];
    const unpaid = await Promise.all(paths.map((path) => shop.ask({ path })));
    const statuses = unpaid.map(({ status }) => status);
    expect(statuses).toContain(402);
    expect(statuses.filter((status) => status !== 402 && status !== 404)).toEqual([]);
    const path = paths[statuses.indexOf(402)] ?? "";
    expect(await shop.pay({ path })).toMatchObject({ status: 200, receipt: { success: true } });
  });

  test("a table in an app that a router mounts matches the path there", async () => {
    const shop = await openShop(express, {
      build: (app, payments) => {
        const inner = express().set("env", "test").use(payments).get("/paid", reached);
        app.use("/a", express.Router().use("/b", inner));
      },
    });
    for (const path of ["/a/b/paid", "/A/B/PAID", "/a/b/paid/", "/A/b/Paid/"]) {
      expect(await shop.ask({ path })).toMatchObject({ status: 402 });
      expect(await shop.pay({ path })).toMatchObject({ status: 200, headers: { "x-reached": "1" } });
    }
  });

  test("a table cannot be passed by a URL that Express rewrites behind a mount", async () => {
    const shop = await openShop(express, {
      routes: { "GET /:page": PRICED },
      build: (app, payments) => app.use(payments).use("/:any", express.Router()).get("/:page", reached),
    });
    for (const target of ['/s"/x#', "/s<<</x#", "/s#", 'http://h/s"/x']) {
      const line = await shop.connect(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      const response = await line.ended;
      expect(response).toMatch(/^HTTP\/1\.1 40[02] /);
      expect(response.toLowerCase()).not.toContain("x-reached");
    }
  });

  test.each([
    ["lets a free request pass when its route answers before such a mount", "free first", "200"],
    ["leaves the request to Express, which finds nothing, when such a mount comes first", "mount first", "404"],
  ] as const)("a table %s", async (_what, order, status) => {
    const shop = await openShop(express, {
      routes: { "GET /paid/paid": PRICED },
      build: (app, payments) => {
        app.use((req, _res, next) => {
          req.url = req.url.replace(/\/{2,}/g, "/");
          next();
        });
        app.use(payments).get("/paid/paid", reached);
        if (order === "mount first") app.use("/:any/paid", express.Router());
        app.get("/:any/:page/:more", reached);
        if (order === "free first") app.use("/:any/paid", express.Router());
      },
    });
    const line = await shop.connect("GET http://x/paid/paid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect(/^HTTP\/1\.1 (\d+)/.exec(await line.ended)?.[1]).toBe(status);
    expect((await shop.ask({ path: "/paid/paid" })).status).toBe(402);
  });

  test("a table below a mount that leaves an invalid URL lets free requests pass", async () => {
    const shop = await openShop(express, {
      routes: { "GET /paid/more": PRICED },
      build: (app, payments) => app.use("/paid", payments).get("/paid", reached).get("/paid/more", reached),
    });
    const ask = async (target: string) => {
      const line = await shop.connect(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      return /^HTTP\/1\.1 (\d+)/.exec(await line.ended)?.[1];
    };
    expect(await ask("x://y/paid")).toBe("200");
    expect(await ask("x://y/paid/more")).toBe("402");
  });

  test("a table mounted twice charges once", async () => {
    const shop = await openShop(express, {
      build: (app, payments) => app.use(payments).use(payments).get("/paid", reached),
    });
    expect(await shop.pay()).toMatchObject({ status: 200, receipt: { success: true } });
    expect(shop.facilitator.settled).toHaveLength(1);
    expect(shop.facilitator.verified).toHaveLength(1);
  });

  test("a table besides another prices its own routes, and a route of both is charged once", async () => {
    const shop = await openShop(express, {
      build: (app, payments, { facilitator }) => {
        const other = paymentMiddleware({ "/other": PRICED, "GET /paid": PRICED }, { facilitator, logger: QUIET });
        app.use(payments, other).all("/paid", reached).all("/other", reached).all("/free", reached);
      },
    });
    expect((await shop.ask({ path: "/other" })).status).toBe(402);
    expect((await shop.ask({ path: "/free" })).status).toBe(200);
    expect((await shop.pay({ path: "/other" })).status).toBe(200);
    expect((await shop.pay({ path: "/paid" })).status).toBe(200);
    expect(shop.facilitator.settled).toHaveLength(2);
  });

  test("a payment for one route of a table buys no other", async () => {
    const shop = await openShop(express, {
      routes: { "GET /paid": PRICED, "GET /other": PRICED },
      build: (app, payments) => app.use(payments).get(["/paid", "/other"], reached),
    });
    const { header } = await shop.sign("/paid");
    expect((await shop.ask({ path: "/paid", payment: header })).status).toBe(200);
    const other = await shop.ask({ path: "/other", payment: header });
    expect(other).toMatchObject({ status: 402, challenge: { error: "payment_already_used" } });
    expect(other.headers).not.toHaveProperty("x-reached");
  });
});

describe.each(VERSIONS)("on %s, the same payment at the same time", (_, express) => {
  test("ten duplicates at the same time run the handler once, are charged once and get one response", async () => {
    let runs = 0;
    const shop = await openShop(express, { handler: (_req, res) => void res.send(`run ${++runs}`) });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("verify");
    const all = Array.from({ length: 10 }, () => shop.ask({ payment: header }));
    const verify = await asked;
    await shop.ask({ path: "/free" });
    verify();
    const responses = await Promise.all(all);
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(["200 run 1"]));
    expect(new Set(responses.map(({ headers }) => headers["payment-response"])).size).toBe(1);
    expect([runs, shop.facilitator.settled.length, shop.facilitator.verified.length]).toEqual([1, 1, 1]);
  });
});

describe.each(VERSIONS)("on %s, a free route", (_, express) => {
  const serving: RequestHandler = (_req, res) => {
    res.set("ETag", '"1"').cookie("a", "1").set("Cache-Control", "public, max-age=60");
    res.write("a");
    res.end("b");
  };

  const REQUESTS: readonly (readonly [method: string, path: string, fields: string])[] = [
    ["GET", "/free", ""],
    ["HEAD", "/free", ""],
    ["POST", "/paid", "Content-Length: 0\r\n"],
    ["OPTIONS", "/paid", ""],
    ["GET", "/nowhere", ""],
    ["GET", "/free", "PAYMENT-SIGNATURE: nonsense\r\n"],
  ];

  test("a free route answers byte for byte as without us, though the facilitator is down", async () => {
    // Nothing listens on port 1.
    const options = { facilitator: "http://127.0.0.1:1" };
    const routes = (app: Express) => app.get("/free", serving).post("/paid", serving).get("/paid", serving);
    const priced = await openShop(express, { options, build: (app, payments) => routes(app.use(payments)) });
    const plain = await openServer(express, routes);
    for (const [method, path, fields] of REQUESTS) {
      const text = `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}\r\n`;
      const [expected, actual] = await Promise.all(
        [plain, priced].map(async (shop) => (await shop.connect(text)).ended),
      );
      const undated = (response = "") => response.replace(/Date: .*\r\n/, "");
      expect(undated(actual), `${method} ${path}`).toBe(undated(expected));
      expect(expected).toMatch(/^HTTP\/1\.1 /);
    }
  });
});
