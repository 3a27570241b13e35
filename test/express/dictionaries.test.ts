/** The listener that comes before an app, so that V8 serves its requests faster: nobody is to notice it otherwise. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { paymentMiddleware } from "@farebox/express";
import { createPayer, pay } from "@farebox/testing";
import type { Express, Request, RequestHandler, Response } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { openShop, PRICED, VERSIONS } from "./shop.js";
import { createTill } from "./till.js";

/** How many listeners are added: from Node 24 on nothing is gained by it. */
const ADDED = Number.parseInt(process.versions.node, 10) < 24 ? 1 : 0;

/** What an app's first middleware sees of a request. */
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

/** As over HTTP/2: what there is to know is not the object's own. */
class OtherRequest {
  get url(): string {
    return "/other";
  }
}

class OtherResponse {}

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

describe.each(VERSIONS)("on %s, a server", (_name, express) => {
  /** A gate with its handler, and a payer. */
  function sell() {
    const payer = createPayer();
    const { facilitator } = createTill(payer);
    const gate = paymentMiddleware({ "GET /paid": PRICED }, { facilitator });
    const handler: RequestHandler = (req, res) => void res.json({ payer: req.payment?.payer });
    return { payer, gate, handler };
  }

  test("is listened to before its app from the first request on, once, by however many gates", async () => {
    const shop = await openShop(express, {
      build: (app, payments) => app.use(payments, sell().gate).get("/paid", (_req, res) => void res.send("paid")),
    });
    const counts = [shop.server.listenerCount("request")];
    for (const ask of [shop.ask, shop.pay, shop.pay]) {
      await ask();
      counts.push(shop.server.listenerCount("request"));
    }
    expect(counts.map((count) => count - 1)).toEqual([0, ADDED, ADDED, ADDED]);
  });

  test("gives its app the requests as ever", async () => {
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

  test("is listened to for an app in its app, too", async () => {
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
    expect(shop.server.listenerCount("request")).toBe(1 + ADDED);
  });

  test.each<[string, (app: Express) => readonly RequestListener[], number]>([
    ["whose listener hands on to the app is left as it is", (app) => [(req, res) => void app(req, res)], 0],
    [
      "to which another app listens is left as it is",
      (app) => [
        app,
        express()
          .disable("x-powered-by")
          .use(() => {}),
      ],
      0,
    ],
    ["to which somebody else listens before the app is listened to", (app) => [() => {}, app], ADDED],
    ["to which somebody else listens after the app is listened to", (app) => [app, () => {}], ADDED],
  ])("%s", async (_what, listenersFor, added) => {
    const { payer, gate, handler } = sell();
    const listeners = listenersFor(express().use(gate).get("/paid", handler));
    const { server, url } = await open(listeners);
    for (let asked = 0; asked < 2; asked++) {
      expect(await pay(url, { path: "/paid", payer })).toMatchObject({ status: 200, receipt: { success: true } });
    }
    const all = server.listeners("request");
    expect(all).toHaveLength(listeners.length + added);
    expect(all.slice(added)).toEqual(listeners);
  });

  test("may have requests that are not of node:http, and they are left as they are", async () => {
    const shop = await openShop(express);
    await shop.ask({ path: "/free" });
    const [first] = shop.server.listeners("request").slice(0, ADDED);
    const [req, res] = [new OtherRequest(), new OtherResponse()];
    first?.(req, res);
    expect([req, res].map((object) => Object.getPrototypeOf(object))).toEqual([
      OtherRequest.prototype,
      OtherResponse.prototype,
    ]);
    expect([req.url, Object.getOwnPropertyNames(req), Object.getOwnPropertySymbols(req)]).toEqual(["/other", [], []]);
  });

  test("that gets another app later serves with that one", async () => {
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
