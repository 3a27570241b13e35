import { once } from "node:events";
import { createMemoryStore, type PaymentStore } from "@farebox/core";
import type { PaymentsOptions } from "@farebox/express";
import type { Request, RequestHandler, Response } from "express";
import { describe, expect, test } from "vitest";
import { expectNoStrayErrors, type Line, openShop, VERSIONS } from "./shop.js";

describe.each(VERSIONS)("on %s, a connection", (name, express) => {
  test("a connection gets the responses to several paid requests in order", async () => {
    const handler: RequestHandler = (req, res) => {
      res.write("bought ");
      res.end(String(req.query["n"]));
    };
    const shop = await openShop(express, { handler });
    const requests = [];
    for (const n of [1, 2, 3]) requests.push(shop.request((await shop.sign(`/paid?n=${n}`)).header, `/paid?n=${n}`));
    const line = await shop.connect(requests.join(""));
    // Node 26 joins writes of one tick into one chunk.
    await line.until("3\r\n0\r\n\r\n");
    expect(line.received().match(/HTTP\/1\.1 200|[123]\r\n0\r\n/g)).toEqual(
      ["1", "2", "3"].flatMap((n) => ["HTTP/1.1 200", `${n}\r\n0\r\n`]),
    );
    expect(shop.facilitator.settled).toHaveLength(3);
  });

  test("an event stream stays open until the client disconnects, and the handler hears of that", async () => {
    const left: string[] = [];
    const shop = await openShop(express, {
      handler: (_req, res) => {
        res.writeHead(200, { "Content-Type": "text/event-stream" });
        res.flushHeaders();
        res.write("data: 1\n\n");
        res.once("close", () => left.push("client"));
      },
    });
    const { header } = await shop.sign();
    const requested = once(shop.server, "request");
    const line = await shop.connect(shop.request(header));
    const [, res] = await requested;
    expect(await line.until("data: 1")).toContain("PAYMENT-RESPONSE");
    line.socket.destroy();
    await once(res, "close");
    expect(left).toEqual(["client"]);
  });

  test("a pipelined payment whose client disconnects while its handler runs is not charged, and stays good", async () => {
    const { shop, first, leave } = await openPipeline(express);
    const aborted: AbortSignal[] = [];
    first.onPaid = (req) => void aborted.push(req.payment!.signal);
    const { header } = await shop.sign();
    const line = await shop.connect(FIRST + shop.request(header));
    await first.paid.given;
    await leave(line);
    expect(aborted.map((signal) => signal.aborted)).toEqual([true]);
    first.release();
    first.onPaid = (_req, res) => void res.send("sold");
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "sold" });
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;
  test("a connection carries one paid request after another", async () => {
    const shop = await openShop(express, { handler: (req, res) => void res.send(`bought ${String(req.query["n"])}`) });
    const line = await shop.connect("");
    for (const n of [1, 2, 3]) {
      const { header } = await shop.sign(`/paid?n=${n}`);
      line.socket.write(shop.request(header, `/paid?n=${n}`));
      await line.until(`bought ${n}`);
    }
    expect(shop.facilitator.settled).toEqual([10000n, 10000n, 10000n]);
  });

  test.each([
    ["is kept for the same payment", 100, { text: "sold" }],
    [
      "that is too large to keep is made again for the same payment",
      2,
      { challenge: { error: "payment_already_used" } },
    ],
  ])("a pipelined response whose client disconnects before it is out %s", async (_what, holdBytes, afterwards) => {
    const text = "sold";
    const { shop, first, leave } = await openPipeline(express, { holdBytes });
    first.onPaid = (_req, res) => void res.send(text);
    const { header } = await shop.sign();
    const line = await shop.connect(FIRST + shop.request(header));
    await first.paid.given;
    while (shop.facilitator.settled.length === 0) await shop.ask({ path: "/free" });
    await leave(line);
    expect(line.received()).toBe("");
    first.release();
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text, receipt: { success: true } });
    expect(await shop.ask({ payment: header })).toMatchObject(afterwards);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a kept response whose client disconnects from a pipeline again is kept again", async () => {
    const { shop, first, leave } = await openPipeline(express);
    first.onPaid = (_req, res) => void res.send("sold");
    const { header } = await shop.sign();
    for (let attempt = 0; attempt < 3; attempt++) {
      const replayed = once(shop.server, "request");
      const line = await shop.connect(FIRST + shop.request(header));
      await replayed;
      await first.paid.given;
      while (shop.facilitator.settled.length === 0) await shop.ask({ path: "/free" });
      await shop.ask({ path: "/free" });
      await leave(line);
    }
    first.release();
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "sold" });
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("20 payments at once get 20 responses", async () => {
    const shop = await openShop(express, { handler: (req, res) => void res.send(String(req.query["n"])) });
    const all = await Promise.all(Array.from({ length: 20 }, (_unused, n) => shop.pay({ path: `/paid?n=${n}` })));
    expect(all.map(({ status, text }) => [status, text])).toEqual(all.map((_unused, n) => [200, String(n)]));
    expect(shop.facilitator.settled).toHaveLength(20);
  });
});

