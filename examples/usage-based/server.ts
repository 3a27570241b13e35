/**
 * A text generator that charges per token: the payer signs a maximum, and pays for the generated tokens.
 *
 * @module
 */
import { type PaymentsOptions, paymentMiddleware, setSettlementOverrides } from "@farebox/express";
import express, { type Express } from "express";
import { generate } from "./model.js";

/** The price of a token: a hundredth of a cent, in atomic units of USDC. */
const PER_TOKEN = 100n;

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"], payTo: string): Express {
  const accepts = { scheme: "upto", price: "$0.001", network: "eip155:84532", payTo };
  const app = express();
  // A response without an amount is an error of the seller, so the payer is not charged.
  const routes = { "POST /generate": { accepts, unmetered: "error" } } as const;
  app.use(paymentMiddleware(routes, { facilitator }));
  app.use(express.json());
  app.post("/generate", (req, res) => {
    const { prompt } = req.body ?? {};
    if (typeof prompt !== "string") {
      res.status(422).json({ error: "send { prompt }" });
      return;
    }
    // The text ends at the maximum that the payer has signed.
    const most = BigInt(req.payment?.maxAmount ?? 0) / PER_TOKEN;
    const tokens = generate(prompt, Number(most));
    setSettlementOverrides(res, { amount: String(BigInt(tokens.length) * PER_TOKEN) });
    res.json({ text: tokens.join(" "), tokens: tokens.length });
  });
  return app;
}
