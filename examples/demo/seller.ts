/**
 * The seller: two priced Express routes. This is the whole code of a seller.
 *
 * @module
 */
import { type PaymentsOptions, paymentMiddleware } from "@farebox/express";
import express, { type Express } from "express";

/** Creates the app: the weather costs $0.001, and reversing a text costs $0.0001 per word, at most $0.001. */
export function createSeller(
  payTo: `0x${string}`,
  facilitatorUrl: string,
  options: Pick<PaymentsOptions, "store" | "hooks"> = {},
): Express {
  const app = express();
  app.use(
    paymentMiddleware(
      {
        "GET /weather": {
          accepts: { scheme: "exact", price: "$0.001", network: "eip155:84532", payTo },
          description: "The weather, now",
          mimeType: "application/json",
          extensions: { bazaar: { outputSchema: { type: "object", properties: { weather: { type: "string" } } } } },
        },
        "POST /words": {
          accepts: { scheme: "upto", price: "$0.001", network: "eip155:84532", payTo },
          description: "Your words, backwards",
        },
      },
      { facilitator: facilitatorUrl, ...options },
    ),
  );
  app.get("/weather", (_req, res) => {
    res.json({ city: "Lisbon", weather: "sunny", temperature: 22 });
  });
  app.post("/words", express.json(), (req, res) => {
    const words = String(req.body?.text ?? "")
      .split(/\s+/)
      .filter(Boolean)
      .slice(0, 10);
    // The payer has signed for ten words, and pays for those that there are.
    req.payment?.settle(String(words.length * 100));
    res.json({ words: words.toReversed() });
  });
  return app;
}
