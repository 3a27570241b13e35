/**
 * An app with a price per word of the request body.
 *
 * @module
 */
import { type PaymentsOptions, type PriceFunction, paymentMiddleware, usd } from "@farebox/express";
import express, { type Express } from "express";

/** The address that receives the payments. */
export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** The price of a word, in dollars. It may change at any time. */
export interface Tariff {
  perWord: string;
}

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"], tariff: Tariff): Express {
  // Any body has a price, because a client may send anything.
  const price: PriceFunction = ({ body }) => usd(tariff.perWord).times(Math.max(countWords(body), 1));
  const app = express();
  // The body parser runs before the payments, so that the price can depend on the body.
  app.use(express.json());
  app.use(
    paymentMiddleware(
      { "POST /shout": { accepts: { price, network: "eip155:84532", payTo: PAY_TO } } },
      { facilitator },
    ),
  );
  app.post("/shout", (req, res) => {
    const { text } = req.body ?? {};
    if (typeof text !== "string") {
      res.status(422).json({ error: "send { text }" });
      return;
    }
    res.json({ text: text.toUpperCase(), paid: req.payment?.amount });
  });
  return app;
}

function countWords(body: unknown): number {
  const { text } = Object(body) as { readonly text?: unknown };
  return typeof text === "string" ? text.split(/\s+/).filter(Boolean).length : 0;
}
