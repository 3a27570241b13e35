/**
 * Clients that leave a metered stream: what was handed to their connection counts, however little of it they wait for.
 */
import type { Socket } from "node:net";
import type { Payment } from "@farebox/core";
import type { RouteConfig } from "@farebox/express";
import type { Request, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PAY_TO, type ShopPlan, until, VERSIONS } from "./shop.js";

/** Up to a cent, 10000 units. */
const METERED: RouteConfig = {
  accepts: { scheme: "upto", price: "$0.01", network: "eip155:84532", payTo: PAY_TO },
  settle: "metered",
};

/** One unit each, and together much more than the kernel holds. */
const EVENT = Buffer.from(`data: ${"x".repeat(4096 - 8)}\n\n`);
const EVENTS = 8192;

function paymentOf(req: Request): Payment {
  const { payment } = req;
  if (payment === undefined) throw new Error("nothing was paid");
  return payment;
}

/** Writes all events without waiting for the client, as a handler does that ignores what `write` returns. */
const writesAll =
  ({ ends }: { readonly ends: boolean }): RequestHandler =>
  (req, res) => {
    res.set("Content-Type", "text/event-stream");
    for (let at = 0; at < EVENTS; at++) {
      paymentOf(req).charge("1");
      res.write(EVENT);
    }
    if (ends) res.end();
  };

/** Middleware whose `write` has no callback. */
const wraps: RequestHandler = (_req, res, next) => {
  const { write } = res;
  res.write = ((chunk: unknown, encoding: BufferEncoding) =>
    Reflect.apply(write, res, [chunk, encoding])) as typeof res.write;
  next();
};

/** Middleware that does something as the head goes out, and at the end. */
const watchesHead: RequestHandler = (_req, res, next) => {
  const { writeHead, end } = res;
  res.writeHead = ((...args: never[]) => Reflect.apply(writeHead, res, args)) as typeof res.writeHead;
  res.end = ((...args: never[]) => Reflect.apply(end, res, args)) as typeof res.end;
  next();
};

