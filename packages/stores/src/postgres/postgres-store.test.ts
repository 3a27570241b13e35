import { PGlite } from "@electric-sql/pglite";
import { UNFINISHED } from "@farebox/core";
import { createStoreConformance, type StoreTraits } from "@farebox/testing";
import pg from "pg";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { CLAIM } from "../claim.fixture.js";
import { checksOfClients } from "../client-checks.fixture.js";
import { type PostgresPool, postgresStore, type StoreOptions } from "./postgres-store.js";
import { type PostgresServer, startPostgres } from "./server.fixture.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterEach(() => void vi.useRealTimers());
afterAll(() => server.stop());

interface Connected {
  readonly pool: PostgresPool;
  end(): Promise<unknown>;
}

const maxAnswerBytes = 1024 * 1024;
const TRAITS = {
  ...{ durable: true, shared: true, renew: true, runs: true },
  ...{ exposure: true, ledger: true, keep: true, maxAnswerBytes },
};
let stores = 0;

describeClient("a Pool of pg", { ...TRAITS, watch: true }, async () => {
  const pool = new pg.Pool({ connectionString: server.url, max: 10 });
  return { pool, end: () => pool.end() };
});

describeClient("postgres, wrapped", TRAITS, async () => {
  const sql = postgres(server.url, { onnotice: () => {} });
  const query = async (text: string, values: postgres.ParameterOrJSON<never>[]) => {
    return { rows: await sql.unsafe(text, values) };
  };
  return { pool: { query } as PostgresPool, end: () => sql.end() };
});

describeClient("PGlite", TRAITS, async () => (await pglite()).connected);

let database: Promise<{ connected: Connected }> | undefined;

/** One database for both stores: another one would be in another memory. */
function pglite(): Promise<{ connected: Connected }> {
  database ??= PGlite.create().then((opened) => ({ connected: { pool: opened, end: () => opened.close() } }));
  return database;
}

function describeClient(name: string, traits: StoreTraits, connect: () => Promise<Connected>): void {
  describe(`a store in PostgreSQL, with ${name}`, () => {
    const prefix = `farebox${stores++}`;
    const connected: Connected[] = [];
    beforeAll(async () => {
      for (let at = 0; at < 2; at++) connected.push(await connect());
      await storeOf(connected[0]!.pool, { prefix }).migrate();
    }, 60_000);
    afterAll(async () => {
      for (const { end } of new Set(connected)) await end();
    });

    const checks = createStoreConformance(async (clock) => {
      const opened: ReturnType<typeof postgresStore>[] = [];
      const open = async (at: number) => {
        const store = storeOf(connected[at]!.pool, { prefix, now: clock.now, maxAnswerBytes });
        opened.push(store);
        return store;
      };
      await connected[0]!.pool.query(emptied(prefix), []);
      const store = await open(0);
      const close = async () => void (await Promise.all(opened.map((each) => each.close())));
      return { store, reopen: () => open(0), join: () => open(1), close };
    }, traits);
    const own = traits.watch ? checks : checksOfClients(checks, false);
    for (const { name: title, run } of own) test(title, () => run());
  });
}

/** Deletes every row but the version. To create the tables takes longer than most checks. */
function emptied(prefix: string): string {
  return `DO $$ DECLARE filled text; BEGIN
    FOR filled IN SELECT tablename FROM pg_tables WHERE tablename ~ '^${prefix}_' AND tablename <> '${prefix}_kept' LOOP
      EXECUTE format('DELETE FROM %I', filled);
    END LOOP;
    DELETE FROM ${prefix}_kept WHERE name <> 'schema';
    ALTER SEQUENCE ${prefix}_ledger_positions RESTART;
  END $$`;
}

/** The usual limit of a call is 5 s, which a busy machine may need. */
function storeOf(pool: PostgresPool, options: StoreOptions = {}) {
  return postgresStore(pool, { timeoutMs: 60_000, ...options });
}

describe("migrate", () => {
  test("ten processes that start at once create the tables once", async () => {
    const pools = Array.from({ length: 10 }, () => new pg.Pool({ connectionString: server.url, max: 2 }));
    const all = pools.map((pool) => storeOf(pool, { prefix: "at_once" }));
    await Promise.all(all.map((store) => store.migrate()));
    expect(await Promise.all(all.map((store) => store.ready()))).toEqual(all.map(() => []));
    await Promise.all(pools.map((pool) => pool.end()));
  });
});

