import { once } from "node:events";
import type { RequestHandler, Response } from "express";
import { describe, expect, test } from "vitest";
import { NEWEST, onHeaders, openShop, VERSIONS } from "./shop.js";

/** A session that keeps its content in a cookie, which goes out with any head. */
const session = onHeaders((res) => {
  const { content } = res.locals as { content?: string };
  if (content !== undefined) res.appendHeader("Set-Cookie", `session=${content}`);
  res.setHeader("X-Session", content ?? "empty");
});

/** A handler that sets everything that a replaced response must not keep. */
const lavish: RequestHandler = (_req, res) => {
  res.locals["content"] = "secret";
  res.statusMessage = "Lavish";
  res.cookie("a", "secret").cookie("b", "secret");
  res.set({
    ETag: '"secret"',
    "Content-Disposition": "attachment",
    "Content-Length": "6",
    "Content-Type": "text/plain",
  });
  res.set({ Trailer: "X-Sum", "Cache-Control": "public, max-age=60", "X-Request-Id": "handler" });
  res.removeHeader("Content-Length");
  res.addTrailers({ "X-Sum": "secret" });
  res.end("secret");
};

const requestId: RequestHandler = (_req, res, next) => {
  res.set("X-Request-Id", "7").statusMessage = "Ours";
  next();
};

/** Headers that do not come from the handler. */
const EXPECTED = [
  "access-control-expose-headers",
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "date",
  "payment-required",
  "payment-response",
  "x-content-type-options",
  "x-powered-by",
  "x-request-id",
];

describe.each(VERSIONS)("on %s, a settlement that is rejected", (_, express) => {
  test.each([
    ["before", { before: [requestId, session] }],
    ["behind", { before: [requestId], behind: [session] }],
  ])(
    "a rejected settlement leaves no header of the handler's, nor of a session mounted %s us",
    async (_where, plan) => {
      const shop = await openShop(express, { ...plan, handler: lavish });
      shop.facilitator.failNext("rejected");
      const refused = await shop.pay();

      expect(refused).toMatchObject({ status: 402, receipt: { success: false, errorReason: "insufficient_funds" } });
      expect(refused.challenge).toMatchObject({ error: "insufficient_funds" });
      expect(refused.json()).toEqual(refused.challenge);
      expect(refused.headers).toMatchObject({ "cache-control": "no-store", "x-request-id": "7" });
      expect(Object.keys(refused.headers).sort()).toEqual(EXPECTED);
      expect(refused.trailers).toEqual({});
      expect(JSON.stringify(refused)).not.toContain("secret");
    },
  );
});

describe.each(NEWEST)("on %s, a settlement that is rejected", (_, express) => {
  test("a rejected settlement has the reason phrase of a 402", async () => {
    const shop = await openShop(express, { before: [requestId], handler: lavish });
    const { header } = await shop.sign();
    shop.facilitator.failNext("rejected");
    const line = await shop.connect(shop.request(header));
    expect(await line.until("\r\n\r\n")).toMatch(/^HTTP\/1\.1 402 Payment Required\r\n/);
  });

  test("a rejected settlement replaces a response that streams, and leaves the connection in order", async () => {
    const shop = await openShop(express, {
      options: { holdBytes: 2 },
      handler: (_req, res) => {
        res.write("secret beyond what is held");
        res.once("close", () => res.end("secret end"));
      },
    });
    const { header } = await shop.sign();
    shop.facilitator.failNext("rejected");
    const line = await shop.connect(shop.request(header));
    await line.until("insufficient_funds");
    line.socket.write("GET /free HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(await line.until('{"free":true}')).not.toContain("secret");
  });

  test("a rejected settlement gives a fresh challenge that can be paid", async () => {
    const shop = await openShop(express, { handler: (_req, res) => void res.send("bought") });
    shop.facilitator.failNext("rejected");
    const { challenge } = await shop.pay();
    expect(challenge?.accepts).toHaveLength(1);
    expect(await shop.pay()).toMatchObject({ status: 200, text: "bought" });
  });

  test("a rejected settlement is final for its payment: the same refusal, and the handler does not run", async () => {
    let runs = 0;
    const shop = await openShop(express, { handler: (_req, res) => void res.send(`run ${++runs}`) });
    const { header } = await shop.sign();
    shop.facilitator.failNext("rejected");
    await shop.ask({ payment: header });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 402, receipt: { success: false } });
    expect(runs).toBe(1);
  });
});

