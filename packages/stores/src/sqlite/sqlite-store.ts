/**
 * The payment store in an SQLite file, for the processes of one machine.
 *
 * @module
 */
import {
  type Claim,
  type ClaimRequest,
  type Owned,
  type PaymentRecord,
  type PaymentStore,
  type SharedExposure,
  type SharedLedger,
  type SharedRun,
  type SharedRuns,
  type StoreProblem,
  TRANSITIONS,
  type Transition,
  UNFINISHED,
} from "@farebox/core";
import { parseOptions, type StoreOptions } from "../options.js";
import { DELIVER_SQL, dropSql, Room } from "../room.js";
import {
  CLAIMED_COLUMNS,
  COLUMNS,
  claimedValues,
  GRACE_MS,
  NEVER_MS,
  RELEASABLE_SQL,
  readRow,
  UNFINISHED_SQL,
  UNLEASED_SQL,
  writtenColumns,
} from "../row.js";
import { Connection, checkDatabase, type SqliteDatabase } from "./database.js";
import { exposureSchema, SqliteExposure } from "./exposure.js";
import { ledgerSchema, SqliteLedger } from "./ledger.js";

export type { StoreOptions } from "../options.js";
export type { SqliteDatabase, SqliteStatement } from "./database.js";

/** A payment store in SQLite. It has no `watch`: SQLite does not tell other processes. */
export type SqliteStore = Required<Omit<PaymentStore, "watch" | "close">>;

/** Records of one page of `unfinished`. */
const PAGE = 50;

/** Old rows that are deleted at once, and how often a process looks for them. */
const BATCH = 200;
const SWEEP_EVERY_MS = 30_000;

/**
 * Creates a payment store in an SQLite file, and its tables. Several processes of one machine may use one file, also at their start.
 *
 * Give the store a database of its own: it sets `journal_mode = WAL` and `synchronous = FULL`.
 *
 * @param database - A `DatabaseSync` of `node:sqlite`, a `Database` of `better-sqlite3` or of `libsql`.
 * @throws ConfigError when it is another object, or an option is wrong; StoreError when the file cannot be used
 */
export function sqliteStore(database: SqliteDatabase, options: StoreOptions = {}): SqliteStore {
  const check = (issues: Parameters<typeof checkDatabase>[1]) => checkDatabase(database, issues);
  const { prefix, timeoutMs, maxAnswerBytes, now } = parseOptions(options, { tables: true, check });
  const connection = new Connection(database, timeoutMs);
  connection.open(schema(prefix), () => update(connection, prefix));
  return new Sqlite(connection, prefix, maxAnswerBytes, now);
}

class Sqlite implements SqliteStore {
  readonly runs: SharedRuns;
  readonly exposure: SharedExposure;
  readonly ledger: SharedLedger;
  readonly #ledger: SqliteLedger;
  readonly #exposure: SqliteExposure;
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #table: string;
  readonly #now: () => number;
  readonly #room: Room;
  readonly #drop: string;
  #lastSweepMs: number;

  constructor(connection: Connection, prefix: string, maxAnswerBytes: number, now: () => number) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#table = `${prefix}_payments`;
    this.#now = now;
    this.#room = new Room(maxAnswerBytes);
    this.#drop = `${dropSql({ table: this.#table, key: "rowid", most: "?", nowMs: "?" })} RETURNING 1`;
    this.#lastSweepMs = now() - Math.floor(Math.random() * SWEEP_EVERY_MS);
    this.runs = { put: (run, nowMs) => this.#putRun(run, nowMs), remove: (run) => this.#removeRun(run) };
    this.#exposure = new SqliteExposure(connection, prefix);
    this.exposure = this.#exposure;
    this.#ledger = new SqliteLedger(connection, prefix);
    this.ledger = this.#ledger;
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = await this.#connection.write(() => this.#claim(request));
    this.#sweepSoon();
    return claim;
  }