describe.each(VERSIONS)("on %s", (_name, express) => {
  const open = (handler: RequestHandler, plan: ShopPlan = {}) =>
    openShop(express, { routes: { "/paid": METERED }, handler, ...plan });

  test.each<[string, boolean, ShopPlan]>([
    ["still writes", false, {}],
    ["has ended", true, {}],
    ["has ended behind middleware that wraps its writes", true, { before: [wraps] }],
  ])(
    "a client that reads half of a stream and resets pays for that half, when the handler %s",
    async (_what, ends, plan) => {
      const shop = await open(writesAll({ ends }), plan);
      const { header } = await shop.sign();
      const line = await shop.connect(shop.request(header));
      const half = (EVENTS / 2) * EVENT.length;
      await new Promise<void>((resolve) => {
        let received = 0;
        line.socket.on("data", (data: string) => {
          received += data.length;
          if (received >= half) resolve();
        });
      });
      line.socket.resetAndDestroy();
      const [settled = 0n] = await shop.facilitator.untilSettled();
      expect(Number(settled)).toBeGreaterThanOrEqual((EVENTS / 2) * 0.98);
      expect(Number(settled)).toBeLessThan(EVENTS);
      expect((await shop.ask({ payment: header })).status).toBe(402);
    },
  );

  test.each([
    ["alone", []],
    ["behind middleware that wraps the head and the end", [watchesHead]],
  ])(
    "a client that leaves in the middle of one large chunk, %s, pays for the part that went out",
    async (_what, before) => {
      const size = EVENTS * EVENT.length;
      const shop = await open(
        (req, res) => {
          paymentOf(req).charge("$0.01");
          res.write(Buffer.alloc(size, "x"));
        },
        { before },
      );
      const { header } = await shop.sign();
      const line = await shop.connect(shop.request(header));
      await line.until("x".repeat(1000));
      line.socket.pause();
      line.socket.resetAndDestroy();
      const [settled = 0n] = await shop.facilitator.untilSettled();
      expect(Number(settled)).toBeGreaterThan(10);
      expect(Number(settled)).toBeLessThan(9_000);
    },
  );

  test("a connection can be closed behind a stream that was stopped and ended before its first bytes were out", async () => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let answer = () => {};
    const mayGoOn = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const beforeSettle = async () => {
      asked();
      await mayGoOn;
    };
    const sockets: Socket[] = [];
    const shop = await open(
      async (req, res) => {
        sockets.push(req.socket);
        paymentOf(req).charge("1");
        res.write("a");
        await isAsked;
        expect(() => paymentOf(req).charge("$1")).toThrow();
        res.end("b");
        answer();
      },
      { options: { hooks: { beforeSettle } } },
    );
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("\r\n0\r\n");
    await shop.facilitator.untilSettled();
    const [socket] = sockets;
    socket?.destroy();
    expect(socket?.destroyed).toBe(true);
    await line.ended;
  });

  test("a client that leaves pays for the bounded part that its connection was given last, and for no more", async () => {
    let ran = () => {};
    const running = new Promise<void>((resolve) => {
      ran = resolve;
    });
    // The connection takes nothing, as that of a client that does not read.
    const takesNothing: RequestHandler = (req, _res, next) => {
      if (req.headers["payment-signature"] !== undefined) Object.assign(req.socket, { _write() {}, _writev: null });
      next();
    };
    let most = 0;
    const handler: RequestHandler = (req, res) => {
      most = res.writableHighWaterMark / 2 / EVENT.length;
      for (let at = 0; at < 100; at++) {
        paymentOf(req).charge("1");
        res.write(EVENT);
      }
      res.end();
      setImmediate(ran);
    };
    const shop = await open(handler, { before: [takesNothing] });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await running;
    line.socket.resetAndDestroy();
    const [settled] = await shop.facilitator.untilSettled();
    expect(settled).toBe(BigInt(most));
  });

  describe("what may stay unpaid", () => {
    const accepts = { scheme: "upto", price: "$0.40", network: "eip155:84532", payTo: PAY_TO } as const;
    const routes = { "/paid": { accepts, settle: "metered" } } as const;
    const exposure = { perPayer: "$0.40", total: "$0.40" } as const;

    test("streams count with what they delivered and a step more, and one that grows beyond the limits ends", async () => {
      const grow: (() => void)[] = [];
      const reasons: unknown[] = [];
      const shop = await open(
        (req, res) => {
          const { signal, charge } = paymentOf(req);
          signal.addEventListener("abort", () => reasons.push(signal.reason.reason));
          res.set("Content-Type", "text/event-stream");
          charge("$0.001");
          res.write("data: first\n\n");
          grow.push(() => {
            charge("$0.36");
            res.write("data: second\n\n");
          });
        },
        { routes, options: { exposure } },
      );
      const lines = [];
      for (let at = 0; at < 2; at++) {
        const { header } = await shop.sign();
        lines.push(await shop.connect(shop.request(header)));
        await lines[at]?.until("first");
      }
      grow[0]?.();
      await lines[0]?.until("second");
      grow[1]?.();
      const cut = await lines[1]?.until("payment-receipt");
      expect(cut).not.toContain("second");
      expect(cut).toContain('event: payment-limit\ndata: {"error":"unexpected_settle_error"}');
      expect([reasons, shop.facilitator.settled]).toEqual([["exposure"], [1000n]]);
    });

    test("a client that takes nothing for 30 seconds has left", async () => {
      let nowMs = Date.now();
      const timers = new Map<object, () => void>();
      const timer = (act: () => void, delayMs: number) => {
        const key = {};
        if (delayMs === 30_000) timers.set(key, act);
        return () => void timers.delete(key);
      };
      const takesNothing: RequestHandler = (req, _res, next) => {
        if (req.headers["payment-signature"] !== undefined) Object.assign(req.socket, { _write() {}, _writev: null });
        next();
      };
      const reasons: unknown[] = [];
      const handler: RequestHandler = (req, res) => {
        const { signal, charge } = paymentOf(req);
        signal.addEventListener("abort", () => reasons.push(signal.reason.reason));
        charge("1");
        res.write("data: first\n\n");
      };
      const options = { exposure, now: () => nowMs, timer };
      const shop = await open(handler, { routes, options, before: [takesNothing] });
      const { header } = await shop.sign();
      const line = await shop.connect(shop.request(header));
      await until(() => timers.size > 0);
      nowMs += 30_000;
      for (const act of timers.values()) act();
      await line.ended;
      expect(await shop.facilitator.untilSettled()).toEqual([1n]);
      expect(reasons).toEqual(["client_gone"]);
    });
  });

  test("a client that leaves before its turn in a pipeline abandons the stream that its handler has ended", async () => {
    let runs = 0;
    let ended = 0;
    const handler: RequestHandler = (req, res) => {
      runs++;
      paymentOf(req).charge("1");
      res.write("a");
      res.end("b");
      ended++;
    };
    // A response that never comes, so that the next one on the connection waits.
    const shop = await open(handler, { before: [(req, _res, next) => void (req.path === "/never" || next())] });
    const { header } = await shop.sign();
    for (let at = 1; at <= 2; at++) {
      const line = await shop.connect(`GET /never HTTP/1.1\r\nHost: shop\r\n\r\n${shop.request(header)}`);
      await until(() => ended === at);
      line.socket.resetAndDestroy();
      await line.ended;
    }
    expect((await shop.ask({ payment: header })).status).toBe(429);
    expect([runs, shop.facilitator.settled]).toEqual([2, []]);
  });
});
