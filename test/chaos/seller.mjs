// A seller whose store and facilitator are wrapped: before and after each call it asks the parent whether something happens there.
import { setTimeout as delay } from "node:timers/promises";
import { createHttpFacilitator } from "@farebox/core";
import { createPayments } from "@farebox/express";
import express from "express";

const { facilitator: url, payTo, library, place } = JSON.parse(process.argv[2]);
const LARGE = "l".repeat(60_000);
const waiting = new Map();
let lastId = 0;
/** Where the parent wants to be asked: `{ id, point, key }`. */
let arms = [];

function ask(kind, about) {
  const id = ++lastId;
  process.send({ id, kind, about });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const ORDERS = {
  arm: (given) => {
    arms = given;
  },
  async unfinished() {
    const found = [];
    for await (const { identity, state, leaseUntilMs } of plain.unfinished())
      found.push({ identity, state, leaseUntilMs });
    return found;
  },
  recover: () => payments.recover(),
  async entries() {
    const found = [];
    for await (const { payer, transaction, amount } of payments.ledger.entries())
      found.push({ payer, transaction, amount });
    return found;
  },
};

process.on("message", ({ id, result, order, given }) => {
  if (order === undefined) {
    waiting.get(id)?.(result);
    waiting.delete(id);
    return;
  }
  Promise.resolve(given)
    .then(ORDERS[order])
    .then(
      (done) => process.send({ replyTo: id, done }),
      (error) => process.send({ replyTo: id, problem: String(error) }),
    );
});
process.on("disconnect", () => process.exit());

/** A fault point. It is named for what is called, and meant for one payer. */
async function reach(point, about) {
  const arm = arms.find((one) => one.point === point && (one.key === undefined || about.includes(one.key)));
  if (arm === undefined) return;
  arms = arms.filter((one) => one !== arm);
  if (await ask("reached", arm.id)) throw new Error(`nothing came back ${point}`);
}

async function between(call, about, work) {
  await reach(`before ${call}`, about);
  const result = await work();
  await reach(`after ${call}`, about);
  return result;
}

const textOf = (value) => JSON.stringify(value).toLowerCase();

function withFaults(store) {
  const { runs } = store;
  return {
    claim: (request) => between("claim", textOf(request.identity), () => store.claim(request)),
    find: (identity) => between("find", textOf(identity), () => store.find(identity)),
    transition: (change) =>
      between(`${change.from} to ${change.to}`, textOf(change.identity), () => store.transition(change)),
    release: (identity, owner) => between("release", textOf(identity), () => store.release(identity, owner)),
    async *unfinished() {
      await reach("before unfinished", "");
      yield* store.unfinished();
      await reach("after unfinished", "");
    },
    renew: (owned, untilMs) => between("renew", textOf(owned), () => store.renew(owned, untilMs)),
    ...(store.watch && {
      watch: (identity, onChange) => between("watch", textOf(identity), () => store.watch(identity, onChange)),
    }),
    runs: {
      put: (run, nowMs) => between("put", textOf(run.payer), () => runs.put(run, nowMs)),
      remove: (run) => between("remove", textOf(run.payer), () => runs.remove(run)),
    },
    ledger: store.ledger,
    keep: (name, value) => between("keep", name, () => store.keep(name, value)),
    ready: () => between("ready", "", () => store.ready()),
  };
}

async function openStore() {
  if (library === "redis") {
    const { createClient } = await import("redis");
    const { redisStore } = await import("@farebox/stores/redis");
    return redisStore(
      await createClient({ url: place })
        .on("error", () => {})
        .connect(),
    );
  }
  if (library === "postgres") {
    const { default: pg } = await import("pg");
    const { postgresStore } = await import("@farebox/stores/postgres");
    const store = postgresStore(new pg.Pool({ connectionString: place, max: 6 }));
    // The server may be away.
    for (;;) {
      const isMigrated = await store.migrate().then(
        () => true,
        () => false,
      );
      if (isMigrated) return store;
      await delay(100);
    }
  }
  const { default: Libsql } = await import("libsql");
  const { sqliteStore } = await import("@farebox/stores/sqlite");
  return sqliteStore(new Libsql(place));
}

const http = createHttpFacilitator({ url });
const facilitator = {
  verify: (request, options) => between("verify", textOf(request), () => http.verify(request, options)),
  settle: (request, options) => between("settle", textOf(request), () => http.settle(request, options)),
  supported: (options) => http.supported(options),
};

const plain = await openStore();
const payments = createPayments({
  facilitator,
  networks: ["eip155:84532"],
  payTo: { "eip155:*": payTo },
  store: withFaults(plain),
  holdBytes: 20_000,
  logger: { info() {}, warn() {}, error() {} },
});
const app = express();
app.use((req, res, next) => {
  res.setHeader("X-Seller", payTo);
  res.once("finish", () => void reach("after response", String(req.get("x-key"))).catch(() => {}));
  next();
});
app.use(
  payments.routes({
    "GET /after": { price: "$0.01" },
    "GET /large": { price: "$0.01" },
    "GET /before": { price: "$0.01", settle: "before" },
  }),
);
app.get(["/after", "/large", "/before"], async (req, res) => {
  const key = String(req.get("x-key"));
  const run = await ask("run", key);
  // A handler calls nobody: nothing gets lost here.
  await reach("in handler", key).catch(() => {});
  await delay(Number(req.query["work"]));
  await ask("ran", run);
  res.json({ run, filler: req.path === "/large" ? LARGE : "" });
});
const server = app.listen(0, "127.0.0.1", () => {
  // As a seller does at its start. It fails while the server of the store is away; then the look at unfinished ones does it.
  void payments.recover().catch(() => {});
  process.send({ kind: "listening", about: server.address().port });
});
