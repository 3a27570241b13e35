/**
 * A text generator that charges for what it has generated: the payer signs for a maximum, and pays for each token.
 *
 * @module
 */
import { type PaymentsOptions, paymentMiddleware, setSettlementOverrides } from "@farebox/express";
import express, { type Express } from "express";
import { generate } from "./model.js";

/** What a token costs: a hundredth of a cent, in atomic units of USDC. */
const PER_TOKEN = 100n;

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"], payTo: `0x${string}`): Express {
  const accepts = { scheme: "upto", price: "$0.001", network: "eip155:84532", payTo } as const;
  const app = express();
  // An answer whose amount nobody has said is a mistake of ours, and not the payer's loss.
  const routes = { "POST /generate": { accepts, unmetered: "error" } } as const;
  app.use(paymentMiddleware(routes, { facilitator }));
  app.use(express.json());
  app.post("/generate", (req, res) => {
    const { prompt } = req.body ?? {};
    if (typeof prompt !== "string") {
      res.status(422).json({ error: "send { prompt }" });
      return;
    }
    // No more than the payer has signed for, whatever the prompt asks for.
    const most = BigInt(req.payment?.maxAmount ?? 0) / PER_TOKEN;
    const tokens = generate(prompt, Number(most));
    setSettlementOverrides(res, { amount: String(BigInt(tokens.length) * PER_TOKEN) });
    res.json({ text: tokens.join(" "), tokens: tokens.length });
  });
  return app;
}
