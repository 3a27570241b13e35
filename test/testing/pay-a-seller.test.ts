import { paymentMiddleware } from "@farebox/express";
import { createPayer, createTestFacilitator, pay, startFacilitatorServer } from "@farebox/testing";
import express from "express";
import { describe, expect, test } from "vitest";
import { PATIENT_SELLER } from "../interop/servers.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

type FacilitatorOption = Parameters<typeof paymentMiddleware>[1]["facilitator"];

function createSeller(facilitator: FacilitatorOption) {
  const app = express();
  const accepts = { scheme: "exact", price: "$0.001", network: "eip155:84532", payTo: PAY_TO } as const;
  app.use(paymentMiddleware({ "GET /weather/:city": { accepts } }, { facilitator, ...PATIENT_SELLER }));
  app.get("/weather/:city", (req, res) => res.json({ city: req.params.city, payer: req.payment?.payer }));
  return app;
}

function setUp() {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_500n);
  return { facilitator, payer };
}

describe("a seller's route, paid in a test", () => {
  test("a route is paid through a facilitator in this process", async () => {
    const { facilitator, payer } = setUp();
    const result = await pay(createSeller(facilitator), { path: "/weather/paris", payer });
    expect(result.status).toBe(200);
    expect(result.json()).toEqual({ city: "paris", payer: payer.address });
    expect(result.receipt).toMatchObject({ success: true, transaction: facilitator.ledger.transfers[0]?.transaction });
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(1_000n);
  });

  test("a route is paid through a facilitator behind HTTP", async () => {
    const { facilitator, payer } = setUp();
    const server = await startFacilitatorServer({ facilitator });
    const result = await pay(createSeller(server.url), { path: "/weather/paris", payer });
    expect(result).toMatchObject({ status: 200, receipt: { success: true } });
    expect(server.requests.map(({ operation }) => operation)).toEqual(expect.arrayContaining(["verify", "settle"]));
    await server.close();
  });

  test("a route names the reason when the balance of a payer is too low", async () => {
    const { facilitator, payer } = setUp();
    const app = createSeller(facilitator);
    await pay(app, { path: "/weather/paris", payer });
    const refused = await pay(app, { path: "/weather/paris", payer });
    expect(refused.status).toBe(402);
    expect(refused.challenge?.error).toContain("insufficient_funds");
    expect(facilitator.ledger.balanceOf(payer.address)).toBe(500n);
  });

  test("a route does not charge again when the response to a settlement is lost", async () => {
    const { facilitator, payer } = setUp();
    facilitator.faults.next("settle", { kind: "drop", when: "after" });
    const result = await pay(createSeller(facilitator), { path: "/weather/paris", payer });
    expect(result.status).toBe(503);
    expect(result.headers).not.toHaveProperty("payment-required");
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(1_000n);
  });
});
