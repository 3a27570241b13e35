/**
 * The seller: a priced Express route. This is the whole code of a seller.
 *
 * @module
 */
import { paymentMiddleware } from "@farebox/express";
import express, { type Express } from "express";

/** Creates the app, which charges $0.001 per request for the weather. */
export function createSeller(payTo: `0x${string}`, facilitatorUrl: string): Express {
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
      },
      { facilitator: facilitatorUrl },
    ),
  );
  app.get("/weather", (_req, res) => {
    res.json({ city: "Lisbon", weather: "sunny", temperature: 22 });
  });
  return app;
}