  #claim(request: ClaimRequest): Claim {
    const { identity, expiresAtMs, identifier = null } = request;
    const nowMs = this.#now();
    const forgetAtMs = Math.max(expiresAtMs, nowMs) + GRACE_MS;
    const insert = () =>
      this.#connection.get(
        `INSERT INTO ${this.#table} (state, forget_at_ms, ${CLAIMED_COLUMNS.join(", ")})
         VALUES ('claimed', ?, ${CLAIMED_COLUMNS.map(() => "?").join(", ")}) ON CONFLICT DO NOTHING RETURNING 1 AS is_new`,
        ...[forgetAtMs, ...claimedValues(request)],
      );
    if (insert() !== undefined) return { kind: "claimed" };
    const gone = `forget_at_ms <= ? AND state NOT IN (${UNFINISHED_SQL})`;
    this.#connection.get(`DELETE FROM ${this.#table} WHERE identity = ? AND ${gone} RETURNING 1`, identity, nowMs);
    this.#connection.get(`DELETE FROM ${this.#table} WHERE identifier = ? AND ${gone} RETURNING 1`, identifier, nowMs);
    if (insert() !== undefined) return { kind: "claimed" };
    const row = this.#connection.get(`SELECT ${COLUMNS} FROM ${this.#table} WHERE identity = ?`, identity);
    return row === undefined ? { kind: "identifier_taken" } : { kind: "taken", record: readRow(row) };
  }

  async find(identity: string): Promise<PaymentRecord | undefined> {
    const row = await this.#connection.read(() =>
      this.#connection.get(
        `SELECT ${COLUMNS} FROM ${this.#table}
         WHERE identity = ? AND (forget_at_ms > ? OR state IN (${UNFINISHED_SQL}))`,
        ...[identity, this.#now()],
      ),
    );
    return row && readRow(row);
  }

  async transition(given: Transition): Promise<boolean> {
    const change = this.#room.fit(given);
    const { identity, from, owner, to, entry } = change;
    if (!TRANSITIONS[from].includes(to)) return false;
    const nowMs = this.#now();
    const columns = writtenColumns(change, nowMs);
    const sets = columns.map(([column]) => `${column} = ?`);
    if (change.delivers === true && change.answer === undefined) sets.push(DELIVER_SQL);
    const hasEnded = UNFINISHED.includes(from) && !UNFINISHED.includes(to);
    if (hasEnded) sets.push(`forget_at_ms = max(expires_at_ms, ?) + ${GRACE_MS}`);
    if (UNFINISHED.includes(to)) sets.push(`forget_at_ms = ${NEVER_MS}`);
    const row = await this.#connection.write(() => {
      const { transaction = null } = change;
      const paid = `SELECT 1 FROM ${this.#table} WHERE paid_by = ? AND identity <> ?`;
      if (transaction !== null && this.#connection.get(paid, transaction, identity) !== undefined) return undefined;
      const changed = this.#connection.get(
        `UPDATE ${this.#table} SET ${sets.join(", ")}
         WHERE identity = ? AND state = ? AND owner = ? AND (forget_at_ms > ? OR state IN (${UNFINISHED_SQL}))
         RETURNING 1 AS is_changed`,
        ...columns.map(([, value]) => value),
        ...[...(hasEnded ? [nowMs] : []), identity, from, owner, nowMs],
      );
      if (changed !== undefined && entry !== undefined) this.#ledger.add(entry);
      if (changed !== undefined && this.#room.isDue(change)) this.#connection.all(this.#drop, nowMs, this.#room.most);
      return changed;
    });
    return row !== undefined;
  }

  async release(identity: string, owner: string): Promise<void> {
    await this.#connection.write(() =>
      this.#connection.get(
        `DELETE FROM ${this.#table} WHERE identity = ? AND owner = ? AND state IN (${RELEASABLE_SQL}) RETURNING 1`,
        ...[identity, owner],
      ),
    );
  }

  async *unfinished(): AsyncIterable<PaymentRecord> {
    for (let after = ""; ; ) {
      const rows = await this.#connection.read(() =>
        this.#connection.all(
          `SELECT ${COLUMNS} FROM ${this.#table}
           WHERE state IN (${UNFINISHED_SQL}) AND identity > ? ORDER BY identity LIMIT ${PAGE}`,
          after,
        ),
      );
      for (const row of rows) yield readRow(row);
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = String(last["identity"]);
    }
  }

  async renew(owned: readonly Owned[], leaseUntilMs: number): Promise<void> {
    await this.#connection.write(() => {
      for (const { identity, owner } of owned) {
        this.#connection.get(
          `UPDATE ${this.#table} SET lease_until_ms = ?
           WHERE identity = ? AND owner = ? AND state NOT IN (${UNLEASED_SQL}) RETURNING 1`,
          ...[leaseUntilMs, identity, owner],
        );
      }
    });
  }

  async keep(name: string, value: string): Promise<string> {
    const row = await this.#connection.write(() =>
      this.#connection.get(
        `INSERT INTO ${this.#prefix}_kept (name, value) VALUES (?, ?)
         ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING value`,
        ...[name, value],
      ),
    );
    return String(row?.["value"]);
  }

  async ready(): Promise<readonly StoreProblem[]> {
    return this.#connection.read(() => {
      this.#connection.checkFile();
      const problems: StoreProblem[] = [];
      const add = (detail: string) => problems.push({ kind: "NOT_DURABLE", detail });
      // Fails if a table or a column is missing.
      this.#connection.get(`SELECT ${COLUMNS}, forget_at_ms FROM ${this.#table} LIMIT 1`);
      if (!this.#connection.hasFile) add("the database is in memory; open a file");
      const synchronous = Number(this.#connection.get("PRAGMA synchronous")?.["synchronous"]);
      if (synchronous < FULL) add("synchronous is below FULL; set it to FULL");
      return problems;
    });
  }

  async #putRun(run: SharedRun, nowMs: number): Promise<readonly SharedRun[]> {
    const table = `${this.#prefix}_runs`;
    const rows = await this.#connection.write(() => {
      this.#connection.all(`DELETE FROM ${table} WHERE payer = ? AND until_ms <= ? RETURNING 1`, run.payer, nowMs);
      this.#connection.get(
        `INSERT INTO ${table} (payer, id, until_ms, run) VALUES (?, ?, ?, ?)
         ON CONFLICT (payer, id) DO UPDATE SET until_ms = excluded.until_ms, run = excluded.run RETURNING 1`,
        ...[run.payer, run.id, run.untilMs, JSON.stringify(run)],
      );
      return this.#connection.all(`SELECT run FROM ${table} WHERE payer = ? AND until_ms > ?`, run.payer, nowMs);
    });
    return rows.map((row) => JSON.parse(String(row["run"])));
  }

  async #removeRun({ id, payer }: Pick<SharedRun, "id" | "payer">): Promise<void> {
    await this.#connection.write(() =>
      this.#connection.get(`DELETE FROM ${this.#prefix}_runs WHERE payer = ? AND id = ? RETURNING 1`, payer, id),
    );
  }

  /** Deletes some old rows after a claim. The next claim deletes more, if there are more. */
  #sweepSoon(): void {
    const nowMs = this.#now();
    if (nowMs - this.#lastSweepMs < SWEEP_EVERY_MS) return;
    this.#lastSweepMs = nowMs;
    const [payments, runs] = [this.#table, `${this.#prefix}_runs`];
    const deleteSome = this.#connection.write(() => {
      const old = this.#connection.all(
        `DELETE FROM ${payments} WHERE rowid IN (
           SELECT rowid FROM ${payments} WHERE forget_at_ms <= ? AND state NOT IN (${UNFINISHED_SQL}) LIMIT ${BATCH}
         ) RETURNING 1`,
        nowMs,
      );
      const ended = this.#connection.all(
        `DELETE FROM ${runs} WHERE rowid IN (SELECT rowid FROM ${runs} WHERE until_ms <= ? LIMIT ${BATCH}) RETURNING 1`,
        nowMs,
      );
      const isMoreExposed = this.#exposure.removeEnded(nowMs);
      if (old.length === BATCH || ended.length === BATCH || isMoreExposed) this.#lastSweepMs = 0;
    });
    // The next claim tries again.
    deleteSome.catch(() => {});
  }
}