describe("tables of version 5", () => {
  const BACK_TO_VERSION_5 = (prefix: string) => `
    ALTER TABLE ${prefix}_payments DROP mode, DROP route, DROP method, DROP target, DROP has_body, DROP mark;
    UPDATE ${prefix}_kept SET value = '5' WHERE name = 'schema'`;

  test("ready says that they are old; migrate adds the fields of the request, and keeps payments that are under way", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    const store = storeOf(pool, { prefix: "version5" });
    await store.migrate();
    const claim = { ...CLAIM, identity: "p", owner: "run", expiresAtMs: Date.now() + 60_000 };
    await store.claim(claim);
    await pool.query(BACK_TO_VERSION_5("version5"));
    const old = /"\w+" does not exist.*await store\.migrate\(\)|older version: call `await store\.migrate\(\)`/;
    await expect(store.ready()).rejects.toThrow(old);
    await expect(store.find("p")).rejects.toThrow(old);
    await store.migrate();
    expect(await store.ready()).toEqual([]);
    const unsaid = { mode: "after", route: "", method: "", target: "", hasBody: false };
    expect(await store.find("p")).toEqual({ ...claim, ...unsaid, state: "claimed" });
    const other = { ...claim, identity: "q", hasBody: true };
    expect(await store.claim(other)).toEqual({ kind: "claimed" });
    expect(await store.find("q")).toEqual({ ...other, state: "claimed" });
    await pool.end();
  });
});

describe("tables of version 2", () => {
  const BACK_TO_VERSION_2 = (prefix: string) => `
    DROP TABLE ${prefix}_ledger, ${prefix}_ledger_counts, ${prefix}_ledger_cursors;
    DROP SEQUENCE ${prefix}_ledger_positions;
    DROP FUNCTION ${prefix}_number_ledger;
    UPDATE ${prefix}_kept SET value = '2' WHERE name = 'schema'`;

  test("ready says that they are old; migrate adds the ledger, and keeps payments that are under way", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    const store = storeOf(pool, { prefix: "version2" });
    await store.migrate();
    await pool.query(BACK_TO_VERSION_2("version2"));
    const step = { identity: "p", owner: "run" } as const;
    await store.claim({ ...step, ...CLAIM, expiresAtMs: Date.now() + 60_000 });
    await store.transition({ ...step, from: "claimed", to: "settling" });
    await expect(store.ready()).rejects.toThrow(/older version: call `await store\.migrate\(\)`/);
    const settled = { ...step, from: "settling", to: "settled", entry: ENTRY } as const;
    await expect(store.transition(settled)).rejects.toThrow(
      /version2_ledger.*does not exist.*await store\.migrate\(\)/,
    );
    // Neither the record nor the ledger has changed.
    expect(await store.find("p")).toMatchObject({ state: "settling" });
    await store.migrate();
    expect(await store.ready()).toEqual([]);
    expect(await store.transition(settled)).toBe(true);
    expect(await store.ledger.find(ENTRY.id)).toEqual({ ...ENTRY, position: "1", status: "settled", refunds: [] });
    await pool.end();
  });

  test("positions are not given again when all entries were deleted and the tables are updated", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    const store = storeOf(pool, { prefix: "positions" });
    await store.migrate();
    const settle = async (name: string) => {
      const step = { identity: name, owner: "run" } as const;
      await store.claim({ ...step, ...CLAIM, expiresAtMs: Date.now() + 60_000 });
      await store.transition({ ...step, from: "claimed", to: "settling" });
      await store.transition({
        ...step,
        from: "settling",
        to: "settled",
        entry: { ...ENTRY, id: name.padEnd(32, "0") },
      });
    };
    await settle("a");
    await settle("b");
    expect((await store.ledger.list({ limit: 5 })).map(({ position }) => position)).toEqual(["1", "2"]);
    await store.ledger.sweep(ENTRY.settledAtMs + 1);
    // Again, as at each start.
    await store.migrate();
    await settle("c");
    expect((await store.ledger.list({ limit: 5 })).map(({ position }) => position)).toEqual(["3"]);
    await pool.end();
  });

  const ENTRY = {
    id: "0123456789abcdef0123456789abcdef",
    settledAtMs: 1_795_761_423_010,
    route: "GET /weather",
    payee: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    scheme: "exact",
    network: "eip155:84532",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    amount: "10000",
    transaction: "0x5f1c",
    latencyMs: 7,
    attempt: 1,
  };
});

