/**
 * A payment that somebody rebuilds from the chain, over real HTTP: the payer still gets its response. And what one payment
 * buys of a seller's bandwidth.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createMemoryStore, type PaymentStore } from "@farebox/core";
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { RequestHandler, Response } from "express";
import { describe, expect, test } from "vitest";
import { NEWEST, openShop, PRICED, type Shop, type ShopPlan, until, type VERSIONS } from "./shop.js";

type ExpressModule = (typeof VERSIONS)[number][1];

const TOKEN = "payment-retry-token";
const UPFRONT = { "GET /paid": { ...PRICED, settle: "before" } } as const;

/** The token in a response. */
function tokenOf({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): string {
  expect(headers[TOKEN]).toMatch(/^[\w-]{43}$/);
  return String(headers[TOKEN]);
}

/** The payer, with its token. */
const proving = (token: string) => ({ headers: { [TOKEN]: token } });

const withId = (id: string) => ({ extensions: { "payment-identifier": { info: { id }, schema: {} } } });

/** A shop whose handler responds with the number of its run. */
async function openCounting(express: ExpressModule, plan: ShopPlan & { readonly pad?: number } = {}) {
  let runs = 0;
  const handler: RequestHandler = (_req, res) => void res.send(`run ${++runs}`.padEnd(plan.pad ?? 0, "."));
  return { shop: await openShop(express, { handler, ...plan }), runs: () => runs };
}

/** A payment that settled, although its client was told that this is not known. */
async function payUnknown(shop: Shop) {
  const { header } = await shop.sign();
  shop.facilitator.failNext("unknown");
  const told = await shop.ask({ payment: header });
  expect(told).toMatchObject({ status: 503, headers: { "retry-after": expect.any(String) } });
  return { header, told };
}

/** Somebody takes every copy that is to be had without proof. */
async function exhaust(shop: Shop, header: string): Promise<void> {
  // The first of them settles. Alone, so that the others do not find it in progress.
  await shop.ask({ payment: header });
  const strangers = await Promise.all(Array.from({ length: 20 }, () => shop.ask({ payment: header })));
  expect(strangers.filter(({ status }) => status === 200)).toHaveLength(15);
  for (const { status, headers } of strangers.filter((one) => one.status !== 200)) {
    expect([status, headers["retry-after"]]).toEqual([429, expect.stringMatching(/^[1-9]\d*$/)]);
    expect(headers).not.toHaveProperty(TOKEN);
  }
}

describe.each(NEWEST)("on %s, a payment whose outcome was unknown", (_, express) => {
  test("a client that knows no token gets its response although a stranger came first", async () => {
    const { shop, runs } = await openCounting(express);
    const { header } = await payUnknown(shop);
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "run 1" });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "run 1" });
    expect([runs(), shop.facilitator.settled.length]).toEqual([1, 1]);
  });

  test("a payer with its token gets its response although strangers have used up the copies", async () => {
    const { shop, runs } = await openCounting(express);
    const { header, told } = await payUnknown(shop);
    await exhaust(shop, header);
    const delivered = await shop.ask({ payment: header, ...proving(tokenOf(told)) });
    expect(delivered).toMatchObject({ status: 200, text: "run 1", receipt: { success: true } });
    expect([runs(), shop.facilitator.settled.length]).toEqual([1, 1]);
  });

  test("a stranger's made-up token, or that of another payment, proves nothing", async () => {
    const { shop } = await openCounting(express);
    const other = tokenOf((await payUnknown(shop)).told);
    const { header, told } = await payUnknown(shop);
    const token = tokenOf(told);
    await exhaust(shop, header);
    const made = createHmac("sha256", "guess").update(header).digest("base64url");
    const wrong = [other, made, "", "x", token.slice(1), `${token}A`, `${token}, ${token}`, token.toLowerCase()];
    for (const guess of wrong) expect((await shop.ask({ payment: header, ...proving(guess) })).status).toBe(429);
    expect((await shop.ask({ payment: header, ...proving(token) })).status).toBe(200);
  });

  test("a stranger who repeats it while the outcome is unknown gets no token", async () => {
    const { shop } = await openCounting(express);
    const { header, told } = await payUnknown(shop);
    shop.facilitator.failNext("unknown");
    const stranger = await shop.ask({ payment: header });
    expect(stranger.status).toBe(503);
    expect(stranger.headers).not.toHaveProperty(TOKEN);
    shop.facilitator.failNext("unknown");
    expect(tokenOf(await shop.ask({ payment: header, ...proving(tokenOf(told)) }))).toBe(tokenOf(told));
  });

  test("of strangers who repeat it at once, none gets a token", async () => {
    const { shop } = await openCounting(express);
    const { header } = await payUnknown(shop);
    shop.facilitator.failNext("unknown");
    const strangers = await Promise.all(Array.from({ length: 20 }, () => shop.ask({ payment: header })));
    for (const { headers } of strangers) expect(headers).not.toHaveProperty(TOKEN);
  });

  test.each([
    ["on a route that settles first", { routes: UPFRONT }],
    ["with a response too large to keep", { options: { holdBytes: 8 }, pad: 100 }],
  ])("a payer with its token gets a run of its own after a stranger's, %s", async (_what, plan) => {
    const { shop, runs } = await openCounting(express, plan);
    const { header, told } = await payUnknown(shop);
    const before = runs();
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200 });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 402 });
    const own = await shop.ask({ payment: header, ...proving(tokenOf(told)) });
    expect(own).toMatchObject({ status: 200, receipt: { success: true } });
    expect(own.text).toContain(`run ${before + 2}`);
    // One each, and no more.
    expect((await shop.ask({ payment: header, ...proving(tokenOf(told)) })).json()).toMatchObject({
      error: "answer_not_kept",
    });
    expect((await shop.ask({ payment: header })).status).toBe(402);
    expect([runs(), shop.facilitator.settled.length]).toEqual([before + 2, 1]);
  });

  test("a payer with its token needs no identifier on a payment that has one", async () => {
    const { shop } = await openCounting(express);
    const { payment } = await shop.sign();
    shop.facilitator.failNext("unknown");
    const told = await shop.ask({ payment: encodePaymentSignature({ ...payment, ...withId("0123456789abcdef") }) });
    expect(await shop.ask({ payment })).toMatchObject({ status: 503, challenge: undefined });
    expect(await shop.ask({ payment, ...proving(tokenOf(told)) })).toMatchObject({ status: 200, text: "run 1" });
  });

  test("a token reaches neither the handler nor the log, and scripts can read it", async () => {
    const seen: unknown[] = [];
    const note = (event: string, fields: object) => void seen.push(event, fields);
    let runs = 0;
    const { shop } = await openCounting(express, {
      options: { logger: { info: note, warn: note, error: note }, holdBytes: 2 },
      handler(req, res) {
        seen.push(req.headers, req.rawHeaders, req.headersDistinct);
        res.send(`run ${++runs}`);
      },
    });
    const { header, told } = await payUnknown(shop);
    const token = tokenOf(told);
    expect(told.headers["access-control-expose-headers"]).toContain("PAYMENT-RETRY-TOKEN");
    expect(await shop.ask({ payment: header, ...proving(token) })).toMatchObject({ status: 200, text: "run 2" });
    expect(seen.length).toBeGreaterThan(6);
    expect(JSON.stringify(seen)).not.toContain(token);
    expect(JSON.stringify(seen).toLowerCase()).not.toContain(TOKEN);
  });
});

