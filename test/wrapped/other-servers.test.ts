/**
 * What else answers in the process of a correct app, and `ready` without the app.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { pay, startFacilitatorServer } from "@farebox/testing";
import type { Express } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { each, type OwnShop, openOwnShop, outcomesOf, PRICE, reached } from "./own-payments.js";

const PRICED = ["POST /all", "GET /l", "GET /Report/"];
const TABLE = { "GET /report": PRICE, "GET /all": PRICE, "GET /list": PRICE };

/** Opens a server for the time of the test, and asks it for something. */
async function answer(listener: RequestListener): Promise<void> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  for (const path of ["/", "/healthz", "/report"]) await pay(`http://127.0.0.1:${port}`, { path });
}

function addRoutes(app: Express): void {
  app.get("/report", reached).post("/report", reached).all("/all", reached).get(["/list", "/l"], reached);
}

/** That nothing is said about the shop, and its prices are right. */
async function expectCorrect(shop: OwnShop, isReady: boolean): Promise<void> {
  if (isReady) expect((await shop.payments.ready(shop.app)).findings).toEqual([]);
  expect(await outcomesOf(shop, PRICED)).toEqual(each(PRICED, "402"));
  expect(await shop.paidOutcome("POST /all")).toBe("paid");
  expect(await shop.outcome("POST /report")).toBe("free");
  expect(shop.warnings).toEqual([]);
}

describe.each(VERSIONS)("on %s", (_version, express) => {
  const healthApp = () => express().get("/healthz", reached).get("/report", reached);

  describe.each([
    ["with", true],
    ["without", false],
  ])("%s ready", (_what, isReady) => {
    test.each<[string, () => RequestListener]>([
      ["a plain server", () => (_req, res) => void res.end("healthy")],
      ["a plain server without a listener's name", () => async (_req, res) => void res.writeHead(204).end()],
      ["an app that is no shop", healthApp],
      [
        "a function that calls an app that is no shop",
        () => {
          const app = healthApp();
          return (req, res) => app(req, res);
        },
      ],
    ])("%s may answer first", async (_who, listenerOf) => {
      const shop = await openOwnShop(express, (app, payments) => {
        app.use(payments.routes(TABLE));
        addRoutes(app);
      });
      await answer(listenerOf());
      await expectCorrect(shop, isReady);
    });

    test("the table's own facilitator may answer first", async () => {
      const shop = await openOwnShop(express, (app) => app.use("/v0", express.Router()));
      const served = await startFacilitatorServer({ facilitator: shop.facilitator });
      onTestFinished(() => served.close());
      const own = await openOwnShop(
        express,
        (app, payments) => {
          app.use(payments.routes(TABLE));
          addRoutes(app);
        },
        { facilitator: served.url },
      );
      if (isReady) expect((await own.payments.ready(own.app)).findings).toEqual([]);
      expect(await outcomesOf(own, PRICED)).toEqual(each(PRICED, "402"));
      expect(own.warnings).toEqual([]);
    });

    test.each<[string, (app: Express) => unknown]>([
      ["at its mount", (app) => app.use("/health", healthApp())],
      ["at the top", (app) => app.use(express().get("/healthz", reached))],
      ["in a router", (app) => app.use(express.Router().use("/health", healthApp()))],
    ])("another app %s, in front of the table or behind, changes nothing", async (_where, mount) => {
      for (const isBefore of [true, false]) {
        const shop = await openOwnShop(express, (app, payments) => {
          if (isBefore) mount(app);
          app.use(payments.routes(TABLE));
          if (!isBefore) mount(app);
          addRoutes(app);
        });
        await expectCorrect(shop, isReady);
      }
    });
  });

  test.each<[string, readonly unknown[]]>([
    ["nothing", []],
    ["null", [null]],
    ["an object", [{}]],
    ["a server", [createServer()]],
    ["a function", [() => {}]],
  ])("`ready` with %s in place of the app says what to pass", async (_what, given) => {
    const shop = await openOwnShop(express, (app, payments) => {
      app.use(payments.routes(TABLE));
      addRoutes(app);
    });
    const error = await Reflect.apply(shop.payments.ready, shop.payments, given).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "ConfigError", code: "ERR_FAREBOX_CONFIG" });
    expect(String(error)).toMatch(/\bapp\b/);
    // The app is as it was.
    await expectCorrect(shop, true);
  });
});