/** `PRAGMA synchronous`: each commit waits for the disk. */
const FULL = 2;

const UNSAID = "TEXT NOT NULL DEFAULT ''";

/** The columns that came later, and what a row of before has in them. */
const ADDED = {
  ...{ paid_by: "TEXT", kept_bytes: "INTEGER", kept_at_ms: "INTEGER" },
  ...{ mode: "TEXT NOT NULL DEFAULT 'after'", route: UNSAID, method: UNSAID, target: UNSAID },
  ...{ has_body: "INTEGER NOT NULL DEFAULT 0", mark: "TEXT" },
};

/** Adds what the file does not have yet: a new one has none of it. */
function update(connection: Connection, prefix: string): string {
  const table = `${prefix}_payments`;
  const columns = connection.all(`SELECT name FROM pragma_table_info('${table}')`).map(({ name }) => name);
  const missing = Object.entries(ADDED).filter(([name]) => !columns.includes(name));
  const add = missing.map(([name, type]) => `ALTER TABLE ${table} ADD COLUMN ${name} ${type};`).join(" ");
  return `${add} CREATE UNIQUE INDEX IF NOT EXISTS ${table}_paid_by ON ${table} (paid_by);
    CREATE INDEX IF NOT EXISTS ${table}_kept ON ${table} (kept_at_ms, kept_bytes) WHERE kept_bytes IS NOT NULL`;
}

