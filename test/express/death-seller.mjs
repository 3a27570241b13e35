// A seller whose store is in the parent process. Prints nothing; tells the parent where it listens.
import { createPayments } from "@farebox/express";
import express from "express";

const { facilitator, payTo, settle, name, aheadMs = 0 } = JSON.parse(process.argv[2]);
const waiting = new Map();
let lastId = 0;

function ask(method, ...args) {
  const id = ++lastId;
  process.send({ id, method, args });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

process.on("message", ({ id, result, problem }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (problem === undefined) resolve(result);
  else reject(new Error(problem));
});
process.on("disconnect", () => process.exit());

const store = {
  claim: (request) => ask("claim", request),
  find: (identity) => ask("find", identity),
  transition: (change) => ask("transition", change),
  release: (identity, owner) => ask("release", identity, owner),
  async *unfinished() {
    yield* await ask("unfinished");
  },
  renew: (owned, untilMs) => ask("renew", owned, untilMs),
};

const payments = createPayments({
  facilitator,
  networks: ["eip155:84532"],
  payTo: { "eip155:*": payTo },
  store,
  // The others died so long ago.
  now: () => Date.now() + aheadMs,
  deadlines: { verifyMs: 120_000, settleMs: 120_000, supportedMs: 120_000 },
  logger: { info() {}, warn() {}, error() {} },
});
const app = express();
app.use(payments.routes({ "GET /paid": { price: "$0.01", settle } }));
app.get("/paid", async (_req, res) => {
  await ask("run", name);
  res.send(`sold by ${name}`);
});
const server = app.listen(0, "127.0.0.1", () => void ask("listening", server.address().port));
