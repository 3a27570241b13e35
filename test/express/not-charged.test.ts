import { once } from "node:events";
import type { Chargeable } from "@farebox/express";
import express5, {
  type ErrorRequestHandler,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED, type Shop, type ShopPlan, VERSIONS } from "./shop.js";

interface Failure {
  readonly what: string;
  readonly status: number;
  readonly fail: (req: Request, res: Response, next: NextFunction) => unknown;
}

const RESPONDING: readonly Failure[] = [
  { what: "a 400", status: 400, fail: (_req, res) => res.status(400).json({ error: "no" }) },
  { what: "a 404 of no handler", status: 404, fail: (_req, _res, next) => next() },
  { what: "a 500 by sendStatus", status: 500, fail: (_req, res) => res.sendStatus(500) },
  { what: "a 503 after a write", status: 503, fail: (_req, res) => [res.write("a"), res.status(503).end()] },
  { what: "a redirect", status: 302, fail: (_req, res) => res.redirect("/paid") },
  { what: "a 303 by writeHead", status: 303, fail: (_req, res) => res.writeHead(303, { Location: "/paid" }).end() },
  { what: "a 304 of the handler's own", status: 304, fail: (_req, res) => res.status(304).end() },
  { what: "a missing file", status: 404, fail: (_req, res) => res.sendFile("/no/such/file") },
  { what: "a thrown error", status: 500, fail: throwing },
  { what: "next(error)", status: 500, fail: (_req, _res, next) => next(new Error("broken")) },
  {
    what: "a rejected promise",
    status: 500,
    // Express 4 leaves the promise to its maker.
    fail: (_req, _res, next) => Promise.reject(new Error("broken")).catch(next),
  },
];

function throwing(): never {
  throw new Error("broken");
}

function openEvents(res: Response): Response {
  return res.writeHead(200, { "Content-Type": "text/event-stream" });
}

/** Fails once, then works. */
function failOnce(fail: Failure["fail"]): RequestHandler {
  let runs = 0;
  return (req, res, next) => {
    runs += 1;
    return runs === 1 ? fail(req, res, next) : res.send("at last");
  };
}

/** Fails as the test says, and works at last. */
function failing() {
  const plan: { fail: Failure["fail"] | undefined; runs: number } = { fail: undefined, runs: 0 };
  const handler: RequestHandler = (req, res, next) => {
    plan.runs += 1;
    return plan.fail === undefined ? res.send("at last") : plan.fail(req, res, next);
  };
  return { plan, handler };
}

async function expectStillGood(shop: Shop, header: string): Promise<void> {
  expect(shop.facilitator.settled).toEqual([]);
  expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "at last" });
  expect(shop.facilitator.settled).toHaveLength(1);
}

test("a payment is not charged and stays good after an async handler that throws, on Express 5", async () => {
  const shop = await openShop(express5, { handler: failOnce(async () => throwing()) });
  const { header } = await shop.sign();
  expect(await shop.ask({ payment: header })).toMatchObject({ status: 500, receipt: { errorReason: "not_charged" } });
  await expectStillGood(shop, header);
});

