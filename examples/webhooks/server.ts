/**
 * A seller whose sales are sent to `WEBHOOK_URL`. What it has sold is in an SQLite file, and so is how far the webhooks have come.
 *
 * @module
 */
import { createPayments } from "@farebox/express";
import { sqliteStore } from "@farebox/stores/sqlite";
import express from "express";
import Database from "libsql";
import { createSender } from "./sender.js";

const {
  FACILITATOR_URL = "https://x402.org/facilitator",
  PAYMENTS_FILE = "payments.db",
  WEBHOOK_URL = "http://127.0.0.1:4000/",
  WEBHOOK_SECRET = "",
  DEAD_LETTERS = "dead-letters.jsonl",
  ATTEMPTS = "12",
  PORT = "3000",
} = process.env;
if (WEBHOOK_SECRET === "") throw new Error('WEBHOOK_SECRET is not set: "whsec_" and at least 24 bytes in base64');

const payments = createPayments({
  facilitator: FACILITATOR_URL,
  networks: ["eip155:84532"],
  payTo: { "eip155:*": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
  store: sqliteStore(new Database(PAYMENTS_FILE)),
});
payments.ledger.onSettled(
  "webhooks",
  createSender({
    url: WEBHOOK_URL,
    secret: WEBHOOK_SECRET,
    deadLetters: DEAD_LETTERS,
    attempts: Number(ATTEMPTS),
  }),
);

const app = express();
app.use(payments.routes({ "GET /report/:id": { price: "$0.01" }, "GET /archive": { price: "$0.05" } }));
app.get("/report/:id", (req, res) => void res.json({ report: req.params.id }));
app.get("/archive", (_req, res) => void res.json({ archive: true }));
await payments.ready(app);
const server = app.listen(Number(PORT), "127.0.0.1", () => console.log("the seller listens"));

process.once("SIGTERM", async () => {
  await payments.shutdown(server, { drainMs: 5_000 });
  process.exit();
});
