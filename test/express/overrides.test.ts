/**
 * The handler sets the amount by a call. A header never does, and one that asks for another amount is no sale.
 */
import { setSettlementOverrides } from "@farebox/express";
import { setSettlementOverrides as setReferenceOverrides } from "@x402/express";
import type { RequestHandler, Response } from "express";
import { describe, expect, test } from "vitest";
import { NEWEST, onHeaders, openShop, PRICED, type ShopPlan, VERSIONS } from "./shop.js";

const OVERRIDE = JSON.stringify({ amount: "1" });
const WHOLE = JSON.stringify({ amount: "10000" });

/** Middleware that asks for another amount on the first paid request. */
function setOnce(): RequestHandler {
  let isSet = false;
  return (req, res, next) => {
    if (req.headers["payment-signature"] !== undefined && !isSet) {
      isSet = true;
      res.set("Settlement-Overrides", OVERRIDE);
    }
    next();
  };
}

describe.each(NEWEST)("on %s", (_, express) => {
  describe("a header Settlement-Overrides", () => {
    function watch() {
      const lines: string[] = [];
      const note = (event: string, { remedy }: Readonly<Record<string, unknown>>) =>
        void lines.push(`${event}: ${remedy}`);
      return { lines, logger: { info() {}, error: note, warn: note } };
    }

    const WAYS: [how: string, handler: RequestHandler, plan?: ShopPlan][] = [
      ["of the reference", (_req, res) => [setReferenceOverrides(res, { amount: "7" }), res.json({ a: 1 })]],
      ["that is no JSON", (_req, res) => void res.set("settlement-OVERRIDES", "junk").json({ a: 1 })],
      ["that is null", (_req, res) => void res.set("Settlement-Overrides", "null").json({ a: 1 })],
      ["without an amount", (_req, res) => void res.set("Settlement-Overrides", "{}").json({ a: 1 })],
      ["with a number", (_req, res) => void res.set("Settlement-Overrides", '{"amount":10000}').json({ a: 1 })],
      ["that is there twice", (_req, res) => void res.set("Settlement-Overrides", [WHOLE, OVERRIDE]).json({ a: 1 })],
      ["in writeHead", (_req, res) => void res.writeHead(200, { "Settlement-Overrides": OVERRIDE }).end('{"a":1}')],
      [
        "of a response that streams",
        (_req, res) => {
          res.set("Settlement-Overrides", OVERRIDE).flushHeaders();
          res.write('{"a":');
          res.end("1}");
        },
      ],
      [
        "in its trailers",
        (_req, res) => {
          res.write('{"a":');
          res.addTrailers({ "Settlement-Overrides": OVERRIDE });
          res.end("1}");
        },
      ],
      ["that middleware in front has set", (_req, res) => void res.json({ a: 1 }), { before: [setOnce()] }],
      [
        "of a response larger than what is held",
        (_req, res) => void res.set("Settlement-Overrides", OVERRIDE).json({ a: 1 }),
        { options: { holdBytes: 2 } },
      ],
    ];

    test.each<[how: string, handler: RequestHandler, plan?: ShopPlan]>(WAYS)(
      "a response with a Settlement-Overrides header %s is replaced by a 500, and its payment stays good",
      async (_how, handler, plan) => {
        const { lines, logger } = watch();
        let runs = 0;
        const failOnce: RequestHandler = (req, res, next) => (runs++ === 0 ? handler(req, res, next) : res.send("b"));
        const shop = await openShop(express, { ...plan, handler: failOnce, options: { ...plan?.options, logger } });
        const { header } = await shop.sign();
        const { status, headers, text } = await shop.ask({ payment: header });
        expect([status, headers["settlement-overrides"], JSON.parse(text)]).toEqual([
          500,
          undefined,
          { error: "unexpected_settle_error", message: expect.stringContaining("You were not charged") },
        ]);
        expect(shop.facilitator.settled).toEqual([]);
        for (const event of ["amount_in_header", "FAREBOX_OVERRIDE_IN_HEADER"]) {
          expect(lines).toContainEqual(
            expect.stringMatching(new RegExp(`^${event}: .*@farebox/express.*@x402/express`)),
          );
        }
        expect(await shop.ask({ payment: header })).toMatchObject({ status: 200, text: "b" });
        expect(shop.facilitator.settled).toEqual([10_000n]);
      },
    );

    /** Headers and trailers that the client gets, and what was logged. */
    async function collect(plan: ShopPlan, settle: "after" | "before") {
      const { lines, logger } = watch();
      const routes = { "GET /paid": { ...PRICED, settle } };
      const shop = await openShop(express, { ...plan, routes, options: { logger } });
      const { header } = await shop.sign();
      const line = await shop.connect(shop.request(header).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
      return { text: await line.ended, lines, shop };
    }

    const LATE: [how: string, plan: ShopPlan][] = [
      [
        "by middleware in front, as the head is sent",
        {
          before: [onHeaders((res) => res.setHeader("settlement-OVERRIDES", OVERRIDE).setHeader("X-Other", "kept"))],
          handler: (_req, res) => void res.send("sold"),
        },
      ],
      [
        "by appendHeader in middleware in front, as the head is sent",
        {
          before: [onHeaders((res) => res.appendHeader("Settlement-Overrides", OVERRIDE).setHeader("X-Other", "kept"))],
          handler: (_req, res) => void res.send("sold"),
        },
      ],
      [
        "in trailers, after its beginning has gone out",
        {
          async handler(_req, res) {
            res.flushHeaders();
            await new Promise((resolve) => {
              res.write("sold", resolve);
            });
            while (!res.socket?.bytesWritten) await new Promise((resolve) => setImmediate(resolve));
            res.addTrailers([
              ["Settlement-Overrides", OVERRIDE],
              ["X-Other", "kept"],
            ]);
            res.end();
          },
        },
      ],
    ];
    test.each(
      LATE.flatMap(([how, plan]) => (["after", "before"] as const).map((settle) => [how, settle, plan] as const)),
    )(
      "a Settlement-Overrides header that is set %s does not reach the client, with settle: %s",
      async (_how, settle, plan) => {
        const { text, shop } = await collect(plan, settle);
        expect(text).toMatch(/^HTTP\/1\.1 200[\s\S]*sold/);
        expect(text).not.toMatch(/settlement-overrides/i);
        expect(text).toContain("X-Other: kept");
        expect(shop.facilitator.settled).toEqual([10_000n]);
      },
    );

    test.each<[how: string, plan: ShopPlan]>([
      [
        "by middleware in front",
        {
          before: [(_req, res, next) => next(void res.set("Settlement-Overrides", OVERRIDE))],
          handler: (_req, res) => void res.send("sold"),
        },
      ],
      [
        "in trailers",
        {
          handler: (_req, res) => [
            res.write("so"),
            res.addTrailers({ "Settlement-Overrides": OVERRIDE }),
            res.end("ld"),
          ],
        },
      ],
      ...LATE,
    ])(
      "a Settlement-Overrides header that is set %s is reported where the money has moved before",
      async (_how, plan) => {
        const { text, lines } = await collect(plan, "before");
        expect(text).toMatch(/^HTTP\/1\.1 200[\s\S]*ld/);
        expect(text).not.toMatch(/settlement-overrides/i);
        expect(lines.join()).toContain("amount_in_header");
      },
    );

    test.each(["plainly", "as the head is sent"])(
      "a Settlement-Overrides header that middleware in front sets %s is on no challenge and no replacement",
      async (how) => {
        const set = (res: Response) => void res.setHeader("Settlement-Overrides", OVERRIDE);
        const plainly: RequestHandler = (_req, res, next) => next(set(res));
        const shop = await openShop(express, {
          before: [how === "plainly" ? plainly : onHeaders(set)],
          handler: (_req, res) => void res.send("sold"),
        });
        const challenged = await shop.ask();
        shop.facilitator.removeFunds();
        const replaced = await shop.pay();
        expect([challenged.status, replaced.status === 200]).toEqual([402, false]);
        for (const { headers } of [challenged, replaced]) expect(headers).not.toHaveProperty("settlement-overrides");
      },
    );

    test("a Settlement-Overrides header of an error goes nowhere, and the error goes out", async () => {
      const { lines, logger } = watch();
      const handler: RequestHandler = (_req, res) => {
        setReferenceOverrides(res, { amount: "7" });
        res.status(404).json({ a: 1 });
      };
      const shop = await openShop(express, { handler, options: { logger } });
      const { headers, status, json } = await shop.pay();
      expect([status, json(), headers["settlement-overrides"]]).toEqual([404, { a: 1 }, undefined]);
      expect(shop.facilitator.settled).toEqual([]);
      expect(lines).toContainEqual(expect.stringContaining("FAREBOX_OVERRIDE_IN_HEADER"));
    });

    test("a Settlement-Overrides header is reported and goes nowhere where the money has moved before", async () => {
      const { lines, logger } = watch();
      const handler: RequestHandler = (_req, res) => {
        setReferenceOverrides(res, { amount: "7" });
        res.json({ a: 1 });
      };
      const routes = { "GET /paid": { ...PRICED, settle: "before" } } as const;
      const shop = await openShop(express, { routes, handler, options: { logger } });
      const { headers, status, json } = await shop.pay();
      expect([status, json(), headers["settlement-overrides"]]).toEqual([200, { a: 1 }, undefined]);
      expect(shop.facilitator.settled).toEqual([10_000n]);
      expect(lines.join()).toMatch(
        /amount_in_header.*FAREBOX_OVERRIDE_IN_HEADER|FAREBOX_OVERRIDE_IN_HEADER.*amount_in_header/,
      );
    });

    test.each(["10000", "$0.01", "$0.010000", "100%", "100.00%"])(
      "a Settlement-Overrides header of the reference that asks for the whole price, %s, means nothing",
      async (amount) => {
        const { lines, logger } = watch();
        for (const settle of ["after", "before"] as const) {
          const handler: RequestHandler = (_req, res) => {
            setReferenceOverrides(res, { amount });
            res.json({ a: 1 });
          };
          const routes = { "GET /paid": { ...PRICED, settle } };
          const shop = await openShop(express, { routes, handler, options: { logger } });
          const { headers, status } = await shop.pay();
          expect([status, headers["settlement-overrides"]]).toEqual([200, undefined]);
          expect(shop.facilitator.settled).toEqual([10_000n]);
        }
        expect(lines.join()).not.toMatch(/header/i);
      },
    );

    test("a Settlement-Overrides header is not in a response that is given again", async () => {
      const handler: RequestHandler = (_req, res) => void res.set("Settlement-Overrides", WHOLE).send("a");
      const shop = await openShop(express, { handler });
      shop.facilitator.failNext("unknown");
      const { header } = await shop.sign();
      expect((await shop.ask({ payment: header })).status).toBe(503);
      const { status, headers } = await shop.ask({ payment: header });
      expect([status, headers["settlement-overrides"]]).toEqual([200, undefined]);
    });
  });
});

describe.each(VERSIONS)("on %s", (_, express) => {
  describe("setSettlementOverrides", () => {
    test("setSettlementOverrides throws where the scheme takes all or nothing, and nothing is charged", async () => {
      const errors: unknown[] = [];
      const handler: RequestHandler = (_req, res, next) => {
        try {
          setSettlementOverrides(res, { amount: "1" });
        } catch (error) {
          errors.push(error);
          next(error);
        }
      };
      const shop = await openShop(express, { handler });
      expect((await shop.pay()).status).toBe(500);
      expect(errors).toMatchObject([
        { code: "ERR_FAREBOX_STATE", message: expect.stringMatching(/exact takes the whole amount/) },
      ]);
      expect(shop.facilitator.settled).toEqual([]);
    });

    test.each(["10000", "$0.01", "100%"])(
      "setSettlementOverrides may ask for %s where the scheme takes all or nothing and that is all",
      async (amount) => {
        for (const settle of ["after", "before"] as const) {
          const handler: RequestHandler = (_req, res) => {
            setSettlementOverrides(res, { amount });
            res.send("sold");
          };
          const shop = await openShop(express, { routes: { "GET /paid": { ...PRICED, settle } }, handler });
          expect((await shop.pay()).text).toBe("sold");
          expect(shop.facilitator.settled).toEqual([10_000n]);
        }
      },
    );

    test("setSettlementOverrides does nothing on a request that is free", async () => {
      const handler: RequestHandler = (_req, res) => {
        setSettlementOverrides(res, { amount: "anything" });
        res.send("free");
      };
      const shop = await openShop(express, { routes: { "GET /other": PRICED }, handler });
      expect((await shop.ask()).text).toBe("free");
    });
  });
});
