/**
 * Two prices for one handler: the nearest to it is asked and paid, nobody buys for the other, and a finding names both.
 *
 * @module
 */
import { createPayments, type Payments, type PaymentsReport } from "@farebox/express";
import type { Express, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { type EXPRESSES, openServer, PATIENT, PAY_TO, type Shop, VERSIONS } from "../express/shop.js";
import { CHEAP, DEAR, type Parts, PRICED_APPS } from "./priced-apps.js";

const QUIET = { info() {}, warn() {}, error() {} };

/** A cent, in atomic units. */
const CENT = 10_000n;

const MODES = ["without ready", "with ready"] as const;

interface Opened {
  readonly shop: Shop;
  readonly app: Express;
  readonly one: Payments;
  readonly other: Payments;
  /** The requests that reached a handler. */
  readonly served: readonly string[];
}

async function open(
  express: (typeof EXPRESSES)[number][1],
  mode: (typeof MODES)[number],
  build: (parts: Parts) => unknown,
): Promise<Opened> {
  const served: string[] = [];
  const serve: RequestHandler = (req, res) => {
    served.push(`${req.method} ${req.originalUrl}`);
    res.send("served");
  };
  const made: Partial<Opened> = {};
  const shop = await openServer(express, (app, { facilitator }) => {
    const seller = () => createPayments({ facilitator, logger: QUIET, deadlines: PATIENT });
    const parts = { app, express, one: seller(), other: seller(), serve };
    build(parts);
    Object.assign(made, parts);
  });
  const { app, one, other } = made as Opened;
  if (mode === "with ready") await Promise.all([one.ready(app), other.ready(app)]);
  return { shop, app, one, other, served };
}

/** What an unpaid request is asked for. */
async function askedFor(shop: Shop, request: string): Promise<bigint | number> {
  const [method = "", path = ""] = request.split(" ");
  const { status, challenge } = await shop.ask({ method, path });
  return status === 402 ? BigInt(challenge?.accepts[0]?.amount ?? 0) : status;
}

/** The status for a client that pays what is asked, and what it paid in the end. */
async function buy(shop: Shop, request: string): Promise<readonly [status: number, paid: readonly bigint[]]> {
  const [method = "", path = ""] = request.split(" ");
  const before = shop.facilitator.settled.length;
  const { status } = await shop.pay({ method, path });
  return [status, shop.facilitator.settled.slice(before)];
}

function pricedTwice(reports: readonly PaymentsReport[]): readonly string[] {
  const found = reports.flatMap(({ findings }) => findings.filter(({ code }) => code === "FAREBOX_PRICED_TWICE"));
  return [...new Set(found.map(({ route, message }) => `${route}: ${message}`))];
}

function written(cents: number): RegExp {
  return cents === 1 ? /\b0\.01\b/ : /(?<![.\d])5(?:\.00?)?(?![.\d])/;
}

describe.each(VERSIONS)("on %s", (version, express) => {
  describe.each(MODES)("%s", (mode) => {
    test.each(PRICED_APPS.map((priced) => [priced.name, priced] as const))(
      "of two prices the nearest is asked and paid: %s",
      async (_name, { build, asks, twice }) => {
        const { shop, app, one, other, served } = await open(express, mode, build);
        for (const [request, cents] of Object.entries(asks)) {
          expect([request, await askedFor(shop, request)]).toEqual([request, CENT * BigInt(cents)]);
        }
        expect(served).toEqual([]);
        for (const [request, cents] of Object.entries(asks)) {
          expect([request, await buy(shop, request)]).toEqual([request, [200, [CENT * BigInt(cents)]]]);
        }
        expect(served).toEqual(Object.keys(asks));

        const found = pricedTwice([one.report(app), other.report(app)]);
        expect(found.map((text) => twice.find(([path]) => text.includes(path))?.[0] ?? text)).toEqual(
          twice.map(([path]) => path),
        );
        for (const [path, ...cents] of twice) {
          const text = found.find((one) => one.includes(path));
          for (const price of cents) expect(text).toMatch(written(price));
        }
        // One of two that differ is worth a word, and no reason to stop.
        expect(shop.warnings).toEqual([]);
      },
    );

    test("a key in another spelling is not nearer than the key of the route that gets the request", async () => {
      const { shop, served } = await open(express, mode, ({ app, one, serve }) =>
        app
          .use(one.routes({ "GET /a": CHEAP }), one.routes({ "GET /a/*rest": DEAR }))
          .get("/a", (_req, res) => void res.send("cheap"))
          .get(version === "Express 4" ? "/a/*" : "/a/*rest", serve),
      );
      for (const request of ["GET /a//", "GET /a/b"]) {
        const [status, paid] = await buy(shop, request);
        // Express 4 gives `/a//` to no route.
        if (status !== 404) expect([request, status, paid]).toEqual([request, 200, [CENT * 500n]]);
      }
      expect(served).toContain("GET /a/b");
    });

    test("a payment for one route is not one for the next, to which the first hands a request on", async () => {
      const handOn: RequestHandler = (_req, _res, next) => next("route");
      const { shop, served } = await open(express, mode, ({ app, one, serve }) =>
        app.get("/a", one.charge(CHEAP), handOn, serve).get("/a", one.charge(DEAR), serve),
      );
      const [status, paid] = await buy(shop, "GET /a");
      expect([status, paid, served]).toEqual([404, [], []]);
    });

    test("a payment for a charge is not one for a dearer charge that a function hands a request on to", async () => {
      const sellCheap: RequestHandler = (req, res, next) => (req.query["dear"] === undefined ? res.send("a") : next());
      const { shop, served } = await open(express, mode, ({ app, one, serve }) =>
        app.get("/a", one.charge(CHEAP), sellCheap, one.charge(DEAR), serve),
      );
      const [, paid] = await buy(shop, "GET /a?dear");
      // Whichever was asked: nobody runs the handler for a cent.
      if (paid.join() !== `${CENT * 500n}`) expect([paid, served]).toEqual([[], []]);
    });

    test("a table that a request makes, in a function at the path of one of its keys, leaves a charge behind it its price", async () => {
      const { shop, served } = await open(express, mode, ({ app, one, serve }) => {
        let table: RequestHandler | undefined;
        const ofTenant: RequestHandler = (req, res, next) => {
          table ??= one.routes({ "/*": DEAR, "/b": DEAR });
          return table(req, res, next);
        };
        app.use("/b", ofTenant, express.Router().get(/.*/, one.charge(CHEAP), serve));
      });
      for (const request of ["GET /b/c/d", "GET /b/c/d", "GET /b"]) {
        expect([request, await askedFor(shop, request)]).toEqual([request, CENT]);
      }
      expect(await buy(shop, "GET /b/c")).toEqual([200, [CENT]]);
      expect(served).toHaveLength(1);
    });

    test("a price function that says free in front of a dearer charge frees nothing", async () => {
      const accepts = { price: () => "$0" as const, network: "eip155:84532", payTo: PAY_TO } as const;
      const free = { accepts, free: true };
      const { shop, served } = await open(express, mode, ({ app, one, serve }) =>
        app
          .use(one.routes({ "GET /a": free, "GET /b/*": free }))
          .get("/a", one.charge(DEAR), serve)
          .get("/b/c", one.charge(DEAR), serve)
          .get("/b/:page", serve)
          .get("/d", one.charge(free), one.charge(DEAR), serve),
      );
      for (const request of ["GET /a", "GET /b/c", "HEAD /B/C/", "GET /d"]) {
        expect([request, await askedFor(shop, request)]).toEqual([request, CENT * 500n]);
        expect(await buy(shop, request)).toEqual([200, [CENT * 500n]]);
      }
      expect(await askedFor(shop, "GET /b/x")).toBe(200);
      expect(served).toHaveLength(5);
    });

    test("a route that another table prices frees no function in front of it", async () => {
      const { shop } = await open(express, mode, ({ app, one, serve }) => {
        const router = express.Router().use("/:id", serve);
        router.use("/paid", express.Router().get("/x", serve));
        app.use(one.routes({ "/a/:id": CHEAP }), one.routes({ "/a/paid/x": CHEAP }));
        app.use("/a", router).use("/b", router);
      });
      for (const path of ["/a/7", "/b/7", "/b/paid", "/b/paid/x", "/b/paid/y"]) {
        expect([path, await askedFor(shop, `GET ${path}`)]).toEqual([path, CENT]);
      }
    });

    test("a free key in front of a dearer one of another table frees nothing but what it names", async () => {
      const free = { price: "$0", free: true } as const;
      const { shop } = await open(express, mode, ({ app, one, serve }) =>
        app
          .use(one.routes({ "GET /api/*": free }), one.routes({ "GET /api/report": DEAR }))
          .get("/api/report", serve)
          .get("/api/:page", serve),
      );
      expect(await askedFor(shop, "GET /api/report")).toBe(CENT * 500n);
      expect(await askedFor(shop, "GET /api/other")).toBe(200);
    });

    test("at an opaque function, a path that is free as it is written and priced as it may be read gets 400", async () => {
      const free = { price: "$0", free: true } as const;
      const { shop, served } = await open(express, mode, ({ app, one, serve }) =>
        app.use(one.routes({ "GET /u/:id": free, "GET /u/vip": CHEAP, "GET /u/:id/x": DEAR })).use("/u", serve),
      );
      expect(await askedFor(shop, "GET /u/7")).toBe(200);
      expect(await askedFor(shop, "GET /u/vip")).toBe(CENT);
      expect(await askedFor(shop, "GET /u/%76ip")).toBe(400);
      expect(await askedFor(shop, "GET /u/vip;x=1")).toBe(400);
      expect(await askedFor(shop, "GET /u/7/%78")).toBe(CENT * 500n);
      expect(await askedFor(shop, "GET /u/a%20b")).toBe(200);
      expect(served).toEqual(["GET /u/7", "GET /u/a%20b"]);
    });
  });
});
