/**
 * One of several processes of `src/processes.test.ts` that use a store at once. It reads the build.
 *
 * Usage: `fork("claimant.mjs", [library, place])`. It says `ready` when its store is open. For each number that it is sent it claims as many
 * payments, and sends back those that it got. For `{ count, untilMs }` it puts the exposure of as many payments, of one micro each, and
 * sends back the sums that it was told. An error is sent as its text.
 *
 * @module
 */
import { createRequire } from "node:module";

const [library, place] = process.argv.slice(2);
/** Processes that are started together have little time each. */
const LIMIT = { timeoutMs: 60_000 };
const require = createRequire(import.meta.url);

process.on("message", (asked) => {
  const done = typeof asked === "number" ? claim(asked) : expose(asked);
  void done.then(answer, fail);
});
let store;
try {
  store = await open();
  process.send("ready");
} catch (error) {
  fail(error);
}

async function open() {
  if (library === "redis") {
    const { redisStore } = await import("@farebox/stores/redis");
    const { Redis } = require("ioredis");
    return redisStore(new Redis(place), LIMIT);
  }
  if (library === "postgres") {
    const { postgresStore } = await import("@farebox/stores/postgres");
    const { Pool } = require("pg");
    const opened = postgresStore(new Pool({ connectionString: place, max: 4 }), LIMIT);
    await opened.migrate();
    return opened;
  }
  const { sqliteStore } = await import("@farebox/stores/sqlite");
  const Database = library === "node:sqlite" ? process.getBuiltinModule(library).DatabaseSync : require(library);
  return sqliteStore(new Database(place), LIMIT);
}

async function claim(count) {
  const owner = String(process.pid);
  const expiresAtMs = Date.now() + 60_000;
  const bound = { binding: "b", mode: "after", route: "GET /", method: "GET", target: "/", hasBody: false };
  const claims = Array.from({ length: count }, async (_, at) => {
    const { kind } = await store.claim({ identity: `p${at}`, ...bound, owner, expiresAtMs });
    return kind === "claimed" ? [`p${at}`] : [];
  });
  return { owner, identities: (await Promise.all(claims)).flat() };
}

async function expose({ count, untilMs }) {
  const puts = Array.from({ length: count }, (_, at) => {
    const entry = { identity: `${process.pid} ${at}`, payer: `payer ${at}`, micros: "1", untilMs, isDue: false };
    return store.exposure.put(entry, Date.now());
  });
  return { totals: (await Promise.all(puts)).map(({ total }) => Number(total)) };
}

function answer(found) {
  process.send(found);
}

function fail(error) {
  process.send({ error: String(error?.stack ?? error) });
}
