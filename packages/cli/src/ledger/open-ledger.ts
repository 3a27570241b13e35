/**
 * Opens the ledger of a store, with the database client that the seller's project has, or of a seller's file.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { ConfigError, type Ledger, type LedgerEntry, type LedgerQuery, type PaymentStore } from "@farebox/core";
import { openLedger } from "@farebox/core/ledger";
import type { PostgresPool, RedisClient, SqliteDatabase } from "@farebox/stores";
import { CliError, wrongCall } from "../frame/cli-error.js";
import { loadSellerModule } from "../seller-module/load.js";

/** The options of every command of the ledger. */
export const LEDGER_OPTIONS: {
  readonly store: { readonly type: "string"; readonly value: "url"; readonly description: string };
  readonly module: { readonly type: "string"; readonly value: "file"; readonly description: string };
} = {
  store: {
    type: "string",
    value: "url",
    description: "sqlite:payments.db, postgres://… or redis://…; without it, the environment variable FAREBOX_STORE",
  },
  module: { type: "string", value: "file", description: "In place of a store, a file that exports payments" },
};

/** The options of commands that read entries of some time. */
export const RANGE_OPTIONS: {
  readonly since: { readonly type: "string"; readonly value: "time"; readonly description: string };
  readonly until: { readonly type: "string"; readonly value: "time"; readonly description: string };
} = {
  since: {
    type: "string",
    value: "time",
    description: "Settled from this time on, in UTC: 2026-11-01 or 2026-11-01T12:00:00Z",
  },
  until: { type: "string", value: "time", description: "Settled before this time" },
};

/** What the lines above become. */
export interface LedgerArguments {
  readonly store: string | undefined;
  readonly module: string | undefined;
}

/** An open ledger. */
export interface OpenedLedger {
  readonly ledger: Ledger;
  close(): Promise<void>;
}

const HOW = "Write --store sqlite:payments.db, --store postgres://…, --store redis://… or --module server.mjs";

/** Opens a ledger. Payers are looked for by their hashes if FAREBOX_LEDGER_SECRET is set. @throws CliError if it cannot be opened */
async function openNamedLedger(
  { store, module }: LedgerArguments,
  env: Readonly<Record<string, string | undefined>>,
): Promise<OpenedLedger> {
  if (module !== undefined) return openOfModule(module);
  const url = store ?? env["FAREBOX_STORE"] ?? "";
  const secret = env["FAREBOX_LEDGER_SECRET"];
  let opened: OpenedStore | undefined;
  try {
    opened = await openStore(url);
    const ledger = openLedger(opened.store, secret === undefined ? {} : { payers: "hashed", secret });
    // A store that cannot be used says so here, and not in the middle of a report.
    for await (const _ of ledger.entries({ limit: 1 })) break;
    return { ledger, close: opened.close };
  } catch (cause) {
    await opened?.close();
    if (cause instanceof CliError) throw cause;
    throw new CliError(
      "FAREBOX_CLI_LEDGER",
      `the ledger cannot be read: ${reasonOf(cause)}`,
      "Check that it is the store of a seller of this version",
      { cause },
    );
  }
}

/** Runs a command on a ledger, and closes it. */
export async function withLedger<T>(
  given: LedgerArguments,
  env: Readonly<Record<string, string | undefined>>,
  use: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const { ledger, close } = await openNamedLedger(given, env);
  try {
    return await use(ledger);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [issue] = error.issues;
    throw wrongCall(`${issue?.path}: ${issue?.received}`, `Write ${issue?.expected}`);
  } finally {
    await close();
  }
}

/** Every entry that matches. */
export async function readEntries(ledger: Ledger, query: LedgerQuery): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const entry of ledger.entries(query)) entries.push(entry);
  return entries;
}

