/**
 * An app with priced routes: a fixed price, and a price by use. Its facilitator is a parameter, so that a test can pass its own.
 *
 * @module
 */
import { type PaymentsOptions, paymentMiddleware } from "@farebox/express";
import express, { type Express } from "express";

/** The address that receives the payments. */
export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"]): Express {
  const app = express();
  app.use(
    paymentMiddleware(
      {
        "GET /quotes/:symbol": { accepts: { price: "$0.002", network: "eip155:84532", payTo: PAY_TO } },
        "GET /history/:days": { accepts: { scheme: "upto", price: "$0.01", network: "eip155:84532", payTo: PAY_TO } },
      },
      { facilitator },
    ),
  );
  app.get("/quotes/:symbol", (req, res) => {
    if (req.params.symbol !== "ADA") {
      res.status(404).json({ error: "no such symbol" });
      return;
    }
    res.json({ symbol: "ADA", price: "0.71", paidBy: req.payment?.payer });
  });
  // A tenth of a cent per day, and at most the maximum that the payer has signed.
  app.get("/history/:days", (req, res) => {
    const days = Math.min(Number(req.params.days) || 0, 10);
    req.payment?.settle(String(days * 1_000));
    res.json(Array.from({ length: days }, () => "0.71"));
  });
  return app;
}
