/**
 * An app whose payments can be watched. Metrics and health are on a port of their own, which only the inside reaches.
 *
 * @module
 */
import { createPayments, type Payments, type PaymentsOptions } from "@farebox/express";
import express, { type Express } from "express";

/** The address that receives the payments. */
export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** What the outside reaches, and what the inside reaches. */
export interface Apps {
  readonly outside: Express;
  readonly inside: Express;
  readonly payments: Payments;
}

/** Creates the apps. */
export function createApps(facilitator: PaymentsOptions["facilitator"]): Apps {
  const payments = createPayments({
    facilitator,
    networks: ["eip155:84532"],
    payTo: { "eip155:*": PAY_TO },
    metrics: true,
    // Lines for a collector of logs. `pino()` works as well.
    logger: "json",
  });

  const outside = express();
  outside.use(
    payments.routes({
      "GET /weather": { price: "$0.001" },
      "GET /report": { price: "$0.05", settle: "before" },
    }),
  );
  outside.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
  outside.get("/report", (_req, res) => void res.json({ report: "long" }));

  const inside = express();
  inside.get("/healthz", payments.healthz());
  inside.get("/metrics", (_req, res) => void res.type("text/plain; version=0.0.4").send(payments.metrics()));
  return { outside, inside, payments };
}
