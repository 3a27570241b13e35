/**
 * The handler sets the amount by a call. A header never does.
 */
import { setSettlementOverrides } from "@farebox/express";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED, type ShopPlan, VERSIONS } from "./shop.js";

const OVERRIDE = JSON.stringify({ amount: "1" });

describe.each(VERSIONS)("on %s", (_, express) => {
  describe("a header Settlement-Overrides", () => {
    const WAYS: [how: string, handler: RequestHandler, plan?: ShopPlan][] = [
      ["set", (_req, res) => void res.set("Settlement-Overrides", OVERRIDE).json({ a: 1 })],
      ["in another case", (_req, res) => void res.set("settlement-OVERRIDES", "junk").json({ a: 1 })],
      ["in writeHead", (_req, res) => void res.writeHead(200, { "Settlement-Overrides": OVERRIDE }).end('{"a":1}')],
      ["of an error", (_req, res) => void res.status(500).set("Settlement-Overrides", OVERRIDE).json({ a: 1 })],
      [
        "of a response that streams",
        (_req, res) => {
          res.set("Settlement-Overrides", OVERRIDE).flushHeaders();
          res.end('{"a":1}');
        },
      ],
      [
        "set where the money has moved before",
        (_req, res) => void res.set("Settlement-Overrides", OVERRIDE).json({ a: 1 }),
        { routes: { "GET /paid": { ...PRICED, settle: "before" } } },
      ],
    ];

    test.each<[how: string, handler: RequestHandler, plan?: ShopPlan]>(WAYS)(
      "a Settlement-Overrides header %s goes nowhere and changes nothing",
      async (_how, handler, plan) => {
        const warnings: string[] = [];
        const logger = { info() {}, error() {}, warn: (event: string) => void warnings.push(event) };
        const shop = await openShop(express, { handler, ...plan, options: { logger } });
        const { headers, status, json } = await shop.pay();
        expect(json()).toEqual({ a: 1 });
        expect(headers).not.toHaveProperty("settlement-overrides");
        expect(shop.facilitator.settled).toEqual(status === 200 ? [10_000n] : []);
        if (plan === undefined) expect(warnings).toContain("FAREBOX_OVERRIDE_IN_HEADER");
      },
    );

    test("a Settlement-Overrides header is not in a response that is given again", async () => {
      const handler: RequestHandler = (_req, res) => void res.set("Settlement-Overrides", OVERRIDE).send("a");
      const shop = await openShop(express, { handler });
      shop.facilitator.failNext("unknown");
      const { header } = await shop.sign();
      expect((await shop.ask({ payment: header })).status).toBe(503);
      const { status, headers } = await shop.ask({ payment: header });
      expect([status, headers["settlement-overrides"]]).toEqual([200, undefined]);
    });
  });

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
      expect(errors).toMatchObject([{ code: "ERR_FAREBOX_STATE", message: /exact takes the whole amount/ }]);
      expect(shop.facilitator.settled).toEqual([]);
    });

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