describe.each(NEWEST)("on %s, a settlement whose outcome is unknown", (_, express) => {
  const responding: RequestHandler = (_req, res) => {
    res.locals["content"] = "secret";
    res.status(201).cookie("a", "secret").set("Cache-Control", "public, max-age=60").send("secret");
  };

  test.each(["unknown", "unsent"] as const)(
    "a settlement whose outcome is unknown (%s) yields 503 without a challenge, and nothing of the response",
    async (ending) => {
      const shop = await openShop(express, { before: [session], handler: responding });
      shop.facilitator.failNext(ending);
      const pending = await shop.pay();
      expect(pending).toMatchObject({ status: 503, headers: { "cache-control": "no-store", "retry-after": "5" } });
      expect(pending.headers).not.toHaveProperty("payment-required");
      expect(pending.headers).not.toHaveProperty("payment-response");
      expect(JSON.stringify(pending)).not.toMatch(/secret|own words/);
    },
  );

  test.each(["unknown", "unsent"] as const)(
    "a settlement whose outcome is unknown (%s) gives the stored response to the same payment",
    async (ending) => {
      let runs = 0;
      const shop = await openShop(express, {
        handler: (req, res, next) => {
          runs += 1;
          responding(req, res, next);
        },
      });
      const { header } = await shop.sign();
      shop.facilitator.failNext(ending);
      expect((await shop.ask({ payment: header })).status).toBe(503);

      const response = await shop.ask({ payment: header });
      expect(response).toMatchObject({ status: 201, text: "secret", receipt: { success: true } });
      expect(response.headers["set-cookie"]).toEqual(["a=secret; Path=/"]);
      expect(response.headers["cache-control"]).toBe("private, max-age=60");
      expect(response.headers["etag"]).toBeDefined();

      // Somebody else may have been first: it is kept.
      expect(await shop.ask({ payment: header })).toMatchObject({ status: 201, text: "secret" });
      expect(runs).toBe(1);
      expect(shop.facilitator.settled).toHaveLength(1);
    },
  );

  test.each<[string, RequestHandler]>([
    ["in pieces", (_req, res) => [res.write("a"), res.write("b"), res.end("c")]],
    ["with an explicit Transfer-Encoding", (_req, res) => res.set("Transfer-Encoding", "chunked").end("abc")],
    ["with trailers", (_req, res) => [res.set("Trailer", "X-Sum"), res.addTrailers({ "X-Sum": "1" }), res.end("abc")]],
  ])("a response %s is stored in a form that can go out whole", async (_what, handler) => {
    const shop = await openShop(express, { handler });
    const { header } = await shop.sign();
    shop.facilitator.failNext("unknown");
    await shop.ask({ payment: header });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "abc" });
  });

  test("the handler runs once more for a response too large to store, and nothing more is charged", async () => {
    let runs = 0;
    const handler: RequestHandler = (_req, res) => void res.send(`run ${++runs}`.repeat(10));
    const shop = await openShop(express, { handler, options: { holdBytes: 8 } });
    const { header } = await shop.sign();
    shop.facilitator.failNext("unknown");
    expect((await shop.ask({ payment: header })).status).toBe(503);
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "run 2".repeat(10) });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 402 });
    expect(shop.facilitator.settled).toHaveLength(1);
  });
});

describe.each(NEWEST)("on %s, a response whose delivery breaks off after settlement", (_, express) => {
  /** A shop whose client disconnects after settlement has begun: the response is paid for and cannot be delivered. */
  async function openBrokenOff() {
    const responses: Response[] = [];
    const shop = await openShop(express, {
      handler: (_req, res) => {
        responses.push(res);
        res.send(`run ${responses.length}`);
      },
    });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("settle");
    const line = await shop.connect(shop.request(header));
    const settle = await asked;
    const [res] = responses;
    line.socket.destroy();
    if (res !== undefined) await once(res, "close");
    settle();
    await shop.facilitator.untilSettled();
    await shop.ask({ path: "/free" });
    return { shop, header, responses };
  }

  test("a response whose delivery breaks off after settlement is given to the same payment, again and again", async () => {
    const { shop, header, responses } = await openBrokenOff();
    for (let copy = 0; copy < 2; copy++) {
      expect(await shop.ask({ payment: header })).toMatchObject({
        status: 200,
        text: "run 1",
        receipt: { success: true },
      });
    }
    expect(responses).toHaveLength(1);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a response whose delivery breaks off after settlement is not given to another request", async () => {
    const { shop, header } = await openBrokenOff();
    expect(await shop.ask({ payment: header, path: "/paid?other" })).toMatchObject({ status: 402 });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200 });
  });

  test("a response whose delivery breaks off after settlement is kept for as long as its delivery breaks off", async () => {
    // More than any kernel buffers.
    const body = Buffer.alloc(16 * 1024 * 1024, "x");
    let runs = 0;
    const shop = await openShop(express, {
      options: { holdBytes: body.length },
      handler: (_req, res) => {
        runs += 1;
        res.send(body);
      },
    });
    const { header } = await shop.sign();
    for (let attempt = 0; attempt < 3; attempt++) {
      const requested = once(shop.server, "request");
      const line = await shop.connect(shop.request(header));
      const [, res] = (await requested) as [unknown, Response];
      await line.until("PAYMENT-RESPONSE");
      line.socket.destroy();
      await once(res, "close");
    }
    const whole = await shop.ask({ payment: header });
    expect(whole.status).toBe(200);
    expect(whole.body.equals(body)).toBe(true);
    // Two broke off and two are whole. So much is sent for one payment, and no more for now.
    expect((await shop.ask({ payment: header })).status).toBe(200);
    expect((await shop.ask({ payment: header })).status).toBe(429);
    expect(runs).toBe(1);
    expect(shop.facilitator.settled).toHaveLength(1);
  });
});
