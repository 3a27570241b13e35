/**
 * Clients that leave while their handlers run, and payers whose payments together exceed their balance, over real HTTP: the
 * runs that nobody pays for are limited.
 */
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { PaymentPayload } from "@farebox/core";
import { encodePaymentSignature } from "@farebox/core/protocol";
import { createPayments, type PaymentsOptions } from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import type express5 from "express";
import type { NextFunction, Request, Response } from "express";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../faults/business.js";
import { LENIENT, PATIENT, PRICED, VERSIONS } from "./shop.js";

/** One run of the handler, which ends when the test says so. */
interface Run {
  readonly req: Request;
  readonly res: Response;
  readonly next: NextFunction;
  /** Resolves when the server has seen that the client left. */
  readonly left: Promise<unknown>;
}

const CENT = 10_000n;

afterEach(() => void vi.useRealTimers());

async function openWorkshop(express: typeof express5, options: Partial<PaymentsOptions> = {}) {
  const facilitator = createTestFacilitator();
  const { ledger } = facilitator;
  const payer = createPayer();
  ledger.fund(payer.address, 100n * CENT);
  const payments = createPayments({
    facilitator,
    logger: { info() {}, warn() {}, error() {} },
    deadlines: PATIENT,
    ...LENIENT,
    ...options,
  });
  onTestFinished(() => payments.close());
  const runs: Run[] = [];
  const waiting: ((run: Run) => void)[] = [];
  const app = express().set("env", "test");
  app.use(payments.routes({ "GET /work": PRICED }));
  app.get("/work", (req, res, next) => {
    const run = { req, res, next, left: once(res, "close") };
    runs.push(run);
    waiting.shift()?.(run);
  });
  const url = `${await serve(app)}/work`;
  /** The next run of the handler. */
  const nextRun = () => new Promise<Run>((resolve) => void waiting.push(resolve));

  /** No handler will run for them: their requests were refused. */
  const forgetWaiting = () => {
    waiting.length = 0;
  };

  async function sign(by = payer): Promise<PaymentPayload> {
    const { challenge } = await pay(url);
    return by.signExact(challenge!.accepts[0]!, { challenge: challenge! });
  }
  /** A payment by a payer of its own, who has made no other one. */
  async function signAnew(): Promise<PaymentPayload> {
    const other = createPayer();
    ledger.fund(other.address, 100n * CENT);
    return await sign(other);
  }
  /** Sends a payment, and leaves when the handler runs; the response if it does not run. */
  async function leave(
    payment: PaymentPayload,
  ): Promise<Run | { readonly status: number; readonly retryAfter: number }> {
    const begun = nextRun();
    const sent = request(url, { headers: { "PAYMENT-SIGNATURE": encodePaymentSignature(payment) } });
    sent.on("error", () => {});
    const responded = new Promise<{ status: number; retryAfter: number }>((resolve) => {
      sent.on("response", (incoming) => {
        incoming.resume();
        resolve({ status: incoming.statusCode ?? 0, retryAfter: Number(incoming.headers["retry-after"]) });
      });
    });
    sent.end();
    const first = await Promise.race([begun, responded]);
    if ("status" in first) {
      forgetWaiting();
      return first;
    }
    sent.destroy();
    await first.left;
    return first;
  }
  /** Sends a payment and stays. */
  const stay = (payment: PaymentPayload) => pay(url, { payment });
  return { facilitator, ledger, payer, payments, url, runs, nextRun, forgetWaiting, sign, signAnew, leave, stay };
}

