/**
 * One route, paid on an EVM network or on Solana: whichever the client has money on.
 *
 * @module
 */
import { type PaymentsOptions, paymentMiddleware } from "@farebox/express";
import express, { type Express } from "express";

/** Where this app is paid. */
export interface Purses {
  readonly evm: `0x${string}`;
  readonly solana: string;
}

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"], { evm, solana }: Purses): Express {
  const app = express();
  app.use(
    paymentMiddleware(
      { "GET /weather": { price: "$0.001", description: "The weather, now" } },
      {
        facilitator,
        // Clients take the first that they can pay, so the seller's favourite comes first.
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