describe.each(VERSIONS)("on %s, nothing is charged and the payment stays good", (_, express) => {
  test("a payment is not charged and stays good after every response that is an error, a redirect or unchanged", async () => {
    const { plan, handler } = failing();
    const shop = await openShop(express, { handler });
    const { header } = await shop.sign();
    for (const [at, { what, fail, status }] of RESPONDING.entries()) {
      plan.fail = fail;
      const response = await shop.ask({ payment: header });
      expect([response.status, plan.runs], what).toEqual([status, at + 1]);
      expect(response.receipt, what).toMatchObject({ success: false, errorReason: "not_charged", transaction: "" });
      expect([response.challenge, shop.facilitator.settled], what).toEqual([undefined, []]);
    }
    plan.fail = undefined;
    await expectStillGood(shop, header);
  });

  test("a payment is not charged and stays good after an error that the seller's own error handler responds to", async () => {
    const onError: ErrorRequestHandler = (error: Error, _req, res, _next) => void res.status(418).send(error.message);
    const handler = failOnce((_req, res) => [res.write("half a response"), throwing()]);
    const shop = await openShop(express, {
      build: (app, payments) => app.use(payments).use("/paid", handler).use(onError),
    });
    const { header } = await shop.sign();
    const response = await shop.ask({ payment: header });
    expect(response).toMatchObject({ status: 418, receipt: { errorReason: "not_charged" } });
    await expectStillGood(shop, header);
  });

  const WITHOUT_A_BYTE: readonly (readonly [what: string, fail: Failure["fail"]])[] = [
    ["writes and throws", (_req, res) => [res.write("half a response"), throwing()]],
    ["writes a head and throws", (_req, res) => [res.writeHead(200), throwing()]],
    ["flushes its headers and throws", (_req, res) => [res.flushHeaders(), throwing()]],
    ["flushes its headers, writes no byte and throws", (_req, res) => [res.flushHeaders(), res.write(""), throwing()]],
    [
      "writes a comment of an event stream and throws",
      (_req, res) => [openEvents(res).write(": hello\n\n"), throwing()],
    ],
    [
      "flushes, writes comments and fields that are no event, and throws",
      (_req, res) => {
        openEvents(res).flushHeaders();
        for (const text of [":", "data: not yet\n", "\nretry: 1000\r\nid: 1\rda", "tabase: 1\n\n"]) res.write(text);
        throwing();
      },
    ],
    ["destroys the response", (_req, res) => res.destroy()],
    ["destroys the response, then ends it", (_req, res) => res.destroy().end("too late")],
    ["destroys the socket", (req) => req.socket.destroy()],
    ["destroys the socket between writes", (req, res) => [res.write("a"), req.socket.destroy(), res.end("b")]],
  ];

  test("a payment is not charged and no byte goes out after every handler that breaks off", async () => {
    const { plan, handler } = failing();
    const shop = await openShop(express, { handler });
    const { header } = await shop.sign();
    for (const [at, [what, fail]] of WITHOUT_A_BYTE.entries()) {
      plan.fail = fail;
      const line = await shop.connect(shop.request(header));
      expect([await line.ended, plan.runs, shop.facilitator.settled], what).toEqual(["", at + 1, []]);
    }
    plan.fail = undefined;
    await expectStillGood(shop, header);
  });
});

describe.each(VERSIONS)("on %s, a response that ends before its Content-Length", (name, express) => {
  test("a response is replaced by a 500 and not charged if its handler ends it too early, in any way", async () => {
    const { plan, handler } = failing();
    const shop = await openShop(express, { handler });
    const { header } = await shop.sign();
    const early: readonly Failure["fail"][] = [
      (_req, res) => res.set("Content-Length", "1000").end("short"),
      (_req, res) => [res.writeHead(200, { "content-length": 10 }).write("short"), res.end()],
      (_req, res) => res.set("Content-Length", "1").end(),
    ];
    for (const [at, fail] of early.entries()) {
      plan.fail = fail;
      const response = await shop.ask({ payment: header });
      expect(response).toMatchObject({ status: 500, headers: { "content-type": expect.stringContaining("json") } });
      expect(response.json()).toMatchObject({ error: "unexpected_settle_error" });
      expect([plan.runs, shop.facilitator.settled]).toEqual([at + 1, []]);
    }
    plan.fail = undefined;
    await expectStillGood(shop, header);
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("a response of more than is held is replaced by a 500 and not charged if it ends too early", async () => {
    const handler = failOnce((_req, res) => res.set("Content-Length", "1000").end("short"));
    const shop = await openShop(express, { options: { holdBytes: 2 }, handler });
    const { header } = await shop.sign();
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 500 });
    await expectStillGood(shop, header);
  });

  test("a HEAD with a Content-Length and no body is charged", async () => {
    const shop = await openShop(express, {
      routes: { "/paid": PRICED },
      handler: (_req, res) => void res.set("Content-Length", "1000").end(),
    });
    expect(await shop.pay({ method: "HEAD" })).toMatchObject({ status: 200, receipt: { success: true } });
  });
});

