/**
 * A connect app among the layers, as of Vite or Nuxt: it cannot be read. It is priced by path, and all else as without it.
 *
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Payments } from "@farebox/express";
import type { Express, RequestHandler } from "express";
import { createServer, type ViteDevServer } from "vite";
import { describe, expect, onTestFinished, test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { each, openOwnShop, outcomesOf, PRICE, reached } from "./own-payments.js";

type Connect = RequestHandler & { use(path: string, handler: RequestHandler): Connect };

/** It has no types. */
const connect: () => Connect = createRequire(import.meta.url)("connect");

const fromConnect: RequestHandler = (_req, res) => {
  res.setHeader("X-Reached", "1");
  res.end("of connect");
};

const PRICED = ["POST /all", "GET /l", "GET /v2/users/7", "GET /Report/", "GET /all"];
const FREE = ["GET /free", "POST /report", "GET /v2/free", "GET /no-such", "GET /shop/free"];

/** Routes whose prices are seen only by looking at the app. */
function addRoutes(app: Express, express: (typeof VERSIONS)[number][1]): void {
  app.get("/report", reached).post("/report", reached);
  app.all("/all", (_req, _res, next) => next(), reached);
  app.get(["/list", "/l"], reached);
  const users = express.Router().get("/users/:id", reached).get("/free", reached);
  app.use("/v1", users).use("/v2", users);
  app.get("/free", reached);
}

function tableOf(payments: Payments): RequestHandler {
  return payments.routes({
    "GET /report": PRICE,
    "GET /all": PRICE,
    "GET /list": PRICE,
    "GET /v1/users/:id": PRICE,
    "GET /shop/item": { price: "$0.05" },
  });
}

/** Only the connect app has it. */
const AT_CONNECT = ["GET /shop/item", "POST /shop/item", "GET /Shop/ITEM/", "GET /shop/%69tem"];

describe.each(VERSIONS)("on %s, a connect app", (_name, express) => {
  describe.each([
    ["in front of the table, at its mount", "before", "/shop"],
    ["behind the table, at its mount", "behind", "/shop"],
    ["behind the table, at the top", "behind", undefined],
    ["behind all routes, at the top", "last", undefined],
  ] as const)("%s", (_where, place, mount) => {
    test.each([
      ["with", true],
      ["without", false],
    ])("%s ready", async (_what, isReady) => {
      const build = (app: Express, payments: Payments) => {
        const connected = connect();
        connected.use(mount === undefined ? "/shop/item" : "/item", fromConnect);
        connected.use(mount === undefined ? "/shop/free" : "/free", fromConnect);
        const use = () => (mount === undefined ? app.use(connected) : app.use(mount, connected));
        if (place === "before") use();
        app.use(tableOf(payments));
        if (place === "behind") use();
        addRoutes(app, express);
        if (place === "last") use();
      };
      // No layer says that `/shop/item` is there, except a mount behind the table: its key is a finding.
      const isSeen = place === "behind" && mount !== undefined;
      const shop = await openOwnShop(express, build, isSeen ? {} : { strict: false });
      const expected = isSeen ? [] : [{ code: "FAREBOX_KEY_UNREACHABLE", route: "GET /shop/item" }];
      if (isReady) expect((await shop.payments.ready(shop.app)).findings).toMatchObject(expected);
      // A mount does not get a path with two slashes.
      const priced = [...PRICED, ...AT_CONNECT, ...(mount === undefined ? ["GET //shop/item"] : [])];
      expect(await outcomesOf(shop, priced)).toEqual(each(priced, "402"));
      expect(await outcomesOf(shop, FREE)).toEqual({ ...each(FREE, "free"), "GET /no-such": "404" });
      expect((await shop.ask({ path: "/SHOP/item" })).challenge?.accepts).toMatchObject([{ amount: "50000" }]);
      for (const request of ["POST /all", "GET /v2/users/7", "GET /shop/item"])
        expect(await shop.paidOutcome(request), request).toBe("paid");
      expect(shop.facilitator.settled).toEqual([10_000n, 10_000n, 50_000n]);
      expect(shop.warnings).toEqual([]);
    });
  });

  test("in front of the table, at the top, changes nothing for the routes", async () => {
    const shop = await openOwnShop(express, (app, payments) => {
      const passing = connect().use("/shop", fromConnect);
      app.use(passing).use(payments.routes({ "GET /report": PRICE, "GET /all": PRICE, "GET /list": PRICE }));
      addRoutes(app, express);
    });
    expect((await shop.payments.ready(shop.app)).findings).toEqual([]);
    const priced = ["POST /all", "GET /l", "GET /Report/"];
    expect(await outcomesOf(shop, priced)).toEqual(each(priced, "402"));
    const free = ["GET /shop", "GET /free", "POST /report"];
    expect(await outcomesOf(shop, free)).toEqual(each(free, "free"));
  });

  test.each([
    ["in front of the table", true],
    ["behind the table", false],
  ])("of Vite %s leaves the routes priced, and serves its files", async (_where, isBefore) => {
    const vite = await openVite(["priced.js", "free.js"]);
    const build = (app: Express, payments: Payments) => {
      const routes = { "GET /report": PRICE, "GET /all": PRICE, "GET /list": PRICE };
      if (isBefore) app.use(vite.middlewares);
      app.use(payments.routes(isBefore ? routes : { ...routes, "GET /priced.js": PRICE }));
      addRoutes(app, express);
      if (!isBefore) app.use(vite.middlewares);
    };
    // No layer says that Vite has `/priced.js`.
    const shop = await openOwnShop(express, build, isBefore ? {} : { strict: false });
    const { findings } = await shop.payments.ready(shop.app);
    expect(findings.map(({ code }) => code)).toEqual(isBefore ? [] : ["FAREBOX_KEY_UNREACHABLE"]);
    const routes = ["POST /all", "GET /l", "GET /Report/"];
    expect(await outcomesOf(shop, routes)).toEqual(each(routes, "402"));
    const statuses = [(await shop.ask({ path: "/free.js" })).status, (await shop.ask({ path: "/priced.js" })).status];
    expect(statuses).toEqual([200, isBefore ? 200 : 402]);
    if (isBefore) return;
    expect((await shop.ask({ path: "/%70riced.js" })).status).toBe(402);
    expect(await shop.pay({ path: "/priced.js" })).toMatchObject({ status: 200, receipt: { success: true } });
  });
});

/** A server of Vite without a port, for the time of the test, with files of these names. */
async function openVite(names: readonly string[]): Promise<ViteDevServer> {
  const root = mkdtempSync(join(tmpdir(), "farebox-vite-"));
  for (const name of names) writeFileSync(join(root, name), `export const name = "${name}";`);
  const vite = await createServer({
    root,
    configFile: false,
    appType: "custom",
    logLevel: "silent",
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
  });
  onTestFinished(async () => {
    await vite.close();
    rmSync(root, { recursive: true });
  });
  return vite;
}