/** The times of a command, as a query. */
export function rangeOf({
  since,
  until,
}: {
  readonly since: string | undefined;
  readonly until: string | undefined;
}): Pick<LedgerQuery, "since" | "until"> {
  return { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
}

async function openOfModule(file: string): Promise<OpenedLedger> {
  const { payments } = await loadSellerModule(file);
  if (payments === undefined)
    throw new CliError(
      "FAREBOX_CLI_MODULE",
      `${file} does not export payments`,
      "Export the result of createPayments() as payments",
    );
  return { ledger: payments.ledger, close: () => payments.close() };
}

interface OpenedStore {
  readonly store: PaymentStore;
  close(): Promise<void>;
}

async function openStore(url: string): Promise<OpenedStore> {
  const [scheme = "", rest = ""] = splitOnce(url, ":");
  if (scheme === "sqlite") return openSqlite(rest.replace(/^\/\//, ""));
  if (scheme === "postgres" || scheme === "postgresql") return openPostgres(url);
  if (scheme === "redis" || scheme === "rediss") return openRedis(url);
  throw wrongCall(url === "" ? "no store is named" : "--store is of no kind that is known", HOW);
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [] : [text.slice(0, at), text.slice(at + 1)];
}

async function openSqlite(file: string): Promise<OpenedStore> {
  const path = resolve(file);
  if (!existsSync(path))
    throw new CliError(
      "FAREBOX_CLI_LEDGER",
      `there is no database ${JSON.stringify(file)}`,
      "Name the file that the seller uses",
    );
  const { sqliteStore } = await import("@farebox/stores/sqlite");
  const database = await openDatabase(path);
  return {
    store: sqliteStore(database),
    async close() {
      database.close();
    },
  };
}

type ClosableDatabase = SqliteDatabase & { close(): void };

/** With the SQLite of Node, or one of the project's. */
async function openDatabase(path: string): Promise<ClosableDatabase> {
  const builtIn = process.getBuiltinModule?.("node:sqlite") as
    | { readonly DatabaseSync: new (path: string) => ClosableDatabase }
    | undefined;
  if (builtIn !== undefined) return new builtIn.DatabaseSync(path);
  const Database = requireOfProject<new (path: string) => ClosableDatabase>(["libsql", "better-sqlite3"], "SQLite");
  return new Database(path);
}

async function openPostgres(url: string): Promise<OpenedStore> {
  const { Pool } = requireOfProject<{
    readonly Pool: new (options: object) => PostgresPool & { end(): Promise<void> };
  }>(["pg"], "PostgreSQL");
  const { postgresStore } = await import("@farebox/stores/postgres");
  const pool = new Pool({ connectionString: url });
  const store = postgresStore(pool);
  return {
    store,
    async close() {
      store.close();
      await pool.end();
    },
  };
}

async function openRedis(url: string): Promise<OpenedStore> {
  const { createClient } = requireOfProject<{
    createClient(
      options: object,
    ): RedisClient & { connect(): Promise<unknown>; destroy(): void; on(name: string, listener: () => void): void };
  }>(["redis"], "Redis");
  const { redisStore } = await import("@farebox/stores/redis");
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (cause) {
    throw new CliError(
      "FAREBOX_CLI_LEDGER",
      `Redis cannot be reached: ${reasonOf(cause)}`,
      "Check the URL, and that Redis runs",
      { cause },
    );
  }
  const store = redisStore(client);
  return {
    store,
    async close() {
      store.close();
      client.destroy();
    },
  };
}

/** A client that the project in this folder has installed. */
function requireOfProject<T>(names: readonly string[], what: string): T {
  const require = createRequire(join(process.cwd(), "package.json"));
  for (const name of names) {
    try {
      return require(name) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  throw new CliError(
    "FAREBOX_CLI_LEDGER",
    `no client of ${what} is installed in this folder`,
    `Run npm install ${names[0]}, or use the folder of the seller's project`,
  );
}

function reasonOf(error: unknown): string {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return message === undefined || message === "" ? String(code ?? error) : String(message);
}