describe("tables of version 1", () => {
  /** Makes version 1 of this version. The ledger stays: version 1 does not know it. */
  const BACK_TO_VERSION_1 = (prefix: string) => `
    DROP TABLE ${prefix}_exposure, ${prefix}_exposure_sums;
    DROP FUNCTION ${prefix}_expose;
    DROP INDEX ${prefix}_payments_open;
    CREATE INDEX ${prefix}_payments_unfinished ON ${prefix}_payments (key) WHERE state IN ('settling', 'unknown');
    UPDATE ${prefix}_kept SET value = '1' WHERE name = 'schema'`;

  const claimOf = (identity: string) => ({ identity, ...CLAIM, owner: "run", expiresAtMs: Date.now() + 60_000 });

  async function openVersion1(prefix: string) {
    const pool = new pg.Pool({ connectionString: server.url });
    const store = storeOf(pool, { prefix });
    await store.migrate();
    await pool.query(BACK_TO_VERSION_1(prefix));
    return { pool, store };
  }

  test("ready says that they are old; migrate updates them, and keeps their records", async () => {
    const { pool, store } = await openVersion1("version1");
    const entry = { identity: "p", payer: "a", micros: "5", untilMs: Date.now() + 60_000, isDue: true };
    await store.claim(claimOf("p"));
    await store.transition({ identity: "p", from: "claimed", to: "settling", owner: "run" });
    await expect(store.ready()).rejects.toThrow(/older version: call `await store\.migrate\(\)`/);
    for (const call of [() => store.exposure.put(entry, 0), () => store.exposure.remove(entry)]) {
      await expect(call()).rejects.toThrow(/version1_expose.*does not exist.*await store\.migrate\(\)/);
    }
    await store.migrate();
    expect(await store.ready()).toEqual([]);
    const records = [];
    for await (const record of store.unfinished()) records.push(record);
    expect(records).toEqual([expect.objectContaining({ identity: "p", state: "settling" })]);
    expect(await store.exposure.put(entry, 0)).toEqual({ payer: "5", total: "5", due: ["p"] });
    const { rows } = await pool.query("SELECT indexname FROM pg_indexes WHERE tablename = 'version1_payments'");
    expect(rows.map(({ indexname }) => indexname).sort()).toEqual([
      "version1_payments_forget",
      "version1_payments_identifier_key",
      "version1_payments_kept",
      "version1_payments_open",
      "version1_payments_paid_by",
      "version1_payments_pkey",
    ]);
    await pool.end();
  });

  test("a process of version 1 beside this one deletes no payment that is due, and finds what it knows by an index", async () => {
    const { pool, store } = await openVersion1("beside");
    await store.migrate();
    const step = { identity: "p", owner: "run" } as const;
    await store.claim({ ...claimOf("p"), expiresAtMs: Date.now() - 3_600_000 });
    await store.transition({ ...step, from: "claimed", to: "metering" });
    await store.transition({ ...step, from: "metering", to: "settling" });
    await store.transition({ ...step, from: "settling", to: "due" });
    const old = "DELETE FROM beside_payments WHERE state NOT IN ('settling', 'unknown') AND forget_at_ms <= $1::bigint";
    await pool.query(old, [Date.now() + 24 * 3_600_000]);
    expect(await store.find("p")).toMatchObject({ state: "due" });
    await store.transition({ ...step, from: "due", to: "rejected" });
    await pool.query(old, [Date.now() + 24 * 3_600_000]);
    expect(await store.find("p")).toBeUndefined();
    await pool.end();
  });

  test("each question about unfinished payments has its index, in this version and in version 1", async () => {
    const { pool, store } = await openVersion1("planned");
    await store.migrate();
    const client = await pool.connect();
    await client.query("SET enable_seqscan = off");
    const [some, all] = ["'settling', 'unknown'", UNFINISHED.map((state) => `'${state}'`).join(", ")];
    const planOf = async (condition: string) => {
      const { rows } = await client.query(`EXPLAIN SELECT 1 FROM planned_payments WHERE ${condition}`);
      return rows.map((row) => row["QUERY PLAN"]).join("\n");
    };
    for (const states of [some, all]) {
      expect(await planOf(`state IN (${states}) ORDER BY key LIMIT 50`)).toMatch(/planned_payments_open/);
      expect(await planOf(`state NOT IN (${states}) AND forget_at_ms <= 1`)).toMatch(/planned_payments_forget/);
    }
    client.release();
    await pool.end();
  });
});

