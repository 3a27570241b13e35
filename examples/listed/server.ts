/**
 * A seller that declares its route, so that catalogs can list it.
 *
 * @module
 */
import { createPayments, type Payments } from "@farebox/express";
import express, { type Express } from "express";

/** Creates the app, and its payments, which know whether the route is listed. */
export function createApp(facilitator: string, payTo: `0x${string}`): { app: Express; payments: Payments } {
  const payments = createPayments({ facilitator, networks: ["eip155:84532"], payTo: { "eip155:*": payTo } });
  const units = { type: "string", description: "metric or imperial", required: true };
  const app = express();
  app.use(
    payments.routes({
      "GET /weather/:city": {
        price: "$0.001",
        description: "The weather in a city, now",
        mimeType: "application/json",
        tags: ["weather"],
        extensions: {
          bazaar: {
            input: { units: "metric" },
            inputSchema: { queryParams: { units } },
            outputSchema: { type: "object", properties: { temperature: { type: "number" } } },
          },
        },
      },
    }),
  );
  app.get("/weather/:city", (req, res) => {
    res.json({ city: req.params.city, temperature: req.query["units"] === "metric" ? 22 : 72 });
  });
  return { app, payments };
}