const FIRST = "GET /first HTTP/1.1\r\nHost: shop\r\n\r\n";

/** A shop with a free route that responds when it is released: responses behind it in a pipeline wait. */
async function openPipeline(express: (typeof VERSIONS)[number][1], options: Partial<PaymentsOptions> = {}) {
  expectNoStrayErrors();
  const paid = createLatch();
  const waiting: Response[] = [];
  const first = {
    paid,
    onPaid: (_req: Request, _res: Response): void => {},
    release: () => waiting.map((res) => res.end("first")),
  };
  const shop = await openShop(express, {
    options,
    build: (app, payments) =>
      app
        .get("/first", (_req, res) => void waiting.push(res))
        .use(payments)
        .get("/paid", (req, res) => {
          paid.give();
          first.onPaid(req, res);
        }),
  });
  /** The client disconnects. Resolves when the server has noticed. */
  async function leave(line: Line): Promise<void> {
    const closed = once(waiting.at(-1)!.req.socket, "close");
    line.socket.destroy();
    await closed;
    await shop.ask({ path: "/free" });
  }
  return { shop, first, leave };
}

function createLatch() {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

describe.each(VERSIONS)("on %s, a store that fails", (name, express) => {
  /** A store that fails in one method from a given moment on. */
  function createFailingStore(method: "claim" | "find" | "transition" | "release" | "unfinished") {
    const working = createMemoryStore();
    let isBroken = false;
    const store: PaymentStore = {
      claim: (request) => working.claim(request),
      find: (identity) => working.find(identity),
      transition: (change) => working.transition(change),
      release: (identity, owner) => working.release(identity, owner),
      unfinished: () => working.unfinished(),
    };
    const fail = () => Promise.reject(new Error("secret of the store"));
    const work: (...args: never[]) => unknown = store[method];
    const choose = (...args: never[]) => (isBroken ? fail() : Reflect.apply(work, store, args));
    const breakDown = () => {
      isBroken = true;
    };
    return { store: { ...store, [method]: choose }, breakDown };
  }

  test.each(["claim", "transition"] as const)(
    "a store that fails at %s yields 503, ends no process and charges nothing",
    async (method) => {
      expectNoStrayErrors();
      const { store, breakDown } = createFailingStore(method);
      const shop = await openShop(express, { options: { store }, handler: (_req, res) => void res.send("sold") });
      breakDown();
      const response = await shop.pay();
      expect(response).toMatchObject({ status: 503, headers: { "retry-after": expect.any(String) } });
      expect(response.text).not.toMatch(/secret|sold/);
      expect(shop.facilitator.settled).toEqual([]);
      expect(await shop.ask({ path: "/free" })).toMatchObject({ status: 200 });
    },
  );

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("a store that fails after the client has disconnected raises no error", async () => {
    expectNoStrayErrors();
    const { store, breakDown } = createFailingStore("release");
    const shop = await openShop(express, { options: { store }, handler: (req) => void req.socket.destroy() });
    const { header } = await shop.sign();
    breakDown();
    const line = await shop.connect(shop.request(header));
    expect(await line.ended).toBe("");
    expect(await shop.ask({ path: "/free" })).toMatchObject({ status: 200 });
  });
});
