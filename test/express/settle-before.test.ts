import { once } from "node:events";
import type { PaymentHooks } from "@farebox/express";
import type { RequestHandler, Response } from "express";
import { describe, expect, test } from "vitest";
import { createLatch } from "../faults/latch.js";
import { expectNoStrayErrors, NEWEST, onHeaders, openShop, PRICED, type ShopPlan, VERSIONS } from "./shop.js";

type ExpressModule = (typeof VERSIONS)[number][1];

const ROUTES = { "GET /paid": { ...PRICED, settle: "before" } } as const;

/** A shop that is paid first, and counts how often its handler runs. */
async function openPrepaid(express: ExpressModule, handler: RequestHandler, plan: ShopPlan = {}) {
  expectNoStrayErrors();
  const runs: Response[] = [];
  const shop = await openShop(express, {
    routes: ROUTES,
    ...plan,
    handler(req, res, next) {
      runs.push(res);
      return handler(req, res, next);
    },
  });
  return { shop, runs };
}

describe.each(VERSIONS)("on %s, a route that is settled before its handler", (_, express) => {
  test("a handler that is settled first begins when the money has moved, and has the receipt on the response", async () => {
    const seen: unknown[] = [];
    const { shop } = await openPrepaid(express, (_req, res) => {
      seen.push(shop.facilitator.settled.length, res.getHeader("PAYMENT-RESPONSE"), res.headersSent);
      res.json({ paid: true });
    });
    const paid = await shop.pay();
    expect(paid).toMatchObject({ status: 200, receipt: { success: true }, headers: { "cache-control": "private" } });
    expect(paid.json()).toEqual({ paid: true });
    expect(paid.headers["access-control-expose-headers"]).toContain("PAYMENT-RESPONSE");
    expect(seen).toEqual([1, paid.headers["payment-response"], false]);
    expect(shop.facilitator.verified).toEqual([]);
  });

  test("a duplicate of a request whose handler runs gets 409 without a challenge, and what is owed when it has failed", async () => {
    const begun = createLatch();
    const { shop, runs } = await openPrepaid(express, (_req, res) => {
      begun.open();
      if (runs.length > 1) res.send("bought");
    });
    const { header } = await shop.sign();
    const first = shop.ask({ payment: header });
    await begun.opened;
    const duplicate = await shop.ask({ payment: header });
    expect([duplicate.status, duplicate.json(), duplicate.challenge]).toMatchObject([
      409,
      { error: "payment_in_progress" },
      undefined,
    ]);
    runs[0]?.sendStatus(500);
    expect((await first).status).toBe(500);
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "bought" });
    expect([runs.length, shop.facilitator.settled.length]).toEqual([2, 1]);
    expect(await shop.ask({ payment: header })).toMatchObject({ challenge: { error: "payment_already_used" } });
  });

  test.each<[string, number, RequestHandler]>([
    ["a thrown error", 500, () => fail()],
    ["next(error)", 500, (_req, _res, next) => next(new Error("broken"))],
    ["a 503", 503, (_req, res) => res.sendStatus(503)],
    ["a 500 by writeHead, in pieces", 500, (_req, res) => [res.writeHead(500), res.write("a"), res.end("b")]],
  ])(
    "a handler that is settled first and responds with %s runs once more for the same payment, and no third time",
    async (_what, status, handler) => {
      const { shop, runs } = await openPrepaid(express, handler);
      const { header } = await shop.sign();
      for (const attempt of [1, 2]) {
        expect(await shop.ask({ payment: header })).toMatchObject({ status, receipt: { success: true } });
        expect(runs).toHaveLength(attempt);
      }
      expect(await shop.ask({ payment: header })).toMatchObject({ challenge: { error: "payment_already_used" } });
      expect(runs).toHaveLength(2);
      expect(shop.facilitator.settled).toHaveLength(1);
    },
  );
});

