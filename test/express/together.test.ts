import { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { NEWEST, onHeaders, openShop, PRICED, type ShopPlan, VERSIONS } from "./shop.js";

const require = createRequire(import.meta.url);
/** Neither package has types of its own. */
const compression: (options?: object) => RequestHandler = require("compression");
const cors: (options?: object) => RequestHandler = require("cors");

const GZIP = { "Accept-Encoding": "gzip" };
const TEXT = "compressible text, ".repeat(1000);

/** Where a middleware can be mounted: in front of us, or between us and the handler. */
const PLACES = [
  ["before", (middleware: RequestHandler): ShopPlan => ({ before: [middleware] })],
  ["behind", (middleware: RequestHandler): ShopPlan => ({ behind: [middleware] })],
] as const;

describe.each(VERSIONS)("on %s", (_, express) => {
  test("a handler that gives its response to a second paid request delivers it, and both are settled", async () => {
    let second = "";
    const shop = await openShop(express, {
      routes: { "GET /paid": PRICED, "GET /other": PRICED },
      build(app, payments) {
        app.use(payments);
        app.get("/paid", (req, res) => {
          const other = Object.assign(new IncomingMessage(req.socket), { method: "GET", url: "/other" });
          other.headers = { host: req.headers.host, "payment-signature": second };
          other.push(null);
          app(other, res);
        });
        app.get("/other", (_req, res) => void res.send("other"));
      },
    });
    second = (await shop.sign("/other")).header;
    expect(await shop.pay()).toMatchObject({ status: 200, text: "other", receipt: { success: true } });
    expect(shop.facilitator.settled).toHaveLength(2);
  });

  test.each(PLACES)("express.json mounted %s us reads the body of a paid request", async (_place, mount) => {
    const shop = await openShop(express, {
      ...mount(express.json()),
      routes: { "POST /paid": PRICED },
      handler: (req, res) => void res.json(req.body),
    });
    expect((await shop.pay({ body: { a: [1, 2] } })).json()).toEqual({ a: [1, 2] });
  });

  test("express.static behind us is priced, and sends for money what the client says it has", async () => {
    const shop = await openShop(express, {
      routes: { "GET /files/*name": PRICED },
      build: (app, payments) =>
        app.use(payments).use("/files", express.static(new URL("../..", import.meta.url).pathname)),
    });
    expect((await shop.ask({ path: "/files/LICENSE" })).status).toBe(402);
    const paid = await shop.pay({ path: "/files/LICENSE" });
    expect(paid).toMatchObject({
      status: 200,
      receipt: { success: true },
      headers: { "cache-control": "private, max-age=0" },
    });

    const known = { "If-None-Match": String(paid.headers["etag"]) };
    expect(await shop.pay({ path: "/files/LICENSE", headers: known })).toMatchObject({
      status: 200,
      body: paid.body,
    });
    expect(shop.facilitator.settled).toHaveLength(2);
  });
});

describe.each(NEWEST)("on %s, beside other middleware", (_, express) => {
  describe.each(PLACES)("with compression mounted %s us", (_place, mount) => {
    test.each<[string, number, RequestHandler]>([
      ["send", 1_000_000, (_req, res) => void res.type("text").send(TEXT)],
      ["send beyond what is held", 100, (_req, res) => void res.type("text").send(TEXT)],
      ["writes", 1_000_000, (_req, res) => [res.type("text"), res.write(TEXT.slice(0, 9)), res.end(TEXT.slice(9))]],
      [
        "writes beyond what is held",
        3,
        (_req, res) => [res.type("text"), res.write(TEXT.slice(0, 9)), res.end(TEXT.slice(9))],
      ],
      ["a pipe", 1_000_000, (_req, res) => void Readable.from(pieces(TEXT)).pipe(res.type("text"))],
      ["a pipe with nothing held", 0, (_req, res) => void Readable.from(pieces(TEXT)).pipe(res.type("text"))],
      ["a pipe of big pieces", 1000, (_req, res) => void Readable.from(pieces(TEXT, 9000)).pipe(res.type("text"))],
    ])("%s is paid, compressed once and whole", async (_how, holdBytes, handler) => {
      const shop = await openShop(express, { ...mount(compression()), handler, options: { holdBytes } });
      const paid = await shop.pay({ headers: GZIP });
      expect(paid).toMatchObject({ status: 200, receipt: { success: true }, headers: { "content-encoding": "gzip" } });
      expect(gunzipSync(paid.body).toString()).toBe(TEXT);
    });

    test("a replaced response can be read under compression, and has no trailers of the handler's", async () => {
      const handler: RequestHandler = (_req, res) => {
        res.type("text").addTrailers({ "X-Sum": "secret" });
        res.send(TEXT);
      };
      const shop = await openShop(express, { ...mount(compression({ threshold: 0 })), handler });
      shop.facilitator.failNext("rejected");
      const refused = await shop.pay({ headers: GZIP });
      const isCompressed = refused.headers["content-encoding"] === "gzip";
      const text = isCompressed ? gunzipSync(refused.body).toString() : refused.text;
      expect(refused.status).toBe(402);
      expect(refused.trailers).toEqual({});
      const { "content-length": length, "transfer-encoding": pieces } = refused.headers;
      expect(length ?? pieces).toBeDefined();
      expect(JSON.parse(text)).toEqual(refused.challenge);
    });

    test("a stored response can be read under compression", async () => {
      const handler: RequestHandler = (_req, res) => void res.type("text").send(TEXT);
      const shop = await openShop(express, { ...mount(compression()), handler });
      const { header } = await shop.sign();
      shop.facilitator.failNext("unknown");
      expect((await shop.ask({ payment: header, headers: GZIP })).status).toBe(503);
      const response = await shop.ask({ payment: header, headers: GZIP });
      expect(response).toMatchObject({ status: 200, headers: { "content-encoding": "gzip" } });
      expect(gunzipSync(response.body).toString()).toBe(TEXT);
    });
  });

  describe.each(PLACES)("with cors mounted %s us", (_place, mount) => {
    const origin = { Origin: "https://shop.example" };

    test("a header that cors exposes stays exposed beside the payment headers", async () => {
      const plan = mount(cors({ exposedHeaders: ["X-Total"] }));
      const shop = await openShop(express, { ...plan, handler: (_req, res) => void res.send("a") });
      const paid = await shop.pay({ headers: origin });
      expect(paid.headers).toMatchObject({
        "access-control-allow-origin": "*",
        "access-control-expose-headers":
          "X-Total, PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN",
      });
    });

    test("a preflight gets its response without payment", async () => {
      const shop = await openShop(express, { ...mount(cors()), handler: (_req, res) => void res.send("a") });
      const preflight = { ...origin, "Access-Control-Request-Method": "GET" };
      expect(await shop.ask({ method: "OPTIONS", headers: preflight })).toMatchObject({ status: 204 });
    });
  });

  test("a challenge can be read from another origin with cors mounted before us", async () => {
    const shop = await openShop(express, { before: [cors({ exposedHeaders: "X-Total" })] });
    expect((await shop.ask({ headers: { Origin: "https://shop.example" } })).headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-expose-headers":
        "X-Total, PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN",
    });
  });

  describe.each(PLACES)("with a session mounted %s us", (_place, mount) => {
    const session = onHeaders((res) => res.cookie("session", String(res.locals["content"])));

    test.each<[string, RequestHandler]>([
      ["send", (_req, res) => void res.send("a")],
      ["write and end", (_req, res) => [res.write("a"), res.end()]],
      ["writeHead", (_req, res) => void res.writeHead(200, { "X-A": "1" }).end("a")],
      ["flush", (_req, res) => [res.flushHeaders(), res.end("a")]],
      ["redirect", (_req, res) => void res.redirect("/free")],
    ])("a session's cookie goes out once, with %s", async (_how, handler) => {
      const shop = await openShop(express, {
        ...mount(session),
        handler: (req, res, next) => {
          res.locals["content"] = "7";
          handler(req, res, next);
        },
      });
      expect((await shop.pay()).headers["set-cookie"]).toEqual(["session=7; Path=/"]);
    });

    test("a response is whole behind a session that saves before the end", async () => {
      const saving: RequestHandler = (_req, res, next) => {
        const end = res.end;
        res.end = function saved(this: typeof res, ...args: never[]) {
          setImmediate(() => {
            res.cookie("saved", "1");
            Reflect.apply(end, this, args);
          });
          return this;
        } as typeof res.end;
        next();
      };
      const shop = await openShop(express, { ...mount(saving), handler: (_req, res) => void res.send("whole") });
      const paid = await shop.pay();
      expect(paid).toMatchObject({ status: 200, text: "whole", receipt: { success: true } });
      expect(paid.headers["set-cookie"]).toEqual(["saved=1; Path=/"]);
    });
  });

  describe.each(PLACES)("with a logger mounted %s us", (_place, mount) => {
    test.each([
      ["the handler's response", undefined, [200, 5]],
      ["the refusal", "rejected" as const, [402, expect.any(Number)]],
    ])("a logger logs %s, once, as the client got it", async (_what, ending, expected) => {
      const log: unknown[] = [];
      const logger: RequestHandler = (_req, res, next) => {
        const isPaid = _req.get("payment-signature") !== undefined || _req.payment !== undefined;
        if (isPaid) res.on("finish", () => log.push([res.statusCode, Number(res.getHeader("content-length"))]));
        next();
      };
      const shop = await openShop(express, { ...mount(logger), handler: (_req, res) => void res.send("12345") });
      if (ending !== undefined) shop.facilitator.failNext(ending);
      const response = await shop.pay();
      expect(log).toEqual([expected]);
      expect(log).toEqual([[response.status, response.body.length]]);
    });
  });

  test("a body that no middleware has read yet arrives whole after the gate has decided", async () => {
    const body = Buffer.alloc(3_000_000, "x");
    const shop = await openShop(express, {
      routes: { "POST /paid": PRICED },
      handler: (req, res) => void req.pipe(res),
    });
    expect((await shop.pay({ body })).body.equals(body)).toBe(true);
  });
});

/** A text in pieces. */
function pieces(text: string, size = 100): Buffer[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    Buffer.from(text.slice(at * size, at * size + size)),
  );
}