describe.each(VERSIONS)("on %s, a route that says itself what is chargeable", (name, express) => {
  const routes = (chargeable: Chargeable) => ({ "GET /paid": { ...PRICED, chargeable } });

  function failingOnce(): Chargeable {
    let isFirst = true;
    return () => {
      if (!isFirst) return true;
      isFirst = false;
      throw new Error("broken");
    };
  }

  test("a 304 is never charged, even if everything is chargeable", async () => {
    const shop = await openShop(express, {
      routes: routes(() => true),
      handler: failOnce((_req, res) => res.status(304).end()),
    });
    const { header } = await shop.sign();
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 304, receipt: { success: false } });
    await expectStillGood(shop, header);
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("a route's own `chargeable` charges for a 404 and not for an empty 204", async () => {
    const shop = await openShop(express, {
      routes: routes(({ status }) => status === 200 || status === 404),
      handler: failOnce((_req, res) => res.sendStatus(204)),
    });
    const { header } = await shop.sign();
    const nothing = await shop.ask({ payment: header });
    expect(nothing).toMatchObject({ status: 204, receipt: { success: false, errorReason: "not_charged" } });
    await expectStillGood(shop, header);

    const missing = await openShop(express, {
      routes: routes(({ status }) => status === 404),
      handler: (_req, res) => void res.status(404).send("known to be missing"),
    });
    expect(await missing.pay()).toMatchObject({ status: 404, receipt: { success: true } });
    expect(missing.facilitator.settled).toHaveLength(1);
  });

  test("a client that has left is never charged, even if everything is chargeable", async () => {
    const shop = await openShop(express, {
      routes: routes(() => true),
      handler: failOnce((_req, res) => [res.write("half"), res.destroy(), res.end()]),
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    expect(await line.ended).toBe("");
    await expectStillGood(shop, header);
  });

  test.each<[what: string, handler: RequestHandler, status: number, text: string]>([
    [
      "an error handler's JSON",
      (_req, res) => [res.write("goods"), res.status(500).json({ sorry: 1 })],
      500,
      '{"sorry":1}',
    ],
    ["a text", (_req, res) => [res.write("goods"), res.status(500).end("sorry")], 500, "sorry"],
    ["sendStatus", (_req, res) => [res.writeHead(200), res.write("goods"), res.sendStatus(404)], 404, "Not Found"],
    ["a bare status", (_req, res) => [res.write("goods"), res.status(404), res.end()], 404, ""],
    [
      "a redirect to here",
      (_req, res) => [res.write("goods"), res.redirect("/paid")],
      302,
      "Found. Redirecting to /paid",
    ],
    [
      "too long a length",
      (_req, res) => [res.set("Content-Length", "99"), res.write("goods"), res.status(500).end("no")],
      500,
      "no",
    ],
    [
      "an encoded error",
      (_req, res) => [res.set("Content-Encoding", "gzip"), res.write("goods"), res.status(500).end("no")],
      500,
      "",
    ],
    [
      "a success after an error",
      (_req, res) => [res.status(503), res.write("sorry"), res.status(200), res.end()],
      503,
      "sorry",
    ],
  ])("what was written before the status of an error does not go out: %s", async (_what, handler, status, text) => {
    const shop = await openShop(express, { handler: failOnce(handler) });
    const { header } = await shop.sign();
    const response = await shop.ask({ payment: header });
    expect(response).toMatchObject({ status, text, receipt: { success: false, errorReason: "not_charged" } });
    await expectStillGood(shop, header);
  });

  test("a `chargeable` that throws charges nothing, and gives nothing", async () => {
    const shop = await openShop(express, {
      routes: routes(failingOnce()),
      handler: (_req, res) => void res.send("at last"),
    });
    const { header } = await shop.sign();
    const response = await shop.ask({ payment: header });
    expect(response).toMatchObject({ status: 500, receipt: undefined });
    expect(response.json()).toMatchObject({ error: "unexpected_settle_error" });
    await expectStillGood(shop, header);
  });
});

describe.each(VERSIONS)("on %s, a client that disconnects is not charged", (name, express) => {
  async function openAbandoned(handler: RequestHandler, plan: ShopPlan = {}) {
    let entered = (_res: Response): void => {};
    const running = new Promise<Response>((resolve) => {
      entered = resolve;
    });
    const shop = await openShop(express, {
      ...plan,
      handler: failOnce((req, res, next) => {
        entered(res);
        return handler(req, res, next);
      }),
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    return { shop, header, line, running };
  }

  test("a client that disconnects while the handler runs is not charged, and later writes go nowhere", async () => {
    const { shop, header, line, running } = await openAbandoned(() => {});
    const res = await running;
    line.socket.destroy();
    await once(res, "close");
    expect(res.status(200).write("late")).toBe(true);
    res.flushHeaders();
    res.end("later");
    await expectStillGood(shop, header);
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("a client that disconnects while the handler streams into the held response is not charged", async () => {
    const { shop, header, line, running } = await openAbandoned((_req, res) => void res.write("begun"));
    const res = await running;
    line.socket.destroy();
    await once(res, "close");
    await expectStillGood(shop, header);
  });

  test("a client that disconnects during verification is not charged, and the handler does not run", async () => {
    const shop = await openShop(express, { handler: (_req, res) => void res.send("at last") });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("verify");
    const accepted = once(shop.server, "connection");
    const line = await shop.connect(shop.request(header));
    const verify = await asked;
    const [socket] = await accepted;
    line.socket.destroy();
    await once(socket, "close");
    verify();
    await expectStillGood(shop, header);
  });

  test("a client that disconnects behind another response on the same connection is not charged", async () => {
    const slow: RequestHandler = (req, _res, next) => (req.path === "/slow" ? undefined : next());
    const shop = await openShop(express, { before: [slow], handler: failOnce((_req, res) => waiting.push(res)) });
    const waiting: Response[] = [];
    const { header } = await shop.sign();
    const accepted = once(shop.server, "connection");
    const line = await shop.connect(`GET /slow HTTP/1.1\r\nHost: a\r\n\r\n${shop.request(header)}`);
    const [socket] = await accepted;
    while (waiting.length === 0) await shop.ask({ path: "/free" });
    line.socket.destroy();
    await once(socket, "close");
    waiting[0]?.send("to no client");
    await expectStillGood(shop, header);
  });
});

describe.each(VERSIONS)("on %s, when the app has responded while the gate was deciding", (_, express) => {
  test("a payment stays good and the handler does not run when the app has responded while the gate was deciding", async () => {
    const responses: Response[] = [];
    const before: RequestHandler = (_req, res, next) => [responses.push(res), next()];
    const shop = await openShop(express, { before: [before], handler: (_req, res) => void res.send("at last") });
    const { header } = await shop.sign();
    const asked = shop.facilitator.hold("verify");
    const pending = shop.ask({ payment: header });
    const verify = await asked;
    responses.at(-1)?.status(503).send("timed out");
    expect(await pending).toMatchObject({ status: 503, text: "timed out" });
    verify();
    await shop.ask({ path: "/free" });
    await expectStillGood(shop, header);
  });

  test("a challenge is dropped when the app has responded while the gate was deciding", async () => {
    const before: RequestHandler = (req, res, next) => {
      next();
      if (req.path === "/paid") res.status(503).send("first");
    };
    // Asked, so that the gate takes its time.
    const shop = await openShop(express, {
      before: [before],
      options: { hooks: { onRequest: async () => undefined } },
    });
    expect(await shop.ask()).toMatchObject({ status: 503, text: "first" });
    expect(await shop.ask({ path: "/free" })).toMatchObject({ status: 200 });
  });
});