describe.each(NEWEST)("on %s, a route that is settled before its handler", (_, express) => {
  test("a route that settles first says so in its offers", async () => {
    const { shop } = await openPrepaid(express, (_req, res) => void res.send("a"));
    expect((await shop.ask()).challenge?.accepts).toMatchObject([{ extra: { paymentFlow: "upfront" } }]);
  });

  test("a response that is settled first streams: each event arrives before the next is written", async () => {
    const { shop, runs } = await openPrepaid(express, (_req, res) => {
      res.type("text/event-stream").write("data: first\n\n");
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    expect(await line.until("data: first")).toContain("PAYMENT-RESPONSE: ");
    runs[0]?.write("data: second\n\n");
    await line.until("data: second");
    runs[0]?.end("data: last\n\n");
    await line.until("0\r\n\r\n");
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test.each<[string, RequestHandler, cacheControl: string]>([
    ["set", (_req, res) => void res.set("Cache-Control", "public, max-age=60").send("a"), "private, max-age=60"],
    ["writeHead", (_req, res) => void res.writeHead(200, { "cache-control": "no-store" }).end("a"), "no-store"],
    ["a list in writeHead", (_req, res) => void res.writeHead(200, ["Cache-Control", "public"]).end("a"), "private"],
    ["flush", (_req, res) => [res.flushHeaders(), res.end("a")], "private"],
    ["removal", (_req, res) => [res.removeHeader("PAYMENT-RESPONSE"), res.send("a")], "private"],
    ["forgery", (_req, res) => void res.writeHead(200, { "Payment-Response": "forged" }).end("a"), "private"],
  ])(
    "a response that is settled first stays private and keeps its receipt when the handler sets headers by %s",
    async (_how, handler, expected) => {
      const { shop } = await openPrepaid(express, handler);
      const paid = await shop.pay();
      expect(paid).toMatchObject({ status: 200, text: "a", receipt: { success: true } });
      expect(paid.headers["cache-control"]).toMatch(new RegExp(`^${expected}`));
      expect(paid.headers["cache-control"]).not.toContain("public");
    },
  );

  test.each(["before", "behind"])(
    "a response that is settled first works with a session mounted %s us",
    async (place) => {
      const session = onHeaders((res) => res.cookie("session", "7").set("Cache-Control", "public"));
      const { shop } = await openPrepaid(express, (_req, res) => void res.send("a"), { [place]: [session] });
      const paid = await shop.pay();
      expect(paid.headers["set-cookie"]).toEqual(["session=7; Path=/"]);
      expect(paid).toMatchObject({ receipt: { success: true }, headers: { "cache-control": "private" } });
    },
  );

  test("a handler that is settled first and fails once sells with the same payment, and no other request gets it", async () => {
    let isBroken = true;
    const { shop, runs } = await openPrepaid(express, (_req, res) => {
      if (isBroken) fail();
      res.send("bought");
    });
    const { header } = await shop.sign();
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 500 });
    expect(await shop.ask({ payment: header, path: "/paid?other" })).toMatchObject({ status: 402 });
    isBroken = false;
    const responses = await Promise.all(Array.from({ length: 10 }, () => shop.ask({ payment: header })));
    expect(responses.filter(({ status, text }) => status === 200 && text === "bought")).toHaveLength(1);
    expect(runs).toHaveLength(2);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test.each<[string, number, RequestHandler]>([
    ["a 404", 404, (_req, res) => res.sendStatus(404)],
    ["a 499", 499, (_req, res) => res.sendStatus(499)],
  ])(
    "a response that is settled first is delivered as it is, with the receipt, when the handler responds with %s",
    async (_what, status, handler) => {
      const { shop } = await openPrepaid(express, handler);
      const { header } = await shop.sign();
      const response = await shop.ask({ payment: header });
      expect(response).toMatchObject({ status, receipt: { success: true } });
      expect(response.challenge).toBeUndefined();
      expect(await shop.ask({ payment: header })).toMatchObject({ challenge: { error: "payment_already_used" } });
      expect(shop.facilitator.settled).toHaveLength(1);
    },
  );

  test("onHandlerFailed hears of each failure after the money moved, and whether the payment is owed another run", async () => {
    const heard: unknown[] = [];
    const hooks: PaymentHooks = {
      onHandlerFailed: ({ payer, amount }, { status, owesRun, receipt }) =>
        void heard.push([payer, amount, status, owesRun, receipt.transaction]),
    };
    const statuses = [500, 404, 503, 500, 204];
    const { shop, runs } = await openPrepaid(express, (_req, res) => void res.sendStatus(statuses.shift()!), {
      options: { hooks },
    });
    const [first, second] = [await shop.sign(), await shop.sign()];
    const sent = [first, first, second, second].map(
      ({ header }) =>
        () =>
          shop.ask({ payment: header }),
    );
    const got = [];
    for (const send of sent) got.push(await send());
    expect(got.map(({ status }) => status)).toEqual([500, 404, 503, 500]);
    const [one, , two] = got.map(({ receipt }) => receipt?.transaction);
    const { address } = shop.payer;
    expect(heard).toEqual([
      [address, "10000", 500, true, one],
      [address, "10000", 404, false, one],
      [address, "10000", 503, true, two],
      [address, "10000", 500, false, two],
    ]);
    expect(await shop.pay()).toMatchObject({ status: 204 });
    expect([heard.length, runs.length]).toEqual([4, 5]);
  });

  test.each<[string, NonNullable<PaymentHooks["onHandlerFailed"]>, runs: number]>([
    ["gives the money back", async () => ({ refunded: true }), 1],
    ["says nothing", async () => undefined, 2],
    ["throws", () => fail(), 2],
    ["rejects", async () => fail(), 2],
    ["returns something else", (() => ({ refunded: "yes" })) as never, 2],
  ])(
    "a payment whose onHandlerFailed %s runs its handler the right number of times",
    async (_what, onHandlerFailed, expected) => {
      const { shop, runs } = await openPrepaid(express, (_req, res) => void res.sendStatus(500), {
        options: { hooks: { onHandlerFailed } },
      });
      const { header } = await shop.sign();
      for (let attempt = 1; attempt <= 2; attempt++) await shop.ask({ payment: header });
      expect(runs).toHaveLength(expected);
      expect(await shop.ask({ payment: header })).toMatchObject({ challenge: { error: "payment_already_used" } });
      expect(shop.facilitator.settled).toHaveLength(1);
    },
  );

  test.each<[string, NonNullable<PaymentHooks["onHandlerFailed"]>, runs: number]>([
    ["a refund", () => ({ refunded: true }), 1],
    ["no refund", () => undefined, 2],
  ])(
    "a run that a request without the payer's token got, and that failed with %s, leaves the payer's token the right number of runs",
    async (_what, onHandlerFailed, expected) => {
      const { shop, runs } = await openPrepaid(express, (_req, res) => void res.sendStatus(500), {
        options: { hooks: { onHandlerFailed } },
      });
      const { header } = await shop.sign();
      shop.facilitator.failNext("unknown");
      const pending = await shop.ask({ payment: header });
      const token = String(pending.headers["payment-retry-token"]);
      expect(await shop.ask({ payment: header })).toMatchObject({ status: 500 });
      await shop.ask({ payment: header, headers: { "payment-retry-token": token } });
      expect(runs).toHaveLength(expected);
    },
  );

  test("a conditional request that is settled first gets content", async () => {
    const { shop } = await openPrepaid(express, (_req, res) => void res.set("ETag", '"v1"').send("content"));
    const { header } = await shop.sign();
    const headers = { "If-None-Match": '"v1"', "If-Modified-Since": new Date(Date.now() + 1000).toUTCString() };
    expect(await shop.ask({ payment: header, headers })).toMatchObject({ status: 200, text: "content" });
  });

  test("ten duplicates at once run a handler that is settled first once, for one settlement", async () => {
    const { shop, runs } = await openPrepaid(express, (_req, res) => void res.send("once"));
    const { header } = await shop.sign();
    const responses = await Promise.all(Array.from({ length: 10 }, () => shop.ask({ payment: header })));
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => ![200, 402, 409].includes(status))).toEqual([]);
    expect(runs).toHaveLength(1);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a handler that is settled first does not run when settlement is rejected, and the challenge is fresh", async () => {
    const { shop, runs } = await openPrepaid(express, (_req, res) => void res.send("bought"));
    const { header } = await shop.sign();
    // Nothing is verified first, so the payer must have no money from the start.
    const funds = shop.facilitator.removeFunds();
    const refused = await shop.ask({ payment: header });
    expect(refused).toMatchObject({
      status: 402,
      receipt: { success: false, errorReason: "insufficient_funds" },
      challenge: { error: "insufficient_funds" },
      headers: { "cache-control": "no-store" },
    });
    expect(runs).toEqual([]);
    funds.refund();
    expect(await shop.pay()).toMatchObject({ status: 200, text: "bought" });
  });

  test.each(["unknown", "unsent"] as const)(
    "a settlement before the handler (%s) is 503, and the same payment again runs the handler once",
    async (ending) => {
      const { shop, runs } = await openPrepaid(express, (_req, res) => void res.send("bought"));
      const { header } = await shop.sign();
      shop.facilitator.failNext(ending);
      const pending = await shop.ask({ payment: header });
      expect(pending).toMatchObject({ status: 503, headers: { "retry-after": "5", "cache-control": "no-store" } });
      expect(pending.challenge).toBeUndefined();
      expect(runs).toEqual([]);
      expect(await shop.ask({ payment: header })).toMatchObject({
        status: 200,
        text: "bought",
        receipt: { success: true },
      });
      expect(await shop.ask({ payment: header })).toMatchObject({ status: 402 });
      expect(runs).toHaveLength(1);
      expect(shop.facilitator.settled).toHaveLength(1);
    },
  );

  test("a handler that is settled first runs for the same payment when the client disconnected during settlement", async () => {
    const { shop, runs } = await openPrepaid(express, (_req, res) => void res.send("bought"));
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("settle");
    const accepted = once(shop.server, "connection");
    const line = await shop.connect(shop.request(header));
    const settle = await asked;
    const [socket] = await accepted;
    line.socket.destroy();
    await once(socket, "close");
    settle();
    await shop.facilitator.untilSettled();
    await shop.ask({ path: "/free" });
    expect(runs).toEqual([]);
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "bought" });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 402 });
    expect(runs).toHaveLength(1);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a handler that is settled first is told when the client disconnects in the middle", async () => {
    const signals: AbortSignal[] = [];
    const { shop } = await openPrepaid(express, (req, res) => {
      signals.push(req.payment!.signal);
      res.write("begun");
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("begun");
    const [signal] = signals;
    line.socket.destroy();
    await once(signal!, "abort");
    expect(signal?.reason).toMatchObject({ code: "ERR_FAREBOX_PAYMENT_ABORTED", reason: "client_gone" });
    expect(await shop.ask({ payment: header })).toMatchObject({ challenge: { error: "payment_already_used" } });
  });
});

function fail(): never {
  throw new Error("broken");
}
