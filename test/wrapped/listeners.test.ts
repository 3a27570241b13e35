/**
 * A listener that is a function and calls the app: a route in front of the table is priced from the first request on, or the process
 * warns at its response.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createPayer, pay } from "@farebox/testing";
import type { Express, RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { collectWarnings, VERSIONS } from "../express/shop.js";
import { createShopFacilitator } from "../express/shop-facilitator.js";
import { createPaymentsOf, PRICE, reached, requestOf } from "./own-payments.js";
import { outcomeOf } from "./wrapped-shop.js";

const LISTENERS: readonly (readonly [name: string, (app: Express) => RequestListener])[] = [
  ["a function", (app) => (req, res) => app(req, res)],
  [
    "a function that waits",
    (app) => async (req, res) => {
      await new Promise(setImmediate);
      app(req, res);
    },
  ],
  // As adapters for serverless platforms do.
  ["a function that gets the app later", (app) => (req, res) => void Promise.resolve(app).then((one) => one(req, res))],
  // `app.bind` is a method of HTTP.
  ["a bound function", (app) => Function.prototype.bind.call(app, undefined)],
];

type Build = (app: Express, table: RequestHandler) => unknown;

/** A server that nobody has asked for anything, and what comes for `GET /all`, with a payment and without. */
async function open(express: (typeof VERSIONS)[number][1], listener: (typeof LISTENERS)[number][1], build: Build) {
  const payer = createPayer();
  const warnings = collectWarnings();
  const payments = createPaymentsOf({ facilitator: createShopFacilitator(payer) });
  const app = express().set("env", "test");
  build(app, payments.routes({ "GET /front": PRICE, "GET /all": PRICE, "GET /list": PRICE, "GET /v1/behind": PRICE }));
  const server = createServer(listener(app)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    warnings,
    ask: async (request: string) => outcomeOf(await pay(url, requestOf(request))),
    pay: async (request: string) => outcomeOf(await pay(url, { ...requestOf(request), payer })),
  };
}

describe.each(VERSIONS)("on %s", (_version, express) => {
  describe.each(LISTENERS)("with %s as listener", (_name, listener) => {
    test.each(["GET /front", "POST /all", "GET /l"])(
      "%s in front of the table is not free in silence",
      async (first) => {
        const shop = await open(express, listener, (app, table) =>
          app
            .get("/front", reached)
            .all("/all", reached)
            .get(["/list", "/l"], reached)
            .use(table)
            .get("/v1/behind", reached),
        );
        const told = (outcome: string) =>
          outcome === "402" || shop.warnings.some((code) => code.startsWith("FAREBOX_"));
        const outcome = await shop.ask(first);
        expect(told(outcome), `${outcome}, and ${shop.warnings.length} warnings`).toBe(true);
        // From the first request on that meets the table, nothing is free.
        expect(await shop.ask("GET /v1/behind")).toBe("402");
        for (const request of ["GET /front", "POST /all", "GET /l"])
          expect(await shop.ask(request), request).toBe("402");
        expect(await shop.pay(first)).toBe("paid");
      },
    );

    test.each(["POST /all", "GET /l", "GET /v2/behind", "GET /V1/Behind/"])(
      "%s behind the table has its price",
      async (first) => {
        const shop = await open(express, listener, (app, table) => {
          const router = express.Router().get("/behind", reached);
          app.use(table).get("/front", reached).all("/all", reached).get(["/list", "/l"], reached);
          app.use("/v1", router).use("/v2", router).get("/free", reached);
        });
        expect(await shop.ask(first)).toBe("402");
        expect(await shop.pay(first)).toBe("paid");
        expect(await shop.ask("GET /free")).toBe("free");
        expect(shop.warnings).toEqual([]);
      },
    );

    test("a free request that comes first gives no warning if all stands behind the table", async () => {
      const shop = await open(express, listener, (app, table) =>
        app
          .get("/free", reached)
          .use(table)
          .get("/front", reached)
          .all("/all", reached)
          .get("/list", reached)
          .get("/v1/behind", reached),
      );
      expect(await shop.ask("GET /free")).toBe("free");
      expect(await shop.ask("POST /all")).toBe("402");
      expect(shop.warnings).toEqual([]);
    });
  });
});