describe.each(NEWEST)("on %s, a payment while it settles", (_, express) => {
  test("a stranger behind the same proxy gets nothing, and the payer its response", async () => {
    const { shop, runs } = await openCounting(express);
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("settle");
    const payer = shop.ask({ payment: header });
    const settle = await asked;
    const stranger = shop.ask({ payment: header });
    await shop.ask({ path: "/free" });
    settle();
    expect(await payer).toMatchObject({ status: 200, text: "run 1" });
    const got = await stranger;
    expect(got).toMatchObject({ status: 402, challenge: { error: "payment_already_used" } });
    expect(got.headers).not.toHaveProperty(TOKEN);
    expect(runs()).toBe(1);
  });

  test.each(["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])(
    "a stranger gets nothing by writing the payer's address into %s",
    async (name) => {
      const { shop } = await openCounting(express);
      const { header } = await shop.sign();
      const asked = shop.facilitator.hold("settle");
      const payer = shop.ask({ payment: header, headers: { [name]: "203.0.113.7" } });
      const settle = await asked;
      const stranger = shop.ask({ payment: header, headers: { [name]: "203.0.113.7" } });
      await shop.ask({ path: "/free" });
      settle();
      expect([(await payer).status, (await stranger).status]).toEqual([200, 402]);
    },
  );

  test("a client whose connection broke gets its response when it repeats the payment meanwhile", async () => {
    let left: Promise<unknown> | undefined;
    const { shop } = await openCounting(express, {
      handler(_req, res) {
        left = once(res, "close");
        res.send("goods");
      },
    });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("settle");
    const line = await shop.connect(shop.request(header));
    const settle = await asked;
    line.socket.destroy();
    await left;
    const again = shop.ask({ payment: header });
    await shop.ask({ path: "/free" });
    settle();
    expect(await again).toMatchObject({ status: 200, text: "goods", receipt: { success: true } });
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a duplicate that came before is the payer's: its 409 has a token; one that came later has none", async () => {
    let respond = () => {};
    const { shop } = await openCounting(express, {
      options: { copyWaitMs: 0 },
      handler: (_req, res) => {
        respond = () => void res.send("goods");
      },
    });
    const { header } = await shop.sign();
    const verified = shop.facilitator.hold("verify");
    const first = shop.ask({ payment: header });
    const verify = await verified;
    const early = await shop.ask({ payment: header });
    expect(early).toMatchObject({ status: 409, headers: { "retry-after": "1" } });
    verify();
    const token = tokenOf(await shop.ask({ payment: header }));
    expect(token).toBe(tokenOf(early));
    const asked = shop.facilitator.hold("settle");
    shop.facilitator.failNext("unknown");
    while (shop.facilitator.verified.length === 0) await shop.ask({ path: "/free" });
    respond();
    const settle = await asked;
    const late = await shop.ask({ payment: header });
    expect(late.status).toBe(409);
    expect(late.headers).not.toHaveProperty(TOKEN);
    expect(tokenOf(await shop.ask({ payment: header, ...proving(token) }))).toBe(token);
    settle();
    await first;
  });
});

describe.each(NEWEST)("on %s, a handler of a settled payment that fails", (_, express) => {
  test("a payer with the token of its 500 gets the run that it is owed although a stranger came first", async () => {
    let runs = 0;
    const shop = await openShop(express, {
      routes: UPFRONT,
      handler: (_req, res) => void (++runs === 1 ? res.status(500).send("broken") : res.send(`run ${runs}`)),
    });
    const { header } = await shop.sign();
    const failed = await shop.ask({ payment: header });
    expect(failed).toMatchObject({ status: 500, receipt: { success: true } });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "run 2" });
    const own = await shop.ask({ payment: header, ...proving(tokenOf(failed)) });
    expect(own).toMatchObject({ status: 200, text: "run 3" });
    expect(own.headers).not.toHaveProperty(TOKEN);
    expect((await shop.ask({ payment: header, ...proving(tokenOf(failed)) })).status).toBe(409);
    expect([runs, shop.facilitator.settled.length]).toEqual([3, 1]);
  });
});

