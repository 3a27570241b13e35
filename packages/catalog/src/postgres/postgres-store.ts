/**
 * The store in PostgreSQL, for facilitators of several processes or machines. Full text is PostgreSQL's, typing errors are
 * found by pg_trgm, which the first call installs.
 *
 * @module
 */
import { createIssues } from "@farebox/core";
import pg from "pg";
import type { CatalogStore } from "../store.js";
import { createReader } from "./read.js";
import { SCHEMA } from "./schema.js";
import { removeEntry, updateEntry } from "./write.js";

/** Where the database is. */
export interface PostgresCatalogStoreOptions {
  /** `postgres://user:password@host:5432/database`. Its user may create tables and the extension pg_trgm, or both are there. */
  readonly url: string;
  /** Most connections, 1 to 100. Default 10. */
  readonly maxConnections?: number;
  /** How long one statement may take, 100 to 600000 ms. Default 10000. */
  readonly statementTimeoutMs?: number;
}

/**
 * Prepares the store. Nothing is connected before the first call, which makes the tables; while that fails, so do the calls.
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
  // A connection that breaks while nobody uses it is replaced when somebody does; unheard, it would end the process.
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
  const reader = createReader(async (sql, values) => (await (await ready()).query(sql, values)).rows);
  return Object.freeze({
    update: async (key, decide) => inTransaction(await ready(), (client) => updateEntry(client, key, decide)),
    remove: async (key) => inTransaction(await ready(), (client) => removeEntry(client, key)),
    ...reader,
    close: () => pool.end(),
  } satisfies CatalogStore);
}

function parseOptions(options: PostgresCatalogStoreOptions): PostgresCatalogStoreOptions {
  const { url, maxConnections = 10, statementTimeoutMs = 10_000 } = options ?? {};
  const issues = createIssues();
  issues.checkKeys("options", options, ["url", "maxConnections", "statementTimeoutMs"]);
  // Not quoted: it has the password.
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

/** Everything or nothing. A connection whose transaction cannot be ended is thrown away. */
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