/** The first two indices were for fewer unfinished states, by other names. */
function schema(prefix: string): string {
  return `
    DROP INDEX IF EXISTS ${prefix}_payments_unfinished;
    DROP INDEX IF EXISTS ${prefix}_payments_forget;
    CREATE TABLE IF NOT EXISTS ${prefix}_payments (
      identity TEXT PRIMARY KEY NOT NULL,
      binding TEXT NOT NULL,
      state TEXT NOT NULL,
      owner TEXT NOT NULL,
      expires_at_ms INTEGER NOT NULL,
      forget_at_ms INTEGER NOT NULL,
      facilitator TEXT,
      identifier TEXT UNIQUE,
      request TEXT,
      lease_until_ms INTEGER,
      answer TEXT,
      body BLOB,
      receipt TEXT
    );
    CREATE INDEX IF NOT EXISTS ${prefix}_payments_open ON ${prefix}_payments (identity) WHERE state IN (${UNFINISHED_SQL});
    CREATE INDEX IF NOT EXISTS ${prefix}_payments_ended ON ${prefix}_payments (forget_at_ms) WHERE state NOT IN (${UNFINISHED_SQL});
    CREATE TABLE IF NOT EXISTS ${prefix}_runs (
      payer TEXT NOT NULL,
      id TEXT NOT NULL,
      until_ms INTEGER NOT NULL,
      run TEXT NOT NULL,
      PRIMARY KEY (payer, id)
    );
    CREATE INDEX IF NOT EXISTS ${prefix}_runs_until ON ${prefix}_runs (until_ms);
    CREATE TABLE IF NOT EXISTS ${prefix}_kept (
      name TEXT PRIMARY KEY NOT NULL,
      value TEXT NOT NULL
    );
    ${exposureSchema(prefix)};
    ${ledgerSchema(prefix)}`;
}
