/**
 * The store in PostgreSQL, for facilitators with several processes or machines. PostgreSQL searches the texts; pg_trgm, which
 * the first call installs, finds similar spellings.
 *
 * Everything exported here is public API.
 *
 * @module
 */
import { createIssues } from "@farebox/core/issues";
import pg from "pg";
import type { CatalogStore } from "../store.js";
import { createReader, type RunQuery } from "./read.js";
import { POSTPONE, removeEntry, SCHEMA, TAKE_DUE, updateEntry } from "./write.js";

/** Options of `createPostgresCatalogStore`. */
export interface PostgresCatalogStoreOptions {
  /** `postgres://user:password@host:5432/database`. The user must be able to create tables and the extension pg_trgm, unless both exist. */
  readonly url: string;
  /** Most connections, 1 to 100. Default 10. */
  readonly maxConnections?: number;
  /** Time limit of one statement, 100 to 600000 ms. Default 10000. */
  readonly statementTimeoutMs?: number;
}

/**
 * Creates the store. The first call connects and creates the tables. Calls reject until that succeeds.
 *
 * @throws ConfigError when the options are wrong.
 */
export function createPostgresCatalogStore(options: PostgresCatalogStoreOptions): CatalogStore {
  const { url, maxConnections = 10, statementTimeoutMs = 10_000 } = parseOptions(options);
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    statement_timeout: statementTimeoutMs,
    connectionTimeoutMillis: 5_000,
  });
  // The pool replaces an idle connection that breaks. Without a listener its error would end the process.
  pool.on("error", () => {});
  let prepared: Promise<unknown> | undefined;
  const ready = async (): Promise<pg.Pool> => {
    prepared ??= pool.query(SCHEMA).catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    await prepared;
    return pool;
  };
  const run: RunQuery = async (sql, values) => (await (await ready()).query(sql, values)).rows;
  return Object.freeze({
    update: async (key, decide) => inTransaction(await ready(), (client) => updateEntry(client, key, decide)),
    remove: async (key) => inTransaction(await ready(), (client) => removeEntry(client, key)),
    async takeDue({ nowMs, untilMs, limit }) {
      const taken = (await run(TAKE_DUE, [nowMs, untilMs, limit])) as readonly { id: string; claims: string }[];
      return taken.map(({ id, claims }) => ({ id: Number(id), claims }));
    },
    async postpone(id, dueMs) {
      await run(POSTPONE, [id, dueMs]);
    },
    ...createReader(run),
    close: () => pool.end(),
  } satisfies CatalogStore);
}

function parseOptions(options: PostgresCatalogStoreOptions): PostgresCatalogStoreOptions {
  const { url, maxConnections = 10, statementTimeoutMs = 10_000 } = options ?? {};
  const issues = createIssues();
  issues.checkKeys("options", options, ["url", "maxConnections", "statementTimeoutMs"]);
  // The issue does not quote the URL, because it holds the password.
  const isUrl = typeof url === "string" && /^postgres(?:ql)?:\/\//.test(url);
  if (!isUrl) issues.addText("options.url", "a URL such as postgres://user:password@host:5432/database", "another");
  if (!isWithin(maxConnections, 1, 100)) {
    issues.add("options.maxConnections", "a whole number from 1 to 100", maxConnections);
  }
  if (!isWithin(statementTimeoutMs, 100, 600_000)) {
    issues.add("options.statementTimeoutMs", "a whole number from 100 to 600000", statementTimeoutMs);
  }
  issues.throwIfAny();
  return options;
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** Runs a transaction. A connection that cannot roll back is discarded. */
async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
