/**
 * One route, paid on an EVM network or on Solana, as the client chooses.
 *
 * @module
 */
import { type PaymentsOptions, paymentMiddleware } from "@farebox/express";
import express, { type Express } from "express";

/** The addresses that receive the payments. */
export interface Payees {
  readonly evm: `0x${string}`;
  readonly solana: string;
}

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"], { evm, solana }: Payees): Express {
  const app = express();
  app.use(
    paymentMiddleware(
      { "GET /weather": { price: "$0.001", description: "The weather, now" } },
      {
        facilitator,
        // A client pays the first offer that it can pay, so the preferred network comes first.
        networks: ["eip155:84532", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"],
        payTo: { "eip155:*": evm, "solana:*": solana },
      },
    ),
  );
  app.get("/weather", (req, res) => {
    res.json({ weather: "sunny", paidOn: req.payment?.network, paidBy: req.payment?.payer });
  });
  return app;
}