describe.each(NEWEST)("on %s, a response too large to keep", (_, express) => {
  test.each([
    [3 * 1024 * 1024, {}],
    [100, { holdBytes: 0 }],
  ])("a payment runs its handler twice when its client leaves before any of %i bytes is out", async (size, options) => {
    let runs = 0;
    const seen: Response[] = [];
    const waiting: Response[] = [];
    const shop = await openShop(express, {
      options,
      build(app, payments) {
        app.get("/first", (_req, res) => void waiting.push(res));
        app.use((req, res, next) => next(void (req.headers["payment-signature"] !== undefined && seen.push(res))));
        app.use(payments).get("/paid", (_req, res) => {
          runs += 1;
          res.send(Buffer.alloc(size, "x"));
        });
      },
    });
    const { header } = await shop.sign();
    for (let attempt = 1; attempt <= 6; attempt++) {
      const line = await shop.connect(`GET /first HTTP/1.1\r\nHost: shop\r\n\r\n${shop.request(header)}`);
      while (!seen[attempt - 1]?.writableEnded || shop.facilitator.settled.length === 0)
        await shop.ask({ path: "/free" });
      await shop.ask({ path: "/free" });
      const closed = once(waiting.at(-1)!.req.socket, "close");
      line.socket.destroy();
      await closed;
      await shop.ask({ path: "/free" });
    }
    const { status, headers } = await shop.ask({ payment: header });
    expect([status, Number(headers["retry-after"]) > 0]).toEqual([429, true]);
    expect([runs, shop.facilitator.settled.length]).toEqual([2, 1]);
  });
});