describe("a store that cannot be used", () => {
  test("ready and the first payment say that the table is missing, and what to do", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    const store = storeOf(pool, { prefix: "missing" });
    const claim = { identity: "p", ...CLAIM, owner: "run", expiresAtMs: Date.now() };
    for (const call of [() => store.ready(), () => store.claim(claim), () => store.find("p")]) {
      await expect(call()).rejects.toMatchObject({
        code: "ERR_FAREBOX_STORE",
        message: expect.stringMatching(/"missing_\w+" does not exist.*await store\.migrate\(\)/),
      });
    }
    await pool.end();
  });

  test("ready says that the tables are of an older version", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    const store = storeOf(pool, { prefix: "older" });
    await store.migrate();
    await pool.query("UPDATE older_kept SET value = '0' WHERE name = 'schema'");
    await expect(store.ready()).rejects.toThrow(/older version: call `await store\.migrate\(\)`/);
    await store.migrate();
    expect(await store.ready()).toEqual([]);
    await pool.query("ALTER TABLE older_payments DROP COLUMN lease_until_ms");
    await expect(store.ready()).rejects.toThrow(/lease_until_ms.*migrate/);
    await pool.end();
  });

  test("migrate says that a table is another application's, or that the user may not create tables", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    await pool.query("CREATE TABLE alien_payments (id bigint)");
    await expect(storeOf(pool, { prefix: "alien" }).migrate()).rejects.toThrow(
      /a table of this name is not the store's: set another prefix/,
    );
    await pool.query("CREATE ROLE reader; REVOKE CREATE ON SCHEMA public FROM PUBLIC; SET ROLE reader");
    await expect(storeOf(pool, { prefix: "denied" }).migrate()).rejects.toThrow(
      /grant CREATE on the schema to the user, or have another user run the SQL of schema\(\)/,
    );
    await pool.end();
  });

  test("a query that does not return rows is an error that says so", async () => {
    const store = postgresStore({ query: async () => [] } as unknown as PostgresPool);
    await expect(store.find("p")).rejects.toThrow(/query\(\) must return a promise of \{ rows \}/);
  });

  test("a server that is not there rejects each call", async () => {
    const pool = new pg.Pool({ connectionString: "postgres://user:secret@127.0.0.1:1/none" });
    const store = storeOf(pool);
    for (const call of [() => store.ready(), () => store.find("p")]) {
      await expect(call()).rejects.toThrow(/ECONNREFUSED/);
      await expect(call()).rejects.not.toThrow(/secret/);
    }
    await pool.end();
  });

  test.each<[what: string, pool: unknown]>([
    ["nothing", undefined],
    ["a URL", "postgres://localhost"],
    ["an object without query", {}],
    ["postgres, not wrapped", postgres("postgres://127.0.0.1:1/none")],
  ])("%s instead of a pool is refused when the store is created", (_, pool) => {
    expect(() => postgresStore(pool as PostgresPool)).toThrow(/^pool: expected a pool such as new Pool\(\) of pg/);
  });
});

test("a pool with one connection has none for notifications", async () => {
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  expect(storeOf(pool).watch).toBeUndefined();
  await pool.end();
});

test("ready reports settings that lose what was written", async () => {
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  const store = storeOf(pool, { prefix: "settings" });
  await store.migrate();
  await pool.query("SET synchronous_commit = off");
  expect(await store.ready()).toEqual([{ kind: "NOT_DURABLE", detail: "synchronous_commit is off; set it to on" }]);
  await pool.end();
});

