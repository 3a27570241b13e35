/**
 * A metered response goes out before it is paid for: what was delivered is settled once, and never more than was authorized.
 */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Payment } from "@farebox/core";
import { type PaymentsOptions, type RouteConfig, setSettlementOverrides } from "@farebox/express";
import type { Request, RequestHandler, Response } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { expectNoStrayErrors, openShop, PAY_TO, type Shop, type ShopPlan, until, VERSIONS } from "./shop.js";

const require = createRequire(import.meta.url);
/** Has no types of its own. */
const compression: (options: object) => RequestHandler = require("compression");

/** Up to a cent, 10000 units. A token costs $0.001, 1000 units. */
const METERED: RouteConfig = {
  accepts: { scheme: "upto", price: "$0.01", network: "eip155:84532", payTo: PAY_TO },
  settle: "metered",
};
const TOKEN = "$0.001";

function paymentOf(req: Request): Payment {
  const { payment } = req;
  if (payment === undefined) throw new Error("nothing was paid");
  return payment;
}

type Express = (typeof VERSIONS)[number][1];

function openMetered(express: Express, handler: RequestHandler, plan: ShopPlan = {}): Promise<Shop> {
  return openShop(express, { routes: { "/paid": METERED }, handler, ...plan });
}

/** Writes so many tokens, and charges for each before it is written. */
function writeTokens(req: Request, res: Response, count: number): void {
  for (let at = 0; at < count; at++) {
    paymentOf(req).charge(TOKEN);
    res.write(`token ${at}\n`);
  }
}

function sse(res: Response): void {
  res.set("Content-Type", "text/event-stream");
}

