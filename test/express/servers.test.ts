/** The seller's server and app: the middleware leaves the server's listeners and the app's requests as they are. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { paymentMiddleware } from "@farebox/express";
import { createPayer, pay } from "@farebox/testing";
import type { Express, Request, RequestHandler, Response } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { openShop, PRICED, VERSIONS } from "./shop.js";
import { createShopFacilitator } from "./shop-facilitator.js";

/** The request as the first middleware of an app sees it. */
function seenOf(req: Request, res: Response, app: Express) {
  const { method, url, originalUrl, path, query, headers } = req;
  return {
    request: { method, url, originalUrl, path, query, accept: headers["x-test"] },
    ownNames: [Object.keys(req).sort(), Object.keys(res).sort()],
    isOfTheApp: [Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response],
    areTogether: [req.res === res, res.req === req],
    powered: res.getHeader("x-powered-by"),
  };
}

/** Opens a server for the time of the test. */
async function open(listeners: readonly RequestListener[]): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer();
  for (const listener of listeners) server.on("request", listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe.each(VERSIONS)("on %s", (_name, express) => {
  /** A gate with its handler, and a payer. */
  function sell() {
    const payer = createPayer();
    const facilitator = createShopFacilitator(payer);
    const gate = paymentMiddleware({ "GET /paid": PRICED }, { facilitator });
    const handler: RequestHandler = (req, res) => void res.json({ payer: req.payment?.payer });
    return { payer, gate, handler };
  }

  test("the app gets each request as Express made it", async () => {
    const seen: unknown[] = [];
    const shop = await openShop(express, {
      build(app, payments) {
        app.use((req, res, next) => {
          seen.push(seenOf(req, res, app));
          next();
        });
        app.use(payments).get("/free/:id", (req, res) => void res.json([req.params, req.query, req.baseUrl]));
      },
    });
    const ask = () => shop.ask({ path: "/free/7?a=1", headers: { "X-Test": "yes" } });
    const [first, second, third] = [await ask(), await ask(), await ask()];
    expect(first.text).toBe('[{"id":"7"},{"a":"1"},""]');
    expect([second.text, third.text]).toEqual([first.text, first.text]);
    expect(seen[0]).toMatchObject({ isOfTheApp: [true, true], areTogether: [true, true], powered: "Express" });
    expect(seen.slice(1)).toEqual([seen[0], seen[0]]);
  });

  test("an app inside an app is paid for", async () => {
    const shop = await openShop(express, {
      build: (app, payments) =>
        app.use(
          "/v1",
          express()
            .use(payments)
            .get("/paid", (_req, res) => void res.send("paid")),
        ),
    });
    for (let count = 0; count < 3; count++) {
      expect(await shop.pay({ path: "/v1/paid" })).toMatchObject({ status: 200, text: "paid" });
    }
    expect(shop.server.listenerCount("request")).toBe(1);
  });

  test.each<[string, (app: Express) => readonly RequestListener[]]>([
    ["one listener that calls the app", (app) => [(req, res) => void app(req, res)]],
    [
      "two apps",
      (app) => [
        app,
        express()
          .disable("x-powered-by")
          .use(() => {}),
      ],
    ],
    ["a listener before the app", (app) => [() => {}, app]],
    ["a listener after the app", (app) => [app, () => {}]],
  ])("a server with %s is paid for and keeps its listeners", async (_what, listenersFor) => {
    const { payer, gate, handler } = sell();
    const listeners = listenersFor(express().use(gate).get("/paid", handler));
    const { server, url } = await open(listeners);
    for (let asked = 0; asked < 2; asked++) {
      expect(await pay(url, { path: "/paid", payer })).toMatchObject({ status: 200, receipt: { success: true } });
    }
    expect(server.listeners("request")).toEqual(listeners);
  });

  test("a server that gets another app later serves with that one", async () => {
    const { payer, gate, handler } = sell();
    const old = express().use(gate).get("/paid", handler);
    const { server, url } = await open([old]);
    await pay(url, { path: "/paid" });
    const other = express();
    other.use((req, res) => void res.json(seenOf(req, res, other).isOfTheApp));
    server.off("request", old).on("request", other);
    expect((await pay(url, { path: "/paid", payer })).text).toBe("[true,true]");
  });
});
