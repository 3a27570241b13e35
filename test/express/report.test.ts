import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createHttpFacilitator } from "@farebox/core";
import {
  type ConfigError,
  createPayments,
  type FindingCode,
  type Logger,
  type PaymentsOptions,
  type RoutesConfig,
} from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import express5, { type Express, type RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { openShop, PAY_TO, PRICED, VERSIONS } from "./shop.js";

const ACCEPTS = { price: "$0.01", network: "eip155:84532", payTo: PAY_TO };
const SILENT: Logger = { info() {}, warn() {}, error() {} };
/** Nobody listens there. */
const DOWN = "http://127.0.0.1:1";
const serve: RequestHandler = (_req, res) => void res.send("served");
const pass: RequestHandler = (_req, _res, next) => next();

function createSeller(options: Partial<PaymentsOptions> = {}) {
  const seller = createPayments({ facilitator: createTestFacilitator(), logger: SILENT, ...options });
  onTestFinished(() => seller.close());
  return seller;
}

type Seller = ReturnType<typeof createSeller>;

describe.each(VERSIONS)("on %s, the report", (_, express) => {
  function codesOf(build: (app: Express, seller: Seller) => unknown): readonly (readonly [FindingCode, string?])[] {
    const seller = createSeller();
    const app = express();
    build(app, seller);
    return seller.report(app).findings.map(({ code, route }) => (route === undefined ? [code] : [code, route]));
  }

  test("the report lists what is priced, where and for how much", () => {
    const seller = createSeller();
    const app = express();
    const router = express.Router();
    router.use(seller.routes({ "GET /weather/:city": PRICED, "/api/news": { ...PRICED, description: "News" } }));
    router.get("/weather/:city", serve).all("/news", serve).post("/tip", seller.charge(PRICED), serve);
    app.use("/api", router);
    const offer = { scheme: "exact", network: "eip155:84532", price: "0.01 USDC", amount: "10000", payTo: PAY_TO };
    const { routes, findings } = seller.report(app);
    expect(routes).toEqual([
      expect.objectContaining({
        method: "GET",
        path: "/api/weather/:city",
        key: "GET /weather/:city",
        settle: "after",
      }),
      expect.objectContaining({ method: "ANY", path: "/api/news", key: "/api/news", description: "News" }),
      expect.objectContaining({ method: "POST", path: "/api/tip", key: undefined }),
    ]);
    for (const { offers } of routes) expect(offers).toEqual([expect.objectContaining(offer)]);
    expect(findings).toEqual([]);
  });

  test("the report says what it can before there is an app", () => {
    const seller = createSeller();
    seller.routes({ "GET /a": PRICED });
    expect(seller.report().routes).toMatchObject([{ method: "GET", path: undefined, key: "GET /a" }]);
  });

  test.each<[why: string, build: (app: Express, seller: Seller) => unknown]>([
    [
      "a table before its routes",
      (app, s) =>
        app
          .use(s.routes({ "GET /a": PRICED, "/b/:c": PRICED }))
          .get("/a", serve)
          .all("/b/:id", serve),
    ],
    [
      "a table in a router",
      (app, s) =>
        app.use(
          "/x",
          express
            .Router()
            .use(s.routes({ "GET /a": PRICED }))
            .get("/a", serve),
        ),
    ],
    [
      "a table at a mount, with the full path",
      (app, s) => app.use("/x", s.routes({ "GET /x/a": PRICED })).get("/x/a", serve),
    ],
    [
      "a key for routes of a router",
      (app, s) =>
        app.use(s.routes({ "GET /x/*": PRICED })).use("/x", express.Router().get("/a", serve).get("/b", serve)),
    ],
    ["a priced folder", (app, s) => app.use("/f", s.routes({ "GET /*": PRICED }), express5.static("."))],
    [
      "a file in the public folder",
      (app, s) => app.use(s.routes({ "GET /book.pdf": PRICED })).use(express5.static(".")),
    ],
    ["an app in the app", (app, s) => app.use(s.routes({ "GET /x/a": PRICED })).use("/x", express().get("/a", serve))],
    [
      "middleware around it",
      (app, s) =>
        app
          .use(pass)
          .use(s.routes({ "GET /a": PRICED }))
          .use(pass)
          .get("/a", pass, serve)
          .use(serve),
    ],
    [
      "a free page before it",
      (app, s) =>
        app
          .get("/", serve)
          .use(s.routes({ "GET /a": PRICED }))
          .get("/a", serve),
    ],
    ["a key for GET at a route for every method", (app, s) => app.use(s.routes({ "GET /a": PRICED })).all("/a", serve)],
    ["a route for every method that charges", (app, s) => app.all("/a", s.charge(PRICED), serve)],
    [
      "a route that charges for every method but one",
      (app, s) => app.route("/a").options(serve).all(s.charge(PRICED), serve),
    ],
    [
      "a route that charges for each of its methods",
      (app, s) => app.route("/a").get(s.charge(PRICED), serve).post(s.charge(PRICED), serve),
    ],
    ["a route that charges", (app, s) => app.get("/a", s.charge(PRICED), serve).get("/b", serve)],
    [
      "two tables for two routers",
      (app, s) =>
        app
          .use(s.routes({ "GET /a": PRICED }))
          .get("/a", serve)
          .use("/r", s.routes({ "GET /b": PRICED }))
          .get("/r/b", serve),
    ],
  ])("the report finds nothing wrong with %s", (_why, build) => {
    expect(codesOf(build)).toEqual([]);
  });

  test.each<
    [
      why: string,
      expected: readonly (readonly [FindingCode, string?])[],
      build: (app: Express, seller: Seller) => unknown,
    ]
  >([
    [
      "a key with a typo, and the route it was meant for",
      [
        ["FAREBOX_KEY_UNREACHABLE", "GET /reprot/:id"],
        ["FAREBOX_KEY_NEARLY_MATCHES", "GET /report/:n"],
      ],
      (app, s) =>
        app
          .use(s.routes({ "GET /reprot/:id": PRICED }))
          .get("/report/:n", serve)
          .use(serve),
    ],
    [
      "a key that leaves out a mount",
      [
        ["FAREBOX_KEY_UNREACHABLE", "GET /m"],
        ["FAREBOX_KEY_NEARLY_MATCHES", "GET /api/m"],
      ],
      (app, s) => app.use(s.routes({ "GET /m": PRICED })).get("/api/m", serve),
    ],
    [
      "a key of another method",
      [
        ["FAREBOX_KEY_UNREACHABLE", "POST /m"],
        ["FAREBOX_KEY_NEARLY_MATCHES", "GET /m"],
      ],
      (app, s) => app.use(s.routes({ "POST /m": PRICED })).get("/m", serve),
    ],
    [
      "a key that nothing resembles",
      [["FAREBOX_KEY_UNREACHABLE", "GET /weather"]],
      (app, s) => app.use(s.routes({ "GET /weather": PRICED })).get("/", serve),
    ],
    [
      "a table behind its routes",
      [["FAREBOX_TABLE_TOO_LATE", "GET /a"]],
      (app, s) =>
        app
          .get("/a", serve)
          .use(s.routes({ "GET /a": PRICED, "GET /b": PRICED }))
          .get("/b", serve),
    ],
    [
      "a table that is nowhere",
      [["FAREBOX_TABLE_NOT_FOUND", "GET /a"]],
      (app, s) => s.routes({ "GET /a": PRICED }) && app.get("/a", serve),
    ],
    [
      "a table wrapped in a function",
      [["FAREBOX_TABLE_NOT_FOUND", "GET /a"]],
      (app, s) => {
        const table = s.routes({ "GET /a": PRICED });
        app.use((req, res, next) => table(req, res, next)).get("/a", serve);
      },
    ],
    [
      "a key that more specific ones leave nothing to",
      [["FAREBOX_KEY_SHADOWED", "GET /a{/:b}"]],
      (app, s) =>
        app
          .use(s.routes({ "GET /a{/:b}": PRICED, "GET /a": PRICED, "GET /a/:b": PRICED }))
          .get("/a{/:b}".replace("{/:b}", ""), serve)
          .get("/a/:b", serve),
    ],
    [
      "a route priced by key and by handler",
      [["FAREBOX_PRICED_TWICE", "GET /a"]],
      (app, s) => app.use(s.routes({ "GET /a": PRICED })).get("/a", s.charge(PRICED), serve),
    ],
    [
      "nothing about tables that stand in their routes",
      [],
      (app, s) => {
        const inner = express.Router().get("/c", s.routes({ "GET /r/c": PRICED }), serve);
        app
          .get("/a", s.routes({ "GET /a": PRICED }), serve)
          .get("/b", [s.routes({ "GET /b": PRICED }), serve])
          .use("/r", inner);
      },
    ],
    [
      "a route priced by a table in it and by another one",
      [["FAREBOX_PRICED_TWICE", "GET /a"]],
      (app, s) => app.use(s.routes({ "GET /a": PRICED })).get("/a", s.routes({ "GET /a": PRICED }), serve),
    ],
    [
      "a route with two prices",
      [["FAREBOX_PRICED_TWICE", "GET /a"]],
      (app, s) => app.get("/a", s.charge(PRICED), s.charge(PRICED), serve),
    ],
    [
      "a route for every method with two prices",
      [["FAREBOX_PRICED_TWICE", "any method /a"]],
      (app, s) => app.all("/a", s.charge(PRICED), s.charge(PRICED), serve),
    ],
    [
      "a route with two prices for one of its methods",
      [["FAREBOX_PRICED_TWICE", "POST /a"]],
      (app, s) => app.route("/a").get(s.charge(PRICED), serve).post(s.charge(PRICED), s.charge(PRICED), serve),
    ],
    [
      "a route priced by two tables",
      [["FAREBOX_PRICED_TWICE", "GET /a"]],
      (app, s) => app.use(s.routes({ "GET /a": PRICED }), s.routes({ "/a": PRICED })).get("/a", serve),
    ],
  ])("the report finds %s", (_why, expected, build) => {
    expect(codesOf(build)).toEqual(expected);
  });

  test("the report is logged once, by ready or with the first request", async () => {
    const told: string[] = [];
    // That its facilitator is down, or up, may be told before or after.
    const note = (event: string, fields: object) =>
      void (/^facilitator_|_FACILITATOR_DOWN$/.test(event) || told.push([event, ...Object.values(fields)].join(" ")));
    const logger: Logger = { info: note, warn: note, error: note };
    const build = (seller: Seller) => (app: Express) =>
      void app.use(seller.routes({ "GET /paid": PRICED, "GET /nowhere": PRICED })).get("/paid", serve);
    const shop = await openShop(express, { build: build(createSeller({ logger })) });
    expect(told).toEqual([]);
    await Promise.all([shop.ask(), shop.ask(), shop.ask({ path: "/free" })]);
    expect(told).toEqual([
      `priced GET /paid: 0.01 USDC on eip155:84532 to ${PAY_TO}, settled after the response`,
      `priced GET /nowhere: 0.01 USDC on eip155:84532 to ${PAY_TO}, settled after the response`,
      expect.stringMatching(/^FAREBOX_KEY_UNREACHABLE GET \/nowhere No route .* Correct the key/),
    ]);

    const seller = createSeller({ logger, strict: false, facilitator: DOWN });
    const app = express();
    build(seller)(app);
    told.length = 0;
    const { findings } = await seller.ready(app);
    expect(findings.map(({ code }) => code)).toEqual(["FAREBOX_KEY_UNREACHABLE", "FAREBOX_FACILITATOR_DOWN"]);
    expect(told).toHaveLength(3);
  });

  test("findings are fatal before the first request, if the seller asks for that", async () => {
    const seller = createSeller({ strict: true });
    const app = express();
    app.use(seller.routes({ "GET /nowhere": PRICED })).get("/paid", serve);
    await expect(seller.ready(app)).rejects.toMatchObject({
      code: "ERR_FAREBOX_CONFIG",
      issues: [{ path: "GET /nowhere", received: expect.stringContaining("FAREBOX_KEY_UNREACHABLE") }],
    });

    const unchecked = createSeller({ strict: true });
    const shop = await openShop(express, {
      build: (own) => void own.use(unchecked.routes({ "GET /nowhere": PRICED })).get("/paid", serve),
    });
    expect((await shop.ask()).status).toBe(500);
    expect((await shop.ask()).status).toBe(500);
  });

  test.each<[code: FindingCode, build: (app: Express, seller: Seller) => unknown]>([
    ["FAREBOX_KEY_UNREACHABLE", (app, s) => app.use(s.routes({ "GET /nowhere": PRICED }))],
    ["FAREBOX_TABLE_TOO_LATE", (app, s) => app.get("/a", serve).use(s.routes({ "GET /a": PRICED }))],
    ["FAREBOX_TABLE_NOT_FOUND", (app, s) => app.get("/a", serve) && s.routes({ "GET /a": PRICED })],
  ])("%s is fatal at ready by default, and a warning of the process at the first request", async (code, build) => {
    const seller = createSeller();
    const app = express().get("/paid", serve).get("/free", serve);
    build(app, seller);
    await expect(seller.ready(app)).rejects.toMatchObject({
      code: "ERR_FAREBOX_CONFIG",
      issues: [{ received: expect.stringContaining(code) }],
    });

    const tolerant = createSeller({ strict: false });
    const other = express();
    build(other, tolerant);
    await expect(tolerant.ready(other)).resolves.toMatchObject({ routes: [{}] });

    if (code === "FAREBOX_TABLE_NOT_FOUND") return;
    const unchecked = createSeller();
    const shop = await openShop(express, {
      build(own) {
        build(own, unchecked);
        own.get("/free", serve);
      },
    });
    await shop.ask({ path: "/free" });
    await shop.ask({ path: "/free" });
    expect(shop.warnings).toEqual([code]);
  });

  test("a table that a function of the seller's calls is no warning at its requests, unless the seller is strict", async () => {
    const told: string[] = [];
    const note = (event: string) => void (/^facilitator_|_DOWN$/.test(event) || told.push(event));
    const logger: Logger = { info: note, warn: note, error: note };
    const build = (seller: Seller) => (app: Express) => {
      const table = seller.routes({ "GET /paid": PRICED });
      app.use((req, res, next) => table(req, res, next)).get("/paid", serve);
    };
    const shop = await openShop(express, { build: build(createSeller({ logger })) });
    expect([(await shop.ask()).status, (await shop.ask({ path: "/PAID/" })).status]).toEqual([402, 402]);
    expect([told, shop.warnings]).toEqual([["priced"], []]);
    const strict = await openShop(express, { build: build(createSeller({ logger, strict: true })) });
    expect((await strict.ask()).status).toBe(500);
  });

  test("tables that requests make price by path, and leave no line, no warning and nothing behind", async () => {
    const told: string[] = [];
    const note = (event: string) => void (/^facilitator_|_DOWN$/.test(event) || told.push(event));
    const seller = createSeller({ logger: { info: note, warn: note, error: note } });
    const made: RequestHandler[] = [];
    const shop = await openShop(express, {
      build: (app) =>
        void app
          .get("/many", (req, res) => {
            for (let at = 0; at < 100; at++) seller.routes({ [`GET /many/${at}`]: PRICED })(req, res, () => {});
            res.send("done");
          })
          .get(
            "/goods/:id",
            (req, res, next) => {
              const table = seller.routes({ "GET /goods/:id": PRICED });
              made.push(table);
              table(req, res, next);
            },
            serve,
          )
          .get("/again", (req, res, next) => made[0]!(req, res, next), serve),
    });
    const statuses = [];
    for (const path of ["/many", "/goods/1", "/GOODS/1/", "/goods/%31"])
      statuses.push((await shop.ask({ path })).status);
    expect(statuses).toEqual([200, 402, 402, 402]);
    expect([told, shop.warnings, seller.report().routes]).toEqual([[], [], []]);
    // Another request may use one of them.
    expect((await shop.ask({ path: "/again" })).status).toBe(200);
    expect((await shop.ask({ path: "/GOODS/1" })).status).toBe(402);
    expect([told, seller.report().routes]).toEqual([[], []]);
  });

  test("a table behind its routes prices them from the first request on, also if a function calls the app", async () => {
    const seller = createSeller();
    const app = express()
      .get("/a", serve)
      .use(seller.routes({ "GET /a": PRICED }));
    const server = createServer((req, res) => app(req, res)).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { status } = await fetch(`http://127.0.0.1:${port}/a`);
    expect(status).toBe(402);
  });

  test("a strict seller starts where everything is in order", async () => {
    const seller = createSeller({ strict: true });
    const shop = await openShop(express, {
      build: (app) =>
        void app
          .use(seller.routes({ "GET /paid": PRICED }))
          .get("/paid", serve)
          .get("/free", serve),
    });
    expect((await shop.ask({ path: "/free" })).status).toBe(200);
    expect((await shop.ask()).status).toBe(402);
  });

  test("an offer by upto is listed as a maximum, on the page and in the documents too", async () => {
    const upto = { ...ACCEPTS, scheme: "upto" };
    const routes = { "GET /paid": { accepts: upto }, "GET /asked": { accepts: { ...upto, price: () => "$1" } } };
    const extra = { facilitatorAddress: "0x0000000000000000000000000000000000000001" };
    const kinds = [{ x402Version: 2, scheme: "upto", network: ACCEPTS.network, extra }];
    const supported = async () => ({ kinds, extensions: [], signers: {} });
    const seller = createSeller({ facilitator: { ...createTestFacilitator(), supported } });
    const shop = await openShop(express, {
      build: (app) =>
        void app.use(seller.routes(routes)).get(["/paid", "/asked"], serve).get("/wellknown", seller.wellKnown()),
    });
    const prices = seller.report().routes.map(({ offers }) => offers[0]?.price);
    expect(prices).toEqual(["up to 0.01 USDC", "up to a price by request"]);
    const page = await shop.ask({ headers: { Accept: "text/html", "User-Agent": "Mozilla/5.0" } });
    expect(page.body.toString()).toContain("<li>up to 0.01 USDC \u00b7 Base Sepolia \u00b7 eip155:84532</li>");
    expect(JSON.stringify((await shop.ask({ path: "/wellknown" })).json())).toContain('"price":"up to 0.01 USDC"');
  });

  test("routes that clients with default limits cannot pay are one warning, which stops nobody", async () => {
    const warned: object[] = [];
    const note = (event: string, fields: object) =>
      void (event.startsWith("price_") && warned.push({ event, ...fields }));
    const logger: Logger = { info() {}, warn: note, error() {} };
    const seller = createSeller({ strict: true, facilitator: createTestFacilitator(), logger });
    const dear = { ...ACCEPTS, price: "$1.000001" };
    const token = {
      asset: "0x0000000000000000000000000000000000000001",
      amount: "1",
      extra: { name: "T", version: "1" },
    };
    const app = express();
    const paths = ["/a", "/b", "/c", "/d", "/e"];
    app.use(
      seller.routes({
        "GET /a": { accepts: { ...ACCEPTS, price: "$1" } },
        "GET /b": { accepts: dear },
        "GET /c": { accepts: [dear, ACCEPTS] },
        "GET /d": { accepts: { ...ACCEPTS, price: token } },
        "GET /e": { accepts: { ...dear, price: () => "$5" } },
      }),
    );
    for (const path of paths) app.get(path, serve);
    await seller.ready(app);
    expect(warned).toEqual([
      {
        event: "price_above_client_limit",
        route: "GET /b and 1 more",
        remedy: expect.stringContaining("@x402/fetch pay at most $1"),
      },
    ]);
    seller.close();
  });

  test.each<[mounted: string, key: string, registered: string]>([
    ["", "GET /api/weather", "/api/v1/weather"],
    ["", "GET /api/weather/:city", "/api/v1/public/weather/:id"],
    ["", "GET /v1/weather", "/api/v2/weather"],
    ["/shop", "GET /b/weather", "/x/y/weather"],
  ])("a table at %j with the key %s has %s as its nearest route", (mounted, key, registered) => {
    const seller = createSeller();
    const app = express();
    app.use(mounted || "/", seller.routes({ [key]: PRICED } as RoutesConfig)).get(registered, serve);
    const { findings } = seller.report(app);
    expect(findings[0]).toMatchObject({
      code: "FAREBOX_KEY_UNREACHABLE",
      message: expect.stringContaining(`the nearest is ${registered}`),
    });
  });
});

describe("a mistyped option", () => {
  const issuesOf = (create: () => unknown) => {
    try {
      create();
      return [];
    } catch (error) {
      return (error as ConfigError).issues;
    }
  };

  test.each<[key: string, meant: string | undefined]>([
    ["payto", "payTo"],
    ["pay_to", "payTo"],
    ["publicURL", "publicUrl"],
    ["facilitators", "facilitator"],
    ["facilitatorUrl", "facilitator"],
    ["hook", "hooks"],
    ["network", "networks"],
    ["recipient", undefined],
    ["x", undefined],
    ["k".repeat(61), undefined],
  ])("%s is told as %s", (key, meant) => {
    const [issue] = issuesOf(() => createPayments({ facilitator: "http://127.0.0.1:1", [key]: 1 }));
    if (meant === undefined) expect(issue?.expected).toMatch(/^one of the keys facilitator, payTo, /);
    else
      expect(issue?.expected).toMatch(
        new RegExp(`^a known key: did you mean ${meant}\\? Known: .{20,90} and \\d+ more$`),
      );
  });

  test("a mistyped key of a route or of its payment option is told too", () => {
    const seller = createSeller();
    const accepts = { ...ACCEPTS, pay_to: PAY_TO };
    const issues = issuesOf(() => seller.routes({ "GET /a": { accepts, descripton: "x" } } as RoutesConfig));
    expect(issues.map(({ path, expected }) => [path, expected.replace(/ Known:.*/, "")])).toEqual([
      ['routes["GET /a"].descripton', "a known key: did you mean description?"],
      ['routes["GET /a"].accepts.pay_to', "a known key: did you mean payTo?"],
    ]);
  });
});

describe("a facilitator without TLS", () => {
  test.each([
    "http://facilitator.example.com",
    "http://x402.org/facilitator",
    "http://93.184.216.34:4022",
    "http://[2606:4700::1111]",
  ])("%s is refused, unless the seller passes it ready-made", (url) => {
    const seller = () => createPayments({ facilitator: [{ url }] });
    expect(seller).toThrow(expect.objectContaining({ code: "ERR_FAREBOX_CONFIG" }));
    expect(seller).toThrow(/options\.facilitator\[0\]\.url: expected an https URL, .*createHttpFacilitator/);
    createPayments({ facilitator: createHttpFacilitator({ url }) }).close();
  });

  test.each([
    "http://localhost:4022",
    "http://facilitator:4022",
    "http://facilitator.payments.svc.cluster.local",
    "http://facilitator.payments.svc",
    "http://10.0.0.8",
    "http://[::1]:4022",
    "https://facilitator.example.com",
  ])("%s is accepted", (url) => createPayments({ facilitator: url }).close());
});
