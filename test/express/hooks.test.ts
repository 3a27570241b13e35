/**
 * Hooks over real HTTP: API keys, allow lists, and denials.
 */
import { createPayments, type PaymentHooks } from "@farebox/express";
import { createPayer, createTestFacilitator } from "@farebox/testing";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { type ObservedPlan, openObservedShop } from "./observed-shop.js";
import { expectNoStrayErrors, onHeaders, openServer, PATIENT, PRICED, VERSIONS } from "./shop.js";

const QUIET = { info() {}, warn() {}, error() {} };

const KEY = { "X-API-Key": "k1" };

/** A client with a key need not pay. */
const apiKeys: PaymentHooks = {
  onRequest: ({ header }) => (header("x-api-key") === "k1" ? { grant: true } : undefined),
};

/** Responds with all headers it received, and whether it was paid. */
const telling: RequestHandler = (req, res) => {
  const seen = [req.headers, req.headersDistinct, req.rawHeaders];
  res.set("Cache-Control", "public, max-age=60").json({ paid: req.payment !== undefined, seen: JSON.stringify(seen) });
};

describe.each(VERSIONS)("on %s", (name, express) => {
  const open = (hooks: PaymentHooks, plan: ObservedPlan = {}) => {
    expectNoStrayErrors();
    return openObservedShop(express, { ...plan, options: { hooks } });
  };

  const THROWING: readonly (readonly [hook: keyof PaymentHooks, path: "/paid" | "/upfront", verified: number])[] = [
    ["onRequest", "/paid", 0],
    ["beforeVerify", "/paid", 0],
    ["afterVerify", "/paid", 1],
    ["beforeSettle", "/paid", 1],
    ["onRequest", "/upfront", 0],
    ["beforeVerify", "/upfront", 0],
    ["beforeSettle", "/upfront", 0],
  ];

  describe("onRequest with API keys", () => {
    test.each(["/paid", "/upfront"])(
      "onRequest lets an API key in at %s, and all other clients are asked to pay",
      async (path) => {
        const shop = await open(apiKeys, { handler: telling });
        const granted = await shop.ask({ path, headers: KEY });
        expect([granted.status, granted.json()]).toMatchObject([200, { paid: false }]);
        expect(granted.headers).not.toHaveProperty("payment-response");
        expect((await shop.ask({ path, headers: { "X-API-Key": "k2" } })).status).toBe(402);
        expect((await shop.pay({ path })).json()).toMatchObject({ paid: true });
        expect(shop.told().filter((type) => type === "granted")).toHaveLength(1);
        expect(shop.facilitator.settled).toHaveLength(1);
      },
    );

    test("a response granted to an API key is kept from shared caches", async () => {
      const shop = await open(apiKeys, { handler: telling });
      const { headers } = await shop.ask({ headers: KEY });
      expect(headers["cache-control"]).toMatch(/\bprivate\b/);
      expect(headers["cache-control"]).not.toMatch(/\bpublic\b/);
    });

    test("a payment sent with an API key stays unused, and the handler does not see it", async () => {
      const shop = await open(apiKeys, { handler: telling });
      const { header } = await shop.sign();
      const granted = await shop.ask({ payment: header, headers: KEY });
      expect(granted.text).not.toContain(header);
      expect(granted.text.toLowerCase()).not.toContain("payment-signature");
      expect([shop.facilitator.verified, shop.facilitator.settled]).toEqual([[], []]);
      expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, receipt: { success: true } });
    });

    test("onRequest is asked once, and the same request passes every further gate", async () => {
      let asked = 0;
      const onRequest: PaymentHooks["onRequest"] = (request) => {
        asked += 1;
        return apiKeys.onRequest?.(request);
      };
      const shop = await open(
        { onRequest },
        {
          also: (app, payments) =>
            app.get("/paid", payments.charge(PRICED), payments.routes({ "GET /paid": PRICED }), telling),
        },
      );
      expect((await shop.ask({ headers: KEY })).status).toBe(200);
      expect(asked).toBe(1);
      expect(shop.told()).toEqual(["granted"]);
    });

    test("the handler does not run when middleware has responded while onRequest decided", async () => {
      let asked = () => {};
      const wait = new Promise<void>((resolve) => {
        asked = resolve;
      });
      let runs = 0;
      const shop = await open(
        { onRequest: () => wait.then(() => ({ grant: true })) },
        {
          before: [
            (_req, res, next) => {
              next();
              res.status(503).end("too slow");
            },
          ],
          handler: () => void runs++,
        },
      );
      const granted = shop.next("granted");
      const response = await shop.ask();
      asked();
      await granted;
      await new Promise(setImmediate);
      expect([response.status, runs]).toEqual([503, 0]);
    });

    test("a response granted by onRequest may have its head written as ever", async () => {
      const shop = await open(apiKeys, {
        before: [onHeaders((res) => void res.setHeader("X-Seen", String(res.statusCode)))],
        handler: (_req, res) => void res.writeHead(201, "Made", { "X-Own": "1" }).end("made"),
      });
      const { status, headers, text } = await shop.ask({ headers: KEY });
      expect([status, headers["x-own"], headers["x-seen"], text]).toEqual([201, "1", "201", "made"]);
    });

    test("onRequest denies before the facilitator is asked", async () => {
      const shop = await open({ onRequest: () => ({ deny: "Keys only", status: 401 }) });
      const denied = await shop.ask();
      expect([denied.status, denied.json()]).toEqual([401, { error: "denied", message: "Keys only" }]);
      expect(denied.headers).toMatchObject({ "cache-control": "no-store" });
      expect(denied.headers).not.toHaveProperty("payment-required");
      expect(shop.told()).toEqual(["denied onRequest"]);
    });

    test("onRequest is not asked about free routes", async () => {
      const shop = await open({ onRequest: () => ({ deny: true }) }, { also: (app) => app.get("/free", telling) });
      expect((await shop.ask({ path: "/free" })).status).toBe(200);
    });
  });

  test("beforeSettle withholds a denied response, header and body, from the client and from duplicates", async () => {
    let isOpen = false;
    const shop = await open(
      { beforeSettle: () => (isOpen ? undefined : { deny: "Sold out", status: 410 }) },
      { handler: (_req, res) => void res.set({ "X-Goods": "1", "Set-Cookie": "goods=1" }).send("the goods") },
    );
    const { header } = await shop.sign();
    const verify = shop.facilitator.hold("verify");
    const asked = [shop.ask({ payment: header }), shop.ask({ payment: header })];
    (await verify)();
    for (const { status, headers, text } of await Promise.all(asked)) {
      expect([status, text]).toEqual([410, '{"error":"denied","message":"Sold out"}']);
      expect(headers).toMatchObject({ "cache-control": "no-store" });
      for (const name of ["x-goods", "set-cookie", "payment-response", "payment-required", "etag"]) {
        expect(headers).not.toHaveProperty(name);
      }
    }
    expect(shop.facilitator.settled).toEqual([]);
    isOpen = true;
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "the goods" });
    expect(shop.facilitator.settled).toEqual([10000n]);
  });

  test("any hook that throws denies: nothing is served and nothing is charged", async () => {
    let broken: keyof PaymentHooks | undefined;
    const by = (hook: keyof PaymentHooks) => () => {
      if (broken === hook) throw new TypeError("the seller's secret");
    };
    const shop = await open(Object.fromEntries(THROWING.map(([hook]) => [hook, by(hook)])));
    const headers = { "/paid": (await shop.sign()).header, "/upfront": (await shop.sign("/upfront")).header };
    for (const [at, [hook, path, verified]] of THROWING.entries()) {
      const about = `${hook} at ${path}`;
      const before = shop.facilitator.verified.length;
      broken = hook;
      const denied = await shop.ask({ path, payment: headers[path] });
      expect([denied.status, denied.headers["cache-control"]], about).toEqual([403, "no-store"]);
      expect(denied.text, about).not.toMatch(/goods|secret/);
      expect([shop.facilitator.verified.length - before, shop.facilitator.settled], about).toEqual([verified, []]);
      const failures = shop.log.filter((line) => (line as { event: string }).event === "hook_failed");
      expect(failures, about).toHaveLength(at + 1);
      expect(failures.at(-1), about).toEqual({ event: "hook_failed", hook, error: "TypeError" });
    }
    broken = undefined;
    for (const [path, payment] of Object.entries(headers)) {
      expect(await shop.ask({ path, payment })).toMatchObject({ status: 200, text: "goods" });
    }
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("afterVerify denies payers that are not on its list", async () => {
    const [friend, stranger] = [createPayer(), createPayer()];
    const facilitator = createTestFacilitator();
    for (const { address } of [friend, stranger]) facilitator.ledger.fund(address, 1_000_000n);
    const hooks: PaymentHooks = {
      afterVerify: async ({ payer }) => (payer === friend.address ? undefined : { deny: "Members only" }),
    };
    let runs = 0;
    const shop = await openServer(express, (app) => {
      app.use(
        createPayments({ facilitator, hooks, logger: QUIET, deadlines: PATIENT }).routes({ "GET /paid": PRICED }),
      );
      app.get("/paid", (_req, res) => {
        runs += 1;
        res.send("goods");
      });
    });
    const denied = await shop.pay({ payer: stranger });
    expect([denied.status, denied.json()]).toEqual([403, { error: "denied", message: "Members only" }]);
    expect([runs, facilitator.ledger.transfers]).toEqual([0, []]);
    expect((await shop.pay({ payer: friend })).text).toBe("goods");
    expect([runs, facilitator.ledger.transfers.length]).toEqual([1, 1]);
  });

  test.each(["throws", "rejects"])(
    "a client gets what it has paid for when a hook that only listens %s",
    async (how) => {
      const fail = () => {
        if (how === "throws") throw new TypeError("the seller's secret");
        return Promise.reject(new TypeError("the seller's secret"));
      };
      const shop = await open({ afterSettle: fail, onSettleUnknown: fail, onCancel: fail });
      expect(await shop.pay()).toMatchObject({ status: 200, text: "goods", receipt: { success: true } });
      const { header } = await shop.sign();
      shop.facilitator.failNext("unknown");
      expect((await shop.ask({ payment: header })).status).toBe(503);
      expect((await shop.ask({ payment: header })).text).toBe("goods");
      expect(shop.log.filter((line) => (line as { event: string }).event === "hook_failed")).toHaveLength(3);
      expect(JSON.stringify(shop.log)).not.toContain("secret");
    },
  );
});
