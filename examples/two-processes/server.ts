/**
 * A seller with two processes on one port, by `node:cluster`. They share a payment store: Redis if `REDIS_URL` is set, else an SQLite
 * file.
 *
 * @module
 */
import cluster from "node:cluster";
import { setTimeout as delay } from "node:timers/promises";
import type { PaymentStore } from "@farebox/core";
import { createPayments } from "@farebox/express";
import { redisStore } from "@farebox/stores/redis";
import { sqliteStore } from "@farebox/stores/sqlite";
import express from "express";
import Database from "libsql";
import { createClient } from "redis";

const { FACILITATOR_URL = "https://x402.org/facilitator", PAYMENTS_FILE = "payments.db", PORT = "3000" } = process.env;

if (cluster.isPrimary) for (let count = 0; count < 2; count++) cluster.fork();
else await work(`worker ${cluster.worker?.id}`);

async function work(name: string): Promise<void> {
  const payments = createPayments({ facilitator: FACILITATOR_URL, store: await openStore() });
  const app = express();
  app.use("/report", (req, _res, next) => {
    if (req.get("PAYMENT-SIGNATURE") !== undefined) console.log(`${name} gets the payment`);
    next();
  });
  app.use(
    payments.routes({
      "GET /report": {
        accepts: { price: "$0.01", network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
      },
    }),
  );
  app.get("/report", async (_req, res) => {
    console.log(`${name} runs the handler`);
    await delay(500);
    res.json({ report: 42, by: name });
  });
  // Checks the store's server, too.
  await payments.ready(app);
  app.listen(Number(PORT), () => console.log(`${name} listens`));
}

async function openStore(): Promise<PaymentStore> {
  const { REDIS_URL } = process.env;
  if (REDIS_URL === undefined) return sqliteStore(new Database(PAYMENTS_FILE));
  const client = createClient({ url: REDIS_URL }).on("error", console.error);
  await client.connect();
  return redisStore(client);
}