describe.each(NEWEST)("on %s, processes that share a store", (_, express) => {
  const SECRET = "a secret of at least 32 characters";

  /** A store that other processes can have, too: it is not known as a store in memory. */
  const createSharedStore = (): PaymentStore => {
    const { claim, find, transition, release, unfinished } = createMemoryStore();
    return { claim, find, transition, release, unfinished };
  };

  test.each([
    ["take each other's tokens if they have the same quoteSecret", SECRET, 200],
    ["do not take each other's tokens with different secrets", `another ${SECRET}`, 429],
    ["do not take each other's tokens without quoteSecret", undefined, 429],
  ])("%s", async (_what, quoteSecret, status) => {
    const store = createSharedStore();
    const one = await openCounting(express, { options: { store, quoteSecret: SECRET } });
    const options = { store, ...(quoteSecret === undefined ? {} : { quoteSecret }) };
    const two = await openCounting(express, { options });
    const { header, told } = await payUnknown(one.shop);
    // The facilitator of a test is in its process.
    await one.shop.ask({ payment: header });
    const strangers = Array.from({ length: 20 }, () => two.shop.ask({ payment: header }));
    expect((await Promise.all(strangers)).filter(({ text }) => text === "run 1")).toHaveLength(16);
    expect((await two.shop.ask({ payment: header, ...proving(tokenOf(told)) })).status).toBe(status);
    expect((await one.shop.ask({ payment: header, ...proving(tokenOf(told)) })).status).toBe(200);
  });

  test("a token of a process with its own store in memory proves nothing to another process", async () => {
    const one = await openCounting(express, { options: { quoteSecret: SECRET } });
    const two = await openCounting(express, { options: { quoteSecret: SECRET } });
    const { header, told } = await payUnknown(one.shop);
    await exhaust(one.shop, header);
    two.shop.facilitator.failNext("unknown");
    expect((await two.shop.ask({ payment: header, ...proving(tokenOf(told)) })).status).not.toBe(200);
    const { headers } = await two.shop.ask({ payment: header });
    const foreign = String(headers[TOKEN] ?? "none");
    expect((await one.shop.ask({ payment: header, ...proving(foreign) })).status).toBe(429);
  });
});

describe.each(NEWEST)("on %s, copies of one response", (_, express) => {
  const LARGE = Buffer.alloc(512 * 1024, "x");

  test("of 60 duplicates at once, seventeen get the response, and the others a short one with Retry-After", async () => {
    let respond = () => {};
    let waiting = 0;
    const startMs = Date.now();
    const { shop } = await openCounting(express, {
      // No time passes: only the first response ends the wait.
      options: { now: () => startMs, timer: () => () => {} },
      before: [(req, _res, next) => next(void (req.headers["payment-signature"] !== undefined && ++waiting))],
      handler: (_req, res) => {
        respond = () => void res.send(LARGE);
      },
    });
    const { header } = await shop.sign();
    const verified = shop.facilitator.hold("verify");
    const all = Array.from({ length: 60 }, () => shop.ask({ payment: header }));
    const verify = await verified;
    await until(() => waiting === 60);
    verify();
    await until(() => shop.facilitator.verified.length > 0);
    await shop.ask({ path: "/free" });
    respond();
    const responses = await Promise.all(all);
    const whole = responses.filter(({ body }) => body.byteLength === LARGE.byteLength);
    expect(whole).toHaveLength(17);
    for (const { status, headers, body } of responses.filter((one) => !whole.includes(one))) {
      expect([status, headers["retry-after"]]).toEqual([409, "1"]);
      expect(body.byteLength).toBeLessThan(1000);
    }
  });

  test("a response that is fetched by identifier is sent sixteen times, and then 429 with Retry-After", async () => {
    const { shop } = await openCounting(express, { handler: (_req, res) => void res.send(LARGE) });
    const { payment } = await shop.sign();
    const header = encodePaymentSignature({ ...payment, ...withId("0123456789abcdef") });
    expect((await shop.ask({ payment: header })).status).toBe(200);
    const copies = await Promise.all(Array.from({ length: 60 }, () => shop.ask({ payment: header })));
    expect(copies.filter(({ status }) => status === 200)).toHaveLength(16);
    const { status, headers, text } = copies.find((one) => one.status !== 200)!;
    expect([status, Number(headers["retry-after"]) > 0]).toEqual([429, true]);
    expect(JSON.parse(text)).toMatchObject({ error: "too_many_copies", message: expect.stringContaining("later") });
  });
});
