// A seller with a durable store, which kills itself right before or right after its store records that a payment has settled.
import { createPayments } from "@farebox/express";
import express from "express";

const { facilitator, payTo, library, place, dies, aheadMs = 0 } = JSON.parse(process.argv[2]);

const die = () => process.kill(process.pid, "SIGKILL");
const store = await open();
const { transition } = store;
store.transition = async (change) => {
  if (change.to === "settled" && dies === "before") die();
  const isDone = await transition.call(store, change);
  if (change.to === "settled" && dies === "after") die();
  return isDone;
};
const seen = [];
let tell;
const first = new Promise((resolve) => {
  tell = resolve;
});

const payments = createPayments({
  facilitator,
  networks: ["eip155:84532"],
  payTo: { "eip155:*": payTo },
  store,
  // The process before died so long ago.
  now: () => Date.now() + aheadMs,
  deadlines: { verifyMs: 120_000, settleMs: 120_000, supportedMs: 120_000 },
  logger: { info() {}, warn() {}, error() {} },
});
payments.ledger.onSettled("books", ({ id }) => {
  seen.push(id);
  tell();
});

const app = express();
app.use(payments.routes({ "GET /paid": { price: "$0.01" } }));
app.get("/paid", (_req, res) => void res.send("sold"));
app.get("/books", async (_req, res) => {
  await first;
  const entries = [];
  for await (const entry of payments.ledger.entries()) entries.push(entry);
  res.json({ entries, seen });
});
await payments.ready(app);
const server = app.listen(0, "127.0.0.1", () => process.send(server.address().port));
process.on("disconnect", () => process.exit());

async function open() {
  if (library === "redis") {
    const [{ redisStore }, { createClient }] = await Promise.all([import("@farebox/stores/redis"), import("redis")]);
    const client = createClient({ url: place }).on("error", () => {});
    await client.connect();
    return redisStore(client);
  }
  if (library === "postgres") {
    const [{ postgresStore }, { default: pg }] = await Promise.all([import("@farebox/stores/postgres"), import("pg")]);
    const opened = postgresStore(new pg.Pool({ connectionString: place, max: 4 }));
    await opened.migrate();
    return opened;
  }
  const [{ sqliteStore }, { default: Libsql }] = await Promise.all([
    import("@farebox/stores/sqlite"),
    import("libsql"),
  ]);
  return sqliteStore(new Libsql(place));
}
