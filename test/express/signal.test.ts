import { once } from "node:events";
import { PaymentAbortedError } from "@farebox/express";
import type { RequestHandler, Response } from "express";
import { describe, expect, test } from "vitest";
import { expectNoStrayErrors, NEWEST, openShop } from "./shop.js";

type ExpressModule = (typeof NEWEST)[number][1];

/** A shop whose first handler runs until the test ends it. The test sets the time, too. */
async function openWorkshop(express: ExpressModule, work: RequestHandler = () => {}) {
  expectNoStrayErrors();
  const timers = new Set<() => void>();
  let aheadMs = 0;
  let begin = (_run: Run): void => {};
  const running = new Promise<Run>((resolve) => {
    begin = resolve;
  });
  let runs = 0;
  const shop = await openShop(express, {
    options: {
      now: () => Date.now() + aheadMs,
      timer(act) {
        timers.add(act);
        return () => void timers.delete(act);
      },
    },
    handler(req, res, next) {
      runs += 1;
      if (runs > 1) return void res.send("at last");
      const signal = req.payment!.signal;
      begin({ res, signal });
      work(req, res, next);
    },
  });
  const { header } = await shop.sign();
  const line = await shop.connect(shop.request(header));
  const expire = () => {
    aheadMs = 300_000;
    for (const act of timers) {
      timers.delete(act);
      act();
    }
  };
  return { shop, header, line, running, expire, timers };
}

interface Run {
  readonly res: Response;
  readonly signal: AbortSignal;
}

const CLIENT_GONE = { code: "ERR_FAREBOX_PAYMENT_ABORTED", reason: "client_gone" };
const EXPIRED = { code: "ERR_FAREBOX_PAYMENT_ABORTED", reason: "expired" };

describe.each(NEWEST)("on %s, the signal of a handler", (_, express) => {
  test("the signal aborts when the client disconnects, and the payment stays good", async () => {
    const { shop, header, line, running, timers } = await openWorkshop(express);
    const { signal } = await running;
    expect(signal.aborted).toBe(false);
    line.socket.destroy();
    await once(signal, "abort");
    expect(signal.reason).toBeInstanceOf(PaymentAbortedError);
    expect(signal.reason).toMatchObject(CLIENT_GONE);
    expect(timers.size).toBe(0);
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "at last" });
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test.each<[string, (res: Response) => unknown, held: boolean]>([
    ["while settlement is under way", (res) => [res.flushHeaders(), res.write("a")], true],
    ["while a paid response streams", (res) => [res.flushHeaders(), res.write("begun")], false],
    [
      "while a response streams that is not charged",
      (res) => [res.status(404).flushHeaders(), res.write("begun")],
      false,
    ],
  ])("the signal aborts when the client disconnects %s", async (_when, write, held) => {
    const { shop, line, running } = await openWorkshop(express);
    const { res, signal } = await running;
    const asked = held ? shop.facilitator.hold("settle") : undefined;
    write(res);
    const settle = await asked;
    if (settle === undefined) await line.until("begun");
    line.socket.destroy();
    await once(signal, "abort");
    settle?.();
    expect(signal.reason).toMatchObject(CLIENT_GONE);
  });

  test("the signal does not abort when the response was delivered, and no timer is left", async () => {
    const { line, running, timers } = await openWorkshop(express);
    const { res, signal } = await running;
    expect(timers.size).toBe(1);
    const closed = once(res, "close");
    res.send("delivered");
    await line.until("delivered");
    await closed;
    expect(timers.size).toBe(0);
    expect(signal.aborted).toBe(false);
  });

  test.each<[string, RequestHandler]>([
    ["never responds", () => {}],
    ["streams into what is held", (_req, res) => void res.write("never seen")],
    ["has begun its head", (_req, res) => void res.writeHead(201, { "X-Never": "seen" })],
  ])("the signal aborts when a handler that %s is too late: 504, nothing charged", async (_what, work) => {
    const { shop, line, running, expire, timers } = await openWorkshop(express, work);
    const { signal } = await running;
    expire();
    expect(signal.reason).toMatchObject(EXPIRED);
    const response = await line.until("payment_expired");
    expect(response).toMatch(/^HTTP\/1\.1 504 Gateway Timeout\r\n/);
    expect(response).not.toMatch(/never/i);
    expect(shop.facilitator.settled).toEqual([]);
    expect(timers.size).toBe(0);
    line.socket.write("GET /free HTTP/1.1\r\nHost: a\r\n\r\n");
    await line.until('{"free":true}');
  });

  test.each<[string, (res: Response) => unknown]>([
    ["json", (res) => res.status(201).json({ late: true })],
    ["end", (res) => res.end("late")],
    ["writes", (res) => [res.write("late"), res.flushHeaders(), res.end()]],
    ["a header", (res) => res.set("X-Late", "1").removeHeader("X-Late")],
  ])("a handler that missed its time responds by %s into nothing, and nothing throws", async (_how, write) => {
    const { shop, line, running, expire } = await openWorkshop(express);
    const { res } = await running;
    expire();
    await line.until("payment_expired");
    write(res);
    line.socket.write("GET /free HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(await line.until('{"free":true}')).not.toMatch(/late/i);
    expect(shop.facilitator.settled).toEqual([]);
  });

  test("a handler that fails with its signal's reason gets 504", async () => {
    const { line, running, expire } = await openWorkshop(express, (req, _res, next) => {
      const { signal } = req.payment!;
      signal.addEventListener("abort", () => next(signal.reason));
    });
    await running;
    expire();
    expect(await line.until("payment_expired")).toMatch(/^HTTP\/1\.1 504 /);
  });

  test("the signal does not abort for lack of time once settlement has begun", async () => {
    const { shop, line, running, expire } = await openWorkshop(express);
    const { res, signal } = await running;
    const asked = shop.facilitator.hold("settle");
    res.write("a");
    res.flushHeaders();
    const settle = await asked;
    expire();
    settle();
    await line.until("\r\n\r\n");
    res.end("last");
    expect(await line.until("last")).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(signal.aborted).toBe(false);
  });

  test("the signal does not abort when the client was sent another response", async () => {
    const { shop, line, running } = await openWorkshop(express);
    const { res, signal } = await running;
    shop.facilitator.failNext("rejected");
    const closed = once(res, "close");
    res.send("refused");
    await line.until("insufficient_funds");
    await closed;
    expect(signal.aborted).toBe(false);
  });
});