test("a watcher is told by a notification, and not only when it looks by itself", async () => {
  const pools = [1, 2].map(() => new pg.Pool({ connectionString: server.url, max: 3 }));
  const [one, other] = pools.map((pool) => storeOf(pool, { prefix: "told" }));
  await one!.migrate();
  const claim = { identity: "p", ...CLAIM, owner: "run", expiresAtMs: Date.now() + 60_000 };
  // Only a notification can tell the watcher: it does not look by itself.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  for (let at = 0; at < 10; at++) {
    await one!.claim(claim);
    let tell = (): void => {};
    const told = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const stop = await other!.watch!("p", () => tell());
    await one!.release("p", "run");
    await told;
    stop();
  }
  for (const store of [one!, other!]) await store.close();
  for (const pool of pools) await pool.end();
});

test("old rows are deleted by a store that is idle, and unfinished ones stay", async () => {
  const pool = new pg.Pool({ connectionString: server.url });
  let nowMs = Date.now();
  const store = storeOf(pool, { prefix: "old", now: () => nowMs });
  await store.migrate();
  const expiresAtMs = nowMs + 60_000;
  const claims = Array.from({ length: 1_200 }, (_, at) =>
    store.claim({ identity: `p${at}`, ...CLAIM, owner: "run", expiresAtMs }),
  );
  await Promise.all(claims);
  await store.transition({ identity: "p0", from: "claimed", to: "settling", owner: "run" });
  nowMs += 12 * 60_000;
  await store.find("p");
  await store.close();
  const { rows } = await pool.query("SELECT identity FROM old_payments");
  expect(rows).toEqual([{ identity: "p0" }]);
  await pool.end();
});

test("ended exposure is removed by a store that is idle, and no sum of nothing stays", async () => {
  const pool = new pg.Pool({ connectionString: server.url });
  let nowMs = Date.now();
  const store = storeOf(pool, { prefix: "exposed", now: () => nowMs });
  await store.migrate();
  const put = (at: number, untilMs = nowMs + 60_000) => {
    const entry = { identity: `p${at}`, payer: `payer ${at}`, micros: "5", untilMs, isDue: false };
    return store.exposure.put(entry, nowMs);
  };
  await Promise.all(Array.from({ length: 1_200 }, (_, at) => put(at)));
  await put(1_200, nowMs + 30 * 60_000);
  nowMs += 12 * 60_000;
  await store.find("p");
  await store.close();
  expect((await pool.query("SELECT identity FROM exposed_exposure")).rows).toEqual([{ identity: "p1200" }]);
  expect((await pool.query("SELECT micros FROM exposed_exposure_sums")).rows).toEqual([
    { micros: "5" },
    { micros: "5" },
  ]);
  await store.exposure.remove({ identity: "p1200", payer: "payer 1200" });
  expect((await pool.query("SELECT micros FROM exposed_exposure_sums")).rows).toEqual([]);
  await pool.end();
});

test.each(["repeatable read", "serializable"])(
  "sums of exposure are exact where transactions are %s",
  async (level) => {
    const options = `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`;
    const pool = new pg.Pool({ connectionString: server.url, max: 4, options });
    const store = storeOf(pool, { prefix: `exact_${level.slice(0, 6)}`, now: () => 1 });
    await store.migrate();
    expect((await pool.query("SHOW transaction_isolation")).rows).toEqual([{ transaction_isolation: level }]);
    const entryOf = (at: number) => ({ identity: `p${at}`, payer: "a", micros: "1", untilMs: 2, isDue: false });
    const puts = Array.from({ length: 8 }, (_, at) => store.exposure.put(entryOf(at), 1));
    const seen = (await Promise.allSettled(puts)).filter(({ status }) => status === "fulfilled");
    // One that lost too often against others rejects, and is not counted.
    const { total } = await store.exposure.put(entryOf(8), 1);
    expect(Number(total)).toBe(seen.length + 1);
    const totals = seen.flatMap((put) => (put.status === "fulfilled" ? [Number(put.value.total)] : []));
    expect(totals.sort((one, other) => one - other)).toEqual(seen.map((_, at) => at + 1));
    await pool.end();
  },
);
