/** Transactions, networks and payers that a facilitator names are bounded: no head becomes too long for a client. */
import { randomBytes } from "node:crypto";
import { createPayments, type PaymentsOptions, type RouteConfig } from "@farebox/express";
import { createPayer, createTestFacilitator, type Payer, pay } from "@farebox/testing";
import express5 from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../faults/business.js";
import { LENIENT, PATIENT, PAY_TO, PRICED, VERSIONS } from "./shop.js";

const LONG = "x".repeat(20_000);
const BEFORE: RouteConfig = { accepts: { price: "$0.01", network: "eip155:84532", payTo: PAY_TO, settle: "before" } };

/** A facilitator over HTTP that says something else about each settlement than the real one. */
async function openBank(change: (answer: object) => object) {
  const facilitator = createTestFacilitator();
  const app = express5();
  app.use(express5.json({ limit: "1mb" }), (req, res, next) => {
    const answer = () => {
      if (req.path === "/verify") return facilitator.verify(req.body);
      if (req.path === "/settle") return facilitator.settle(req.body).then(change);
      return facilitator.supported();
    };
    answer().then((given) => void res.json(given), next);
  });
  return { url: await serve(app), ledger: facilitator.ledger };
}

async function openShop(express: typeof express5, route: RouteConfig, options: PaymentsOptions) {
  const log: string[] = [];
  const note = (event: string, fields: object) => void log.push(JSON.stringify([event, fields]));
  const logger = { info: note, warn: note, error: note };
  const payments = createPayments({ deadlines: PATIENT, timer: () => () => {}, ...LENIENT, logger, ...options });
  onTestFinished(() => payments.close());
  const app = express().set("env", "test");
  app.use(payments.routes({ "GET /goods": route }));
  app.get("/goods", (_req, res) => void res.json({ goods: true }));
  const url = `${await serve(app)}/goods`;
  return { log, payments, buy: (payer: Payer) => pay(url, { payer }) };
}

describe.each(VERSIONS)("on %s, a facilitator that names", (_, express) => {
  test.each([
    ["an endless transaction", { transaction: LONG }, 503],
    ["a transaction of 201 characters", { transaction: "x".repeat(201) }, 503],
    ["a transaction of 200 characters", { transaction: `${randomBytes(99).toString("hex")}xx` }, 200],
    ["a transaction with control characters", { transaction: "0x5f1c\r\nSet-Cookie: a=b" }, 503],
    ["an endless payer", { payer: LONG }, 503],
    ["an endless network", { network: `eip155:84532${LONG}` }, 503],
    ["an endless reason", { success: false, errorReason: LONG, transaction: LONG }, 503],
    [
      "an endless transaction that failed",
      { success: false, errorReason: "invalid_transaction_state", transaction: LONG },
      402,
    ],
  ])("%s sends no client a long head", async (_what, named, status) => {
    for (const route of [PRICED, BEFORE]) {
      const { url, ledger } = await openBank((answer) => ({ ...answer, ...named }));
      const { buy, log, payments } = await openShop(express, route, { facilitator: url });
      const payer = createPayer();
      ledger.fund(payer.address, 10_000n);
      const bought = await buy(payer);
      expect(bought.status).toBe(status);
      expect(Object.entries(bought.headers).flat().join().length).toBeLessThan(4_000);
      expect(Math.max(0, ...log.map((line) => line.length))).toBeLessThan(2_000);
      expect(JSON.stringify(payments.health()).length).toBeLessThan(4_000);
    }
  });
});
