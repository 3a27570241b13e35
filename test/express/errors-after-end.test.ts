import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pay } from "@farebox/testing";
import type { ErrorRequestHandler, NextFunction, Request, Response } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { expectNoStrayErrors, type Line, openShop, type Shop, VERSIONS } from "./shop.js";

type ExpressModule = (typeof VERSIONS)[number][1];
type Handler = (req: Request, res: Response, next: NextFunction) => unknown;

const BROKEN = new Error("the audit failed");

function throwing(): never {
  throw BROKEN;
}

/** Handlers that respond with "sold", and break afterwards. */
const BREAKING: readonly (readonly [how: string, handler: Handler])[] = [
  ["throws", (_req, res) => [res.send("sold"), throwing()]],
  ["passes an error on", (_req, res, next) => [res.send("sold"), next(BROKEN)]],
  ["rejects later", (_req, res, next) => [res.send("sold"), Promise.reject(BROKEN).catch(next)]],
  ["throws after writes and end", (_req, res) => [res.write("so"), res.end("ld"), throwing()]],
  ["responds to HEAD and GET alike, and throws", (_req, res) => [res.writeHead(200).end("sold"), throwing()]],
  ["destroys the socket", (req, res) => [res.send("sold"), req.socket.destroy()]],
  ["destroys the request", (req, res) => [res.send("sold"), req.destroy()]],
  ["destroys the response", (_req, res) => [res.send("sold"), res.destroy()]],
];

/** What express-generator writes, and the documentation of Express recommends. */
const usual: ErrorRequestHandler = (error: Error, _req, res, next) => {
  if (res.headersSent) return next(error);
  res.status(500).send("failed");
};

const careless: ErrorRequestHandler = (_error: Error, _req, res, _next) => {
  res.destroy();
};

const ERROR_HANDLERS: readonly (readonly [string, ErrorRequestHandler | undefined])[] = [
  ["Express's own error handler", undefined],
  ["the usual error handler", usual],
  ["an error handler that destroys the response", careless],
];

async function openBare(express: ExpressModule, handler: Handler, onError: ErrorRequestHandler | undefined) {
  const app = express();
  app.set("env", "test");
  app.get("/paid", handler);
  if (onError !== undefined) app.use(onError);
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Pays. The settlement ends after the handler and its error handlers have. */
async function askSlowly(shop: Shop, header: string) {
  const asked = shop.facilitator.hold("settle");
  const response = shop.ask({ payment: header });
  const settle = await asked;
  // Twice: Express calls its last error handler by `setImmediate`.
  await shop.ask({ path: "/free" });
  await shop.ask({ path: "/free" });
  settle();
  return response;
}

describe.each(VERSIONS)("on %s, behind a response that has ended", (_, express) => {
  describe.each(ERROR_HANDLERS)("with %s", (_name, onError) => {
    test.each(BREAKING)(
      "a response that has ended is delivered as by bare Express, and charged once, when its handler %s",
      async (_how, handler) => {
        expectNoStrayErrors();
        const bare = await pay(await openBare(express, handler, onError), { path: "/paid" });
        expect(bare).toMatchObject({ status: 200, text: "sold" });

        const shop = await openShop(express, {
          build(app, payments) {
            app.use(payments).get("/paid", handler);
            if (onError !== undefined) app.use(onError);
          },
        });
        const { header } = await shop.sign();
        const paid = await askSlowly(shop, header);
        expect(paid).toMatchObject({ status: 200, text: "sold", receipt: { success: true } });
        expect(await shop.ask({ payment: header })).toMatchObject({ challenge: { error: "payment_already_used" } });
        expect(shop.facilitator.settled).toEqual([10000n]);
      },
    );
  });

  test("a response larger than is held arrives whole when its handler ends it and throws", async () => {
    const body = Buffer.alloc(20 * 1024 * 1024, "0123456789");
    const shop = await openShop(express, { handler: (_req, res) => [res.end(body), throwing()] });
    const { header } = await shop.sign();
    const paid = await askSlowly(shop, header);
    expect(paid.body.equals(body)).toBe(true);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a response that is ended while it settles arrives whole when its handler throws then", async () => {
    const shop = await openShop(express, {
      options: { holdBytes: 0 },
      handler: (_req, res) => [res.write("so"), res.end("ld"), throwing()],
    });
    const { header } = await shop.sign();
    expect(await askSlowly(shop, header)).toMatchObject({ status: 200, text: "sold" });
  });

  test("the 402 that replaces a response arrives when its handler throws after the end", async () => {
    const shop = await openShop(express, { handler: (_req, res) => [res.send("sold"), throwing()] });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("settle");
    const response = shop.ask({ payment: header });
    const settle = await asked;
    await shop.ask({ path: "/free" });
    await shop.ask({ path: "/free" });
    shop.facilitator.removeFunds();
    settle();
    expect(await response).toMatchObject({ status: 402, receipt: { success: false } });
  });

  test("the connection closes once the response is out, as it does without a payment", async () => {
    const shop = await openShop(express, { handler: (_req, res) => [res.send("sold"), throwing()] });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("settle");
    const line = await shop.connect(shop.request(header));
    const settle = await asked;
    await shop.ask({ path: "/free" });
    await shop.ask({ path: "/free" });
    expect(line.received()).toBe("");
    settle();
    expect(await line.ended).toContain("\r\n\r\nsold");
  });

  test("each of several pipelined responses arrives when the handler of the last one throws after the end", async () => {
    const shop = await openShop(express, {
      handler: (req, res) => {
        res.send(`bought ${String(req.query["n"])}`);
        if (req.query["n"] === "3") throwing();
      },
    });
    const requests = [];
    for (const n of [1, 2, 3]) requests.push(shop.request((await shop.sign(`/paid?n=${n}`)).header, `/paid?n=${n}`));
    const asked = shop.facilitator.hold("settle");
    const line = await shop.connect(requests.join(""));
    const settle = await asked;
    await shop.ask({ path: "/free" });
    await shop.ask({ path: "/free" });
    settle();
    expect((await line.ended).match(/bought \d/g)).toEqual(["bought 1", "bought 2", "bought 3"]);
    expect(shop.facilitator.settled).toHaveLength(3);
  });

  test("a server that closes all connections still delivers a response that waits for its settlement", async () => {
    const shop = await openShop(express, { handler: (_req, res) => void res.send("sold") });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("settle");
    const line = await shop.connect(shop.request(header));
    const settle = await asked;
    shop.server.closeAllConnections();
    settle();
    expect(await line.ended).toContain("\r\n\r\nsold");
  });

  test.each([
    ["disconnects", (line: Line) => line.socket.destroy()],
    ["half-closes its connection", (line: Line) => line.socket.end()],
    ["resets its connection", (line: Line) => line.socket.resetAndDestroy()],
  ])("a client that %s during the settlement gets its response with the same payment later", async (_how, leave) => {
    const shop = await openShop(express, { handler: (_req, res) => [res.send("sold"), throwing()] });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("settle");
    const accepted = once(shop.server, "connection");
    const line = await shop.connect(shop.request(header));
    const settle = await asked;
    const [socket] = await accepted;
    const closed = new Promise((resolve) => socket.once("close", resolve));
    leave(line);
    await closed;
    settle();
    while (shop.facilitator.settled.length === 0) await shop.ask({ path: "/free" });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "sold" });
    expect(shop.facilitator.settled).toHaveLength(1);
  });
});
