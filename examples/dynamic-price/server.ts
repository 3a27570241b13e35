/**
 * An app whose price depends on what it is sent: so much for each word.
 *
 * @module
 */
import { type PaymentsOptions, type PriceFunction, paymentMiddleware } from "@farebox/express";
import express, { type Express } from "express";

/** Where this app is paid. */
export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** What a word costs, in tenths of a cent. It may change at any time. */
export interface Tariff {
  perWord: bigint;
}

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"], tariff: Tariff): Express {
  // The body is a stranger's: whatever it is, there is a price.
  const price: PriceFunction = ({ body }) => inDollars(BigInt(Math.max(countWords(body), 1)) * tariff.perWord);
  const app = express();
  // Before the payments, so that the price can depend on the body.
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

/** Money is whole numbers; the point is put in at the end. */
function inDollars(tenthsOfCents: bigint): `$${number}` {
  const digits = tenthsOfCents.toString().padStart(4, "0");
  return `$${digits.slice(0, -3)}.${digits.slice(-3)}` as `$${number}`;
}
