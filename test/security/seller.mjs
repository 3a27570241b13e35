// A seller whose payments are in an SQLite file. Tells its parent where it listens and when a handler runs; handlers wait for the parent's word.
import { createPayments } from "@farebox/express";
import { sqliteStore } from "@farebox/stores/sqlite";
import express from "express";
import Database from "libsql";

const { facilitator, payTo, file, isHeld, options } = JSON.parse(process.argv[2]);
const waiting = new Set();
process.on("message", () => {
  for (const go of waiting) go();
  waiting.clear();
});
process.on("disconnect", () => process.exit());

const payments = createPayments({
  facilitator,
  networks: ["eip155:84532"],
  payTo: { "eip155:*": payTo },
  store: sqliteStore(new Database(file)),
  logger: { info() {}, warn() {}, error() {} },
  ...options,
});
const app = express();
app.use(payments.routes({ "GET /report": { price: "$0.01" }, "GET /other": { price: "$0.01" } }));
app.get(["/report", "/other"], async (req, res) => {
  const isReleased = isHeld && new Promise((resolve) => waiting.add(resolve));
  process.send({ ran: req.path });
  await isReleased;
  res.set("Cache-Control", "public, max-age=3600").json({ sold: req.path });
});
await payments.ready(app);
const server = app.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