/** Lets a test say when a handler goes on. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

function receiptIn(text: string): unknown {
  const [, data] = /event: payment-receipt\ndata: (.*)\n\n$/.exec(text) ?? [];
  return data === undefined ? undefined : JSON.parse(data);
}

const untilSettled = (shop: Shop) => shop.facilitator.untilSettled();

describe.each(VERSIONS)("on %s", (name, express) => {
  test("a token arrives before the next one is made, and before anything is settled", async () => {
    const second = gate();
    const shop = await openMetered(express, async (req, res) => {
      writeTokens(req, res, 1);
      await second.opened;
      writeTokens(req, res, 1);
      res.end();
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    const head = await line.until("token 0\n");
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(head).toMatch(/\r\nTrailer: PAYMENT-RESPONSE, PAYMENT-ERROR\r\n/);
    expect(head).toMatch(/\r\nCache-Control: private\r\n/);
    expect(shop.facilitator.settled).toEqual([]);
    second.open();
    await line.until("\r\nPAYMENT-RESPONSE: ");
    expect(shop.facilitator.settled).toEqual([2000n]);
  });

  test("the receipt is a trailer, and can be fetched from the URL in the head", async () => {
    const shop = await openMetered(express, (req, res) => {
      writeTokens(req, res, 3);
      res.end();
    });
    const paid = await shop.pay();
    expect(paid.text).toBe("token 0\ntoken 1\ntoken 2\n");
    const url = new URL(String(paid.headers["payment-receipt-url"]));
    const receipt = JSON.parse(Buffer.from(String(paid.trailers["payment-response"]), "base64").toString());
    expect(receipt).toMatchObject({ success: true, amount: "3000", payer: shop.payer.address });
    const fetched = await shop.ask({ path: url.pathname });
    expect([fetched.status, fetched.json()]).toEqual([200, receipt]);
    expect(fetched.headers["cache-control"]).toBe("no-store");
    const forged = await shop.ask({ path: `${url.pathname.slice(0, -2)}AA` });
    expect(forged.status).toBe(404);
    const none = await shop.ask({ path: "/.well-known/x402/receipts/constructor" });
    expect(none.status).toBe(404);
  });

  test("the last event of an event stream is its receipt", async () => {
    const shop = await openMetered(express, (req, res) => {
      sse(res);
      res.write(": heartbeat\n\n");
      paymentOf(req).charge({ tokens: 31, price: "$0.000002" });
      res.write("data: hello\n\n");
      res.end();
    });
    const { text } = await shop.pay();
    expect(text.startsWith(": heartbeat\n\ndata: hello\n\nevent: payment-receipt\n")).toBe(true);
    expect(receiptIn(text)).toMatchObject({ success: true, amount: "62" });
  });

  test("a stream ends at the ceiling: the handler's signal aborts, what is beyond is not sent, what was delivered is settled", async () => {
    const seen: unknown[] = [];
    const shop = await openMetered(express, async (req, res) => {
      sse(res);
      const payment = paymentOf(req);
      payment.signal.addEventListener("abort", () => seen.push(payment.signal.reason.reason));
      try {
        for (let at = 0; at < 20; at++) {
          payment.charge(TOKEN);
          res.write(`data: ${at}\n\n`);
        }
      } catch (error) {
        seen.push((error as Error).name, payment.remaining);
      }
      res.write("data: beyond\n\n");
      res.end("data: the end\n\n");
    });
    const { text, trailers } = await shop.pay();
    expect(seen).toEqual(["limit", "AmountError", "0"]);
    expect(text).toContain(
      'data: 9\n\nevent: payment-limit\ndata: {"error":"payment_limit"}\n\nevent: payment-receipt\n',
    );
    expect(text).not.toMatch(/data: 10|beyond|the end/);
    expect(receiptIn(text)).toMatchObject({ success: true, amount: "10000" });
    expect(trailers["payment-error"]).toBe("payment_limit");
    expect(shop.facilitator.settled).toEqual([10_000n]);
  });

  test.each<[string, RequestHandler]>([
    [
      "a pipeline whose source charges",
      async (req, res) => {
        async function* tokens() {
          for (let at = 0; ; at++) {
            paymentOf(req).charge(TOKEN);
            yield `data: ${at}\n\n`;
          }
        }
        sse(res);
        await pipeline(tokens(), res).catch(() => {});
      },
    ],
    [
      "a handler that throws there",
      (req, res) => {
        sse(res);
        for (let at = 0; ; at++) {
          paymentOf(req).charge(TOKEN);
          res.write(`data: ${at}\n\n`);
        }
      },
    ],
    [
      "a handler that destroys its response there",
      (req, res) => {
        sse(res);
        paymentOf(req).signal.addEventListener("abort", () => res.destroy());
        for (let at = 0; at < 20; at++) {
          paymentOf(req).charge(TOKEN);
          res.write(`data: ${at}\n\n`);
        }
      },
    ],
  ])("at the ceiling the stream of %s ends in order", async (_what, handler) => {
    const shop = await openMetered(express, handler);
    const { text, trailers } = await shop.pay();
    expect(text).toContain("event: payment-limit\n");
    expect(receiptIn(text)).toMatchObject({ success: true, amount: "10000" });
    expect([trailers["payment-error"], shop.facilitator.settled]).toEqual(["payment_limit", [10_000n]]);
  });

  const REFUSED: readonly [what: string, refuse: (payment: Payment) => void][] = [
    ["charges what is no amount", (payment) => payment.charge("much")],
    ["charges nothing in particular", (payment) => payment.charge(Number.NaN as never)],
    ["sets what is no amount", (payment) => payment.settle("much")],
    ["charges dollars and tokens", (payment) => payment.charge("$0.001 USDC")],
  ];

  test.each(REFUSED)("a handler that %s and swallows the error sends nothing", async (_what, refuse) => {
    const shop = await openMetered(express, (req, res) => {
      for (let at = 0; at < 3; at++) {
        expect(() => refuse(paymentOf(req))).toThrow();
        res.write(`token ${at}\n`);
      }
      res.end();
    });
    const { status, text } = await shop.pay();
    expect([status, text]).toEqual([500, expect.not.stringContaining("token")]);
    expect(shop.facilitator.settled).toEqual([]);
  });

  test.each(REFUSED)("a stream ends where its handler %s and swallows the error", async (_what, refuse) => {
    const aborted: unknown[] = [];
    const shop = await openMetered(express, (req, res) => {
      sse(res);
      paymentOf(req).signal.addEventListener("abort", () => aborted.push(paymentOf(req).signal.reason.reason));
      paymentOf(req).charge(TOKEN);
      res.write("data: paid\n\n");
      expect(() => refuse(paymentOf(req))).toThrow();
      res.write("data: free\n\n");
      res.end();
    });
    const { text, trailers } = await shop.pay();
    expect(text).toMatch(/^data: paid\n\nevent: payment-limit\ndata: \{"error":"unexpected_settle_error"\}\n\n/);
    expect(text).not.toContain("free");
    expect(receiptIn(text)).toMatchObject({ success: true, amount: "1000" });
    expect([trailers["payment-error"], aborted]).toEqual(["unexpected_settle_error", ["unrecorded"]]);
    expect(shop.facilitator.settled).toEqual([1_000n]);
  });

  test("a good amount after a refused one, before the first bytes, is what the stream costs", async () => {
    const shop = await openMetered(express, (req, res) => {
      expect(() => paymentOf(req).settle("much")).toThrow();
      paymentOf(req).settle("$0.002");
      res.write("token\n");
      res.end();
    });
    const { status, text } = await shop.pay();
    expect([status, text, shop.facilitator.settled]).toEqual([200, "token\n", [2_000n]]);
  });

  test("a handler that throws behind the end of its response is paid, and the receipt goes out", async () => {
    const shop = await openMetered(express, (req, res) => {
      sse(res);
      writeTokens(req, res, 1);
      res.end();
      throw new Error("the handler's");
    });
    const { text } = await shop.pay();
    expect(receiptIn(text)).toMatchObject({ success: true, amount: "1000" });
  });

  test("a client that leaves pays for what went out", async () => {
    expectNoStrayErrors();
    const aborted = gate();
    const shop = await openMetered(express, async (req, res) => {
      writeTokens(req, res, 3);
      paymentOf(req).signal.addEventListener("abort", aborted.open);
      await aborted.opened;
      // Too late to charge.
      expect(() => paymentOf(req).charge(TOKEN)).toThrow();
      res.end();
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("token 2");
    line.socket.destroy();
    expect(await untilSettled(shop)).toEqual([3000n]);
    const again = await shop.ask({ payment: header });
    expect([again.status, shop.facilitator.settled]).toEqual([402, [3000n]]);
  });

  test("a handler that throws while it streams is paid for what went out", async () => {
    const shop = await openMetered(express, (req, res, next) => {
      writeTokens(req, res, 2);
      setImmediate(() => next(new Error("the handler's")));
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.ended;
    expect(await untilSettled(shop)).toEqual([2000n]);
  });

  test("a response in one piece is held until it has settled, and has its receipt in the head", async () => {
    const shop = await openMetered(express, (req, res) => {
      paymentOf(req).charge(TOKEN);
      res.json({ tokens: 1 });
    });
    const { headers, receipt } = await shop.pay();
    expect(receipt).toMatchObject({ success: true, amount: "1000" });
    expect(headers["trailer"]).toBeUndefined();
  });

  test("an error is not charged, whatever was counted, and the payment stays good", async () => {
    let runs = 0;
    const shop = await openMetered(express, (req, res) => {
      writeStatus(req, res, runs++ === 0 ? 500 : 200);
    });
    function writeStatus(req: Request, res: Response, status: number): void {
      paymentOf(req).charge(TOKEN);
      res.status(status).write("the ");
      res.end("end");
    }
    const { header } = await shop.sign();
    const failed = await shop.ask({ payment: header });
    expect([failed.status, failed.text, failed.receipt?.success]).toEqual([500, "the end", false]);
    const good = await shop.ask({ payment: header });
    expect([good.status, shop.facilitator.settled]).toEqual([200, [1000n]]);
  });

  describe("behind middleware that wraps write", () => {
    const wrap: RequestHandler = (_req, res, next) => {
      const { write } = res;
      res.write = ((chunk: unknown, encoding: BufferEncoding) =>
        Reflect.apply(write, res, [chunk, encoding])) as typeof res.write;
      next();
    };

    test.each<[string, RequestHandler]>([
      ["that wraps only", wrap],
      ["of compression, for a client that takes none", compression({})],
    ])("%s, a stream that reaches its ceiling in one turn is paid, once", async (_what, middleware) => {
      const handler: RequestHandler = (req, res) => {
        try {
          for (;;) writeTokens(req, res, 1);
        } catch {
          res.end();
        }
      };
      const shop = await openMetered(express, handler, { before: [middleware] });
      const { header } = await shop.sign();
      const paid = await shop.ask({ payment: header });
      expect([paid.text, paid.trailers["payment-error"]]).toEqual(["token 0\n".repeat(10), "payment_limit"]);
      expect(shop.facilitator.settled).toEqual([10_000n]);
      expect((await shop.ask({ payment: header })).status).toBe(402);
    });
  });

  describe("under compression", () => {
    const events: RequestHandler = async (req, res) => {
      sse(res);
      for (let at = 0; at < 3; at++) {
        paymentOf(req).charge(TOKEN);
        res.write(`data: ${at}\n\n`);
        (res as Response & { flush?: () => void }).flush?.();
        await new Promise((resolve) => setImmediate(resolve));
      }
      res.end();
    };
    const all = () => true;

    test("in front, the events and the receipt are compressed together", async () => {
      const shop = await openMetered(express, events, { before: [compression({ filter: all, threshold: 0 })] });
      const { header } = await shop.sign();
      const response = await fetch(`${shop.url}/paid`, {
        headers: { "PAYMENT-SIGNATURE": header, "Accept-Encoding": "gzip" },
      });
      expect(response.headers.get("content-encoding")).toBe("gzip");
      const text = await response.text();
      expect(receiptIn(text)).toMatchObject({ amount: "3000" });
      expect(shop.facilitator.settled).toEqual([3000n]);
    });

    test("behind, the stream is whole and its receipt is a trailer", async () => {
      const shop = await openMetered(express, events, { behind: [compression({ filter: all, threshold: 0 })] });
      const { header } = await shop.sign();
      const response = await fetch(`${shop.url}/paid`, {
        headers: { "PAYMENT-SIGNATURE": header, "Accept-Encoding": "gzip" },
      });
      expect(response.headers.get("content-encoding")).toBe("gzip");
      expect(await response.text()).toBe("data: 0\n\ndata: 1\n\ndata: 2\n\n");
      expect(shop.facilitator.settled).toEqual([3000n]);
    });
  });

  test("a HEAD request has no body, and is charged what its handler counts", async () => {
    const shop = await openMetered(express, (req, res) => {
      writeTokens(req, res, 1);
      res.end();
    });
    const { header } = await shop.sign("/paid", "HEAD");
    const head = await shop.ask({ method: "HEAD", payment: header });
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(await untilSettled(shop)).toEqual([1000n]);
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("trailers of the handler go out beside the receipt, whenever it sets them", async () => {
    const shop = await openMetered(express, (req, res) => {
      res.setHeader("Trailer", "X-Tokens");
      if (req.query["early"] !== undefined) res.addTrailers({ "X-Tokens": "2" });
      writeTokens(req, res, 2);
      if (req.query["early"] === undefined) res.addTrailers([["X-Tokens", "2"]]);
      res.end();
    });
    for (const path of ["/paid", "/paid?early"]) {
      const { trailers, headers } = await shop.pay({ path });
      expect(headers["trailer"]).toBe("X-Tokens, PAYMENT-RESPONSE, PAYMENT-ERROR");
      expect([trailers["x-tokens"], typeof trailers["payment-response"]]).toEqual(["2", "string"]);
    }
  });

  test("the URL of the receipt says that a response still streams", async () => {
    const end = gate();
    const shop = await openMetered(express, async (req, res) => {
      writeTokens(req, res, 1);
      await end.opened;
      res.end();
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    const [, url = ""] = /PAYMENT-RECEIPT-URL: (\S+)/.exec(await line.until("token 0")) ?? [];
    const pending = await shop.ask({ path: new URL(url).pathname });
    expect([pending.status, pending.headers["retry-after"]]).toEqual([202, "1"]);
    end.open();
    await untilSettled(shop);
  });

  test("a body without events is cut at the ceiling, and a trailer says so", async () => {
    const shop = await openMetered(express, (req, res) => {
      res.set("Content-Length", "1000");
      try {
        writeTokens(req, res, 11);
      } catch {
        // The response is over by then.
      }
    });
    const { text, trailers, headers } = await shop.pay();
    expect(text.split("\n").length - 1).toBe(10);
    expect([headers["content-length"], trailers["payment-error"]]).toEqual([undefined, "payment_limit"]);
    expect(shop.facilitator.settled).toEqual([10_000n]);
  });

  test("an event that the ceiling cuts off is closed before the event that says so", async () => {
    const shop = await openMetered(express, (req, res) => {
      sse(res);
      paymentOf(req).charge("$0.01");
      res.write("data: half");
      paymentOf(req).charge(TOKEN);
    });
    const { text } = await shop.pay();
    expect(text.startsWith("data: half\n\nevent: payment-limit\n")).toBe(true);
  });

  test("a client that leaves does not pay for what waits for it, and memory stays flat while it does not read", async () => {
    const mib = Buffer.alloc(1024 * 1024, "x");
    let written = 0;
    const shop = await openMetered(express, async (req, res) => {
      const { signal } = paymentOf(req);
      while (!signal.aborted) {
        paymentOf(req).charge("100");
        written++;
        if (!res.write(mib)) await once(res, "drain", { signal }).catch(() => {});
      }
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("xxx");
    line.socket.pause();
    // The kernel holds a few megabytes. What it does not take waits in the process: nothing is written while others are served.
    for (let before = -1; before !== written; ) {
      before = written;
      for (let at = 0; at < 10; at++) await shop.ask({ path: "/free" });
    }
    line.socket.destroy();
    const [settled = 0n] = await untilSettled(shop);
    // One that waits here, and what the handler has written behind it.
    expect(written * 100 - Number(settled)).toBeGreaterThan(0);
    expect(written * 100 - Number(settled)).toBeLessThanOrEqual(200);
  });

  test("a client that leaves after the handler has ended pays for what went out", async () => {
    // Together much more than the kernel holds.
    const part = Buffer.alloc(8 * 1024 * 1024);
    const shop = await openMetered(express, (req, res) => {
      for (let at = 0; at < 10; at++) {
        paymentOf(req).charge(TOKEN);
        res.write(part);
      }
      res.end();
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("\0".repeat(1000));
    line.socket.pause();
    line.socket.resetAndDestroy();
    const settled = await untilSettled(shop);
    expect(settled).toHaveLength(1);
    expect(settled[0]).toBeLessThan(5000n);
  });

  test("a corked response goes out when its handler ends it", async () => {
    const shop = await openMetered(express, (req, res) => {
      res.cork();
      writeTokens(req, res, 2);
      res.end();
    });
    expect((await shop.pay()).text).toBe("token 0\ntoken 1\n");
  });

  test("a client that leaves in the middle of a large chunk pays for the part that went out", async () => {
    const shop = await openMetered(express, async (req, res) => {
      paymentOf(req).charge("$0.01");
      res.write(Buffer.alloc(32 * 1024 * 1024, "x"));
      await once(res, "close");
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("x".repeat(1000));
    line.socket.pause();
    line.socket.destroy();
    const [settled = 0n] = await untilSettled(shop);
    expect(Number(settled)).toBeGreaterThan(10);
    expect(Number(settled)).toBeLessThan(9_000);
    expect((await shop.ask({ payment: header })).status).toBe(402);
  });

  test("a client that leaves before the first byte is not charged, and its payment stays good", async () => {
    const left = gate();
    const first = gate();
    let runs = 0;
    const shop = await openMetered(express, async (req, res) => {
      if (runs++ === 0) {
        first.open();
        await left.opened;
      }
      writeTokens(req, res, 1);
      res.end();
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await first.opened;
    line.socket.destroy();
    await line.ended;
    await until(async () => (await shop.ask({ payment: header })).status === 200);
    left.open();
    expect(shop.facilitator.settled).toEqual([1000n]);
  });

  test("the same payment gets 409 while its response streams, and no second response afterwards", async () => {
    const end = gate();
    let runs = 0;
    const shop = await openMetered(express, async (req, res) => {
      runs++;
      writeTokens(req, res, 1);
      await end.opened;
      res.end();
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("token 0");
    const meanwhile = await shop.ask({ payment: header });
    expect([meanwhile.status, meanwhile.json()]).toMatchObject([409, { error: "payment_in_progress" }]);
    end.open();
    await line.until("\r\nPAYMENT-RESPONSE: ");
    const afterwards = await shop.ask({ payment: header });
    expect([afterwards.status, runs, shop.facilitator.settled]).toEqual([402, 1, [1000n]]);
  });

  test("a response that its handler never counts costs nothing, and is a finding", async () => {
    const codes: string[] = [];
    const logger = { info() {}, warn: (code: string) => void codes.push(code), error() {} };
    const shop = await openMetered(
      express,
      (_req, res) => {
        res.write("a");
        res.end("b");
      },
      { options: { logger } },
    );
    const { text, trailers } = await shop.pay();
    expect(text).toBe("ab");
    expect(String(trailers["payment-response"])).not.toBe("");
    expect([shop.facilitator.settled, codes]).toEqual([[], expect.arrayContaining(["FAREBOX_METERED_UNCOUNTED"])]);
  });

  test.each<[string, RequestHandler, string]>([
    [
      "a loop of writes",
      (req, res) => {
        writeTokens(req, res, 3);
        res.end();
      },
      "token 0\ntoken 1\ntoken 2\n",
    ],
    [
      "a pipeline from an async iterator",
      async (req, res) => {
        async function* tokens() {
          for (let at = 0; at < 3; at++) {
            paymentOf(req).charge(TOKEN);
            yield `${at};`;
          }
        }
        await pipeline(tokens(), res);
      },
      "0;1;2;",
    ],
    [
      "a web stream",
      async (req, res) => {
        const stream = new ReadableStream({
          start(controller) {
            for (let at = 0; at < 3; at++) {
              paymentOf(req).charge(TOKEN);
              controller.enqueue(Buffer.from(`${at};`));
            }
            controller.close();
          },
        });
        await pipeline(Readable.fromWeb(stream as never), res);
      },
      "0;1;2;",
    ],
    [
      "a head that is flushed first",
      async (req, res) => {
        res.flushHeaders();
        await new Promise((resolve) => setImmediate(resolve));
        writeTokens(req, res, 3);
        res.end();
      },
      "token 0\ntoken 1\ntoken 2\n",
    ],
  ])("%s streams, and is charged exactly", async (_what, handler, text) => {
    const shop = await openMetered(express, handler);
    const paid = await shop.pay();
    expect([paid.text, shop.facilitator.settled]).toEqual([text, [3000n]]);
  });

  test("a client of HTTP/1.0 gets the stream without trailers, and its receipt by the URL", async () => {
    const shop = await openMetered(express, (req, res) => {
      writeTokens(req, res, 2);
      res.end();
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header).replace("HTTP/1.1", "HTTP/1.0"));
    const all = await line.ended;
    expect(all).toMatch(/\r\n\r\ntoken 0\ntoken 1\n$/);
    expect(all).not.toMatch(/Trailer/i);
    expect(shop.facilitator.settled).toEqual([2000n]);
    const [, url = ""] = /PAYMENT-RECEIPT-URL: (\S+)/.exec(all) ?? [];
    expect((await shop.ask({ path: new URL(url).pathname })).json()).toMatchObject({ amount: "2000" });
  });

  test("fractions of a unit are carried, and rounded once", async () => {
    const shop = await openMetered(express, (req, res) => {
      for (let at = 0; at < 5; at++) {
        paymentOf(req).charge("$0.0000003");
        res.write(".");
      }
      res.end();
    });
    await shop.pay();
    expect(shop.facilitator.settled).toEqual([2n]);
  });

  test("reserve says whether a charge is covered, and sets it aside", async () => {
    const said: unknown[] = [];
    const shop = await openMetered(express, async (req, res) => {
      const payment = paymentOf(req);
      payment.charge("$0.004");
      said.push(await payment.reserve("$0.004"), await payment.reserve("$0.004"), payment.remaining);
      payment.charge("$0.004");
      said.push(await payment.reserve("$0.002"), await payment.reserve({ tokens: 1n, price: "1" }));
      await payment.reserve("much").catch((error: Error) => said.push(error.name));
      res.end("done");
    });
    await shop.pay();
    expect(said).toEqual([true, false, "6000", true, false, "AmountError"]);
    expect(shop.facilitator.settled).toEqual([8000n]);
  });

  describe("what streams cost the seller at most", () => {
    const streams = (options: Partial<PaymentsOptions>) => {
      const end = gate();
      const shop = openMetered(
        express,
        async (req, res) => {
          writeTokens(req, res, 1);
          await end.opened;
          res.end();
        },
        { options },
      );
      return { end, shop };
    };

    async function startOne(shop: Shop) {
      const { header } = await shop.sign();
      const line = await shop.connect(shop.request(header));
      return { header, line };
    }

    test("one payer streams up to perPayer, and gets 429 beyond that without a charge", async () => {
      const { end, shop: opening } = streams({ exposure: { perPayer: "$0.02" } });
      const shop = await opening;
      const lines = [await startOne(shop), await startOne(shop)];
      for (const { line } of lines) await line.until("token 0");
      const third = await shop.sign();
      const refused = await shop.ask({ payment: third.header });
      expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
      end.open();
      for (const { line } of lines) await line.until("\r\nPAYMENT-RESPONSE: ");
      expect((await shop.ask({ payment: third.header })).status).toBe(200);
    });

    test("all payers together stream up to total, and get 503 beyond that", async () => {
      const { end, shop: opening } = streams({ exposure: { perPayer: "$0.01", total: "$0.01" } });
      const shop = await opening;
      const { line } = await startOne(shop);
      await line.until("token 0");
      // The payer's own limit is as high, so another payer is what shows the total.
      const refused = await shop.ask({ payment: (await shop.sign()).header });
      expect([429, 503]).toContain(refused.status);
      end.open();
      await line.until("\r\nPAYMENT-RESPONSE: ");
    });

    test("a payer whose settlement failed streams nothing until it is paid", async () => {
      const shop = await openMetered(express, (req, res) => {
        sse(res);
        writeTokens(req, res, 2);
        res.end();
      });
      const { header } = await shop.sign();
      const settle = await holdFunds(shop, header);
      const { text, headers } = await settle;
      expect(receiptIn(text)).toMatchObject({ success: false, errorReason: "insufficient_funds" });
      const fetched = await shop.ask({ path: new URL(String(headers["payment-receipt-url"])).pathname });
      expect([fetched.status, fetched.json()]).toEqual([402, receiptIn(text)]);
      expect(shop.facilitator.settled).toEqual([]);

      const next = await shop.sign();
      const refused = await shop.ask({ payment: next.header });
      expect([refused.status, refused.challenge?.error]).toEqual([402, "insufficient_funds"]);
    });

    test("a payer that is due pays as soon as it can: with its next request", async () => {
      const shop = await openMetered(express, (req, res) => {
        sse(res);
        writeTokens(req, res, 2);
        res.end();
      });
      const { header } = await shop.sign();
      await holdFunds(shop, header, { refunds: true });
      expect(shop.facilitator.settled).toEqual([]);
      const next = await shop.pay();
      expect(next.status).toBe(200);
      expect(shop.facilitator.settled).toEqual([2000n, 2000n]);
    });

    /** Pays while the payer's money is gone at settlement. */
    async function holdFunds(shop: Shop, header: string, { refunds = false } = {}) {
      const asked = shop.facilitator.hold("settle");
      const paying = shop.ask({ payment: header });
      const settle = await asked;
      const { refund } = shop.facilitator.removeFunds();
      settle();
      const paid = await paying;
      if (refunds) refund();
      return paid;
    }
  });

  describe("by upto, settled before", () => {
    const BEFORE: RouteConfig = { ...METERED, settle: "before" };

    test("the maximum is settled, the handler is told so, and its response streams at once", async () => {
      const seen: unknown[] = [];
      const end = gate();
      const shop = await openMetered(
        express,
        async (req, res) => {
          const payment = paymentOf(req);
          payment.charge(TOKEN);
          seen.push(payment.isSettled, payment.amount, payment.remaining);
          expect(() => payment.charge("$0.01")).toThrow("at most what is left");
          setSettlementOverrides(res, { amount: "$0.002" });
          res.write("live");
          await end.opened;
          res.end();
        },
        { routes: { "/paid": BEFORE } },
      );
      const { header } = await shop.sign();
      const line = await shop.connect(shop.request(header));
      const text = await line.until("live");
      expect(text).toMatch(/\r\nPAYMENT-RESPONSE: /);
      expect(shop.facilitator.settled).toEqual([10_000n]);
      end.open();
      await line.until("\r\n0\r\n\r\n");
      expect(seen).toEqual([true, "10000", "9000"]);
    });
  });
});

test("a stream over a real connection arrives token by token", async () => {
  const [[, express]] = VERSIONS as [(typeof VERSIONS)[number]];
  const next = [gate(), gate(), gate()];
  const shop = await openMetered(express, async (req, res) => {
    sse(res);
    for (const [at, { opened }] of next.entries()) {
      await opened;
      paymentOf(req).charge(TOKEN);
      res.write(`data: ${at}\n\n`);
    }
    res.end();
  });
  const { header } = await shop.sign();
  const outgoing = httpRequest(`${shop.url}/paid`, { headers: { "PAYMENT-SIGNATURE": header } });
  onTestFinished(() => void outgoing.destroy());
  outgoing.end();
  next[0]?.open();
  const [incoming] = await once(outgoing, "response");
  const texts: string[] = [];
  for await (const chunk of incoming) {
    texts.push(String(chunk));
    next[texts.length]?.open();
  }
  expect(texts.slice(0, 2)).toEqual(["data: 0\n\n", "data: 1\n\n"]);
  expect(texts.slice(2).join("")).toMatch(/^data: 2\n\nevent: payment-receipt\n/);
});