/** A node that knows balances only. */
async function openNode(balanceOf: (address: `0x${string}`) => bigint) {
  const node = { isDown: false, asked: 0 };
  const word = (value: bigint) => `0x${value.toString(16).padStart(64, "0")}`;
  const hash = word(7n);
  const server = createServer((req, res) => {
    let text = "";
    req.setEncoding("utf8").on("data", (data: string) => {
      text += data;
    });
    req.on("end", () => {
      node.asked += 1;
      if (node.isDown) return void res.writeHead(503).end();
      const { id, method, params } = JSON.parse(text);
      const results: Record<string, () => unknown> = {
        eth_chainId: () => "0x14a34",
        eth_getBlockByNumber: () => ({ number: "0x1", hash, timestamp: "0x1" }),
        eth_call: () => word(balanceOf(`0x${params[0].data.slice(-40)}`)),
      };
      res.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method]?.() }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { node, rpc: { "eip155:84532": `http://127.0.0.1:${port}` } as const };
}

describe.each(VERSIONS)("on %s", (name, express) => {
  const WRITTEN: [what: string, write: (run: Run) => unknown][] = [
    ["the beginning of its body", ({ res }) => res.write("[")],
    ["the head of a stream", ({ res }) => res.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders()],
    ["the beginning of its body, and calls next", ({ res, next }) => [res.write("["), next()]],
  ];
  const serverOf = ({ req }: Run) => Reflect.get(req.socket, "server") as Server;
  const UPGRADE = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  const LEAVING: [how: string, leave: (line: Socket, run: Run) => unknown][] = [
    ["a CONNECT", (line) => line.write("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n")],
    [
      "an Upgrade that the server refuses",
      (line, run) => [serverOf(run).once("upgrade", (_req, socket) => socket.destroy()), line.write(UPGRADE)],
    ],
    [
      "garbage that the server destroys the socket for",
      (line, run) => [
        serverOf(run).once("clientError", (_error, socket) => socket.destroy()),
        line.write("\0\r\n\r\n"),
      ],
    ],
    ["silence until the server times out", (_line, { req }) => req.socket.setTimeout(1)],
    [
      "the end of its requests, which the handler responds to",
      (line, { req, res }) => [req.socket.once("end", () => res.status(499).end()), line.end()],
    ],
  ];

  const LATE_ENDS: readonly (readonly [how: string, end: (run: Run) => unknown])[] = [
    ["ends its response", ({ res }) => res.json({ late: true })],
    ["passes an error on", ({ next }) => next(new Error("nobody listens"))],
    ["destroys its response", ({ res }) => res.destroy()],
  ];
  test("one payment whose client leaves each time runs its handler twice unpaid, and twice more after it was charged", async () => {
    const { leave, sign, runs, ledger } = await openWorkshop(express);
    const payment = await sign();
    const charged: number[] = [];
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      const left = await leave(payment);
      if ("status" in left) statuses.push(left.status);
      else charged.push(ledger.transfers.length);
    }
    expect([runs.length, charged]).toEqual([4, [0, 0, 1, 1]]);
    expect(statuses).toEqual(Array.from({ length: 4 }, () => 429));
  });
  test("a run whose handler has written something is abandoned, in whatever way its client leaves", async () => {
    const { url, signAnew, runs, nextRun, forgetWaiting, ledger } = await openWorkshop(express);
    const { hostname, port, pathname } = new URL(url);
    const cases = WRITTEN.flatMap(([what, write]) =>
      LEAVING.map(([how, end]) => ({ about: `${what}, ${how}`, write, end })),
    );
    // Every pair on one version of Express, and each way to leave on both.
    const chosen = name === "Express 5" ? cases : cases.filter((_pair, at) => Math.floor(at / 5) === (at % 5) % 3);
    for (const { about, write, end } of chosen) {
      const header = encodePaymentSignature(await signAnew());
      const [runsBefore, chargedBefore] = [runs.length, ledger.transfers.length];
      const charged: number[] = [];
      const refused: string[] = [];
      for (let attempt = 0; attempt < 6; attempt++) {
        const begun = nextRun();
        const line = connect(Number(port), hostname);
        onTestFinished(() => void line.destroy());
        line.on("error", () => {});
        const responded = once(line, "data").then(String);
        responded.catch(() => {});
        line.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`);
        const first = await Promise.race([begun, responded]);
        if (typeof first === "string") {
          forgetWaiting();
          refused.push(first.slice(0, 12));
          line.destroy();
          continue;
        }
        charged.push(ledger.transfers.length - chargedBefore);
        write(first);
        end(line, first);
        await first.left;
      }
      expect([runs.length - runsBefore, charged], about).toEqual([4, [0, 0, 1, 1]]);
      expect(refused, about).toEqual(["HTTP/1.1 429", "HTTP/1.1 429"]);
    }
  });

  test("a payment that was abandoned twice is settled before its handler runs, and its client gets the response with the receipt", async () => {
    const { leave, stay, sign, nextRun, ledger } = await openWorkshop(express);
    const payment = await sign();
    await leave(payment);
    await leave(payment);
    const run = nextRun();
    const staying = stay(payment);
    const { req, res } = await run;
    expect([ledger.transfers.length, req.payment?.amount]).toEqual([1, `${CENT}`]);
    res.json({ done: true });
    expect(await staying).toMatchObject({ status: 200, receipt: { success: true } });
    expect(await stay(payment)).toMatchObject({ status: 402 });
    expect(ledger.transfers).toHaveLength(1);
  });

  test("a payment that was abandoned twice and then gets an error runs once more", async () => {
    const { leave, stay, sign, nextRun, ledger } = await openWorkshop(express);
    const payment = await sign();
    await leave(payment);
    await leave(payment);
    for (const status of [500, 200]) {
      const run = nextRun();
      const staying = stay(payment);
      (await run).res.status(status).end();
      expect((await staying).status).toBe(status);
    }
    expect(ledger.transfers).toHaveLength(1);
  });

  test("a run whose handler destroys its response, or fails after it has written, is not counted as one whose client left", async () => {
    const { stay, sign, nextRun, ledger } = await openWorkshop(express, { maxRunsPerPayer: 1 });
    const payment = await sign();
    const fails: readonly ((run: Run) => unknown)[] = [
      ({ res }) => res.destroy(),
      ({ res, next }) => [res.write("a"), next(new Error("broken"))],
    ];
    for (const fail of [...fails, ...fails]) {
      const run = nextRun();
      const broken = stay(payment).catch(() => "broken");
      fail(await run);
      expect(await broken).toBe("broken");
    }
    expect(ledger.transfers).toHaveLength(0);
  });

  test("a run whose handler fails after it has written is not counted in an app that is mounted, nor behind an error handler", async () => {
    const { payments, payer, ledger } = await openWorkshop(express, { maxRunsPerPayer: 1 });
    const inner = express().get("/work", payments.charge(PRICED), (_req, res) => {
      res.write("a");
      throw new Error("broken");
    });
    inner.use((error: Error, _req: Request, res: Response, next: NextFunction) => {
      if (res.headersSent) next(error);
      else res.status(500).end();
    });
    const outer = express().set("env", "test").use("/inner", express.Router().use(inner));
    const url = `${await serve(outer)}/inner/work`;
    for (let attempt = 0; attempt < 4; attempt++) {
      expect(await pay(url, { payer }).catch(() => "broken")).toBe("broken");
    }
    expect(ledger.transfers).toHaveLength(0);
  });

  test("a payer's 12 payments at once run as many handlers as his balance can pay", async () => {
    const shop = { balanceOf: (_: `0x${string}`) => 0n };
    const { node, rpc } = await openNode((address) => shop.balanceOf(address));
    const { payer, ledger, runs, payments, sign, stay } = await openWorkshop(express, { rpc });
    shop.balanceOf = (address) => ledger.balanceOf(address);
    ledger.fund(payer.address, 3n * CENT - ledger.balanceOf(payer.address));
    let refused = 0;
    const allRefused = new Promise<void>((resolve) => {
      payments.on("denied", ({ by }) => {
        expect(by).toBe("balance");
        if (++refused === 9) resolve();
      });
    });
    const signed = await Promise.all(Array.from({ length: 12 }, () => sign()));
    const paid = signed.map(stay);
    await allRefused;
    expect(runs).toHaveLength(3);
    for (const { res } of runs) res.end();
    const statuses = (await Promise.all(paid)).map(({ status }) => status);
    expect([200, 429].map((status) => statuses.filter((one) => one === status).length)).toEqual([3, 9]);
    expect([ledger.transfers.length, ledger.balanceOf(payer.address), node.asked > 0]).toEqual([3, 0n, true]);
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("a payer who leaves with a new payment each time has maxRunsPerPayer runs until the payments expire", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { leave, sign, runs, payments, ledger } = await openWorkshop(express, { maxRunsPerPayer: 3 });
    const denied: string[] = [];
    payments.on("denied", ({ by }) => denied.push(by));
    const refused: number[] = [];
    for (let attempt = 0; attempt < 6; attempt++) {
      const left = await leave(await sign());
      if (!("status" in left)) continue;
      expect(left.status).toBe(429);
      refused.push(left.retryAfter);
    }
    expect([runs.length, refused.length, ledger.transfers.length]).toEqual([3, 3, 0]);
    for (const seconds of refused) expect(seconds).toBeGreaterThan(250);
    expect(new Set(denied)).toEqual(new Set(["maxRunsPerPayer"]));
    vi.setSystemTime(Date.now() + refused[0]! * 1000);
    expect(await leave(await sign())).toHaveProperty("res");
  });

  test("pipelined payments of a client that leaves count each, in all apps that share the payments", async () => {
    const { sign, url, runs, nextRun, payments, stay } = await openWorkshop(express, { maxRunsPerPayer: 3 });
    const { hostname, port, pathname } = new URL(url);
    const texts = [];
    for (let at = 0; at < 6; at++) {
      const header = encodePaymentSignature(await sign());
      texts.push(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`);
    }
    const denied = new Promise<void>((resolve) => {
      let left = 3;
      payments.on("denied", () => void (--left === 0 && resolve()));
    });
    const begun = Promise.all([nextRun(), nextRun(), nextRun()]);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write(texts.join(""));
    await Promise.all([denied, begun]);
    expect(runs).toHaveLength(3);
    socket.destroy();
    await runs[0]?.left;
    const other = express().get("/work", payments.charge(PRICED), (_req, res) => void res.json({}));
    expect((await stay(await sign())).status).toBe(429);
    const payment = await sign();
    expect((await pay(`${await serve(other)}/work`, { payment })).status).toBe(429);
    expect(runs).toHaveLength(3);
  });
  test.each(LATE_ENDS)(
    "a run whose client left counts until its payment has settled and its handler %s",
    async (_how, end) => {
      const { leave, stay, sign, nextRun } = await openWorkshop(express, { maxRunsPerPayer: 2 });
      const payment = await sign();
      const first = await leave(payment);
      if ("status" in first) throw new Error("the handler did not run");
      const again = nextRun();
      const staying = stay(payment);
      (await again).res.json({ done: true });
      expect((await staying).status).toBe(200);

      const second = nextRun();
      const other = stay(await sign());
      const { res } = await second;
      const refused = await stay(await sign());
      expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
      end(first);
      const third = nextRun();
      const served = stay(refused.payment!);
      (await third).res.end();
      res.end();
      expect([(await served).status, (await other).status]).toEqual([200, 200]);
    },
  );

  test("a request whose client leaves before its handler runs is no run", async () => {
    const { facilitator, stay, sign, url, runs, nextRun, payments } = await openWorkshop(express, {
      maxRunsPerPayer: 1,
    });
    const payment = await sign();
    for (let attempt = 0; attempt < 3; attempt++) {
      const verify = facilitator.faults.next("verify", { kind: "hold" });
      const cancelled = new Promise((resolve) => payments.on("cancelled", resolve));
      const sent = request(url, { headers: { "PAYMENT-SIGNATURE": encodePaymentSignature(payment) } });
      sent.on("error", () => {});
      sent.end();
      await verify.reached;
      sent.destroy();
      await new Promise((resolve) => sent.once("close", resolve));
      // Once a later connection has its response, the server has seen that this one is closed.
      await pay(url);
      verify.release();
      await cancelled;
    }
    expect(runs).toEqual([]);
    const run = nextRun();
    const staying = stay(payment);
    (await run).res.end();
    expect(await staying).toMatchObject({ status: 200, receipt: { success: true } });
  });

  test("a payer has one run at a time while the node does not respond", async () => {
    const { node, rpc } = await openNode(() => 0n);
    node.isDown = true;
    const { stay, sign, nextRun } = await openWorkshop(express, { rpc });
    for (let round = 0; round < 2; round++) {
      const run = nextRun();
      const first = stay(await sign());
      const { res } = await run;
      const second = await stay(await sign());
      expect([second.status, second.headers["retry-after"]]).toEqual([429, "1"]);
      res.end();
      expect((await first).status).toBe(200);
    }
  });
});
