/**
 * The payment store in PostgreSQL. Each call is one statement, and so one round trip.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  type Claim,
  type ClaimRequest,
  type ExposureEntry,
  type ExposureSums,
  type Owned,
  type PaymentRecord,
  type PaymentStore,
  type SharedExposure,
  type SharedLedger,
  type SharedRun,
  type SharedRuns,
  StoreError,
  type StoreProblem,
  TRANSITIONS,
  type Transition,
  UNFINISHED,
} from "@farebox/core";
import { type ParsedOptions, parseOptions, type StoreOptions } from "../options.js";
import { DELIVER_SQL, dropSql, Room } from "../room.js";
import {
  CLAIMED_COLUMNS,
  COLUMNS,
  claimedValues,
  GRACE_MS,
  NEVER_MS,
  RELEASABLE_SQL,
  type Row,
  readRow,
  UNFINISHED_SQL,
  UNLEASED_SQL,
  writtenColumns,
} from "../row.js";
import { insertEntry, PostgresLedger } from "./ledger.js";
import { PostgresNotifications } from "./notifications.js";
import { checkPool, Database, isPgPool, MIGRATION_ADVICE, type PostgresPool, type Value } from "./pool.js";
import { LOCKS, OLDEST_SERVER, SCHEMA_VERSION, schema } from "./schema.js";
import { Sweeper } from "./sweeper.js";

export type { StoreOptions } from "../options.js";
export type { PostgresPool } from "./pool.js";
export { schema } from "./schema.js";

/** A payment store in PostgreSQL. `watch` is absent unless the pool is one of `pg` with two connections or more. */
export interface PostgresStore extends Required<Omit<PaymentStore, "watch">>, Pick<PaymentStore, "watch"> {
  /** Creates the tables, or updates them. Safe to call at each start, by any number of processes. */
  migrate(): Promise<void>;
  /** Gives back the connection that the store has taken for notifications. The pool stays open. */
  close(): Promise<void>;
}

/** Records of one page of `unfinished`. */
const PAGE = 50;

/**
 * Creates a payment store in PostgreSQL 13 or later. Call `migrate()` once, or run the SQL of `schema()`.
 *
 * A row is forgotten ten minutes after its payment has expired, by the clock of the process, and deleted some time later. One that is
 * unfinished stays until it has ended.
 *
 * @param pool - A `Pool` of `pg`, a PGlite, or `{ query: (text, values) => … }`. Each call may be a transaction of its own.
 * @throws ConfigError when it is another object, or an option is wrong
 */
export function postgresStore(pool: PostgresPool, options: StoreOptions = {}): PostgresStore {
  const { prefix, timeoutMs, maxAnswerBytes, now } = parseOptions(options, {
    tables: true,
    check: (issues) => checkPool(pool, issues),
  });
  return new Postgres(pool, { prefix, timeoutMs, maxAnswerBytes, now });
}

class Postgres implements PostgresStore {
  readonly runs: SharedRuns;
  readonly exposure: SharedExposure;
  readonly ledger: SharedLedger;
  readonly watch?: NonNullable<PaymentStore["watch"]>;
  readonly #database: Database;
  readonly #prefix: string;
  readonly #table: string;
  readonly #now: () => number;
  readonly #limitMs: number;
  readonly #room: Room;
  readonly #drop: string;
  readonly #sweeper: Sweeper;
  readonly #notifications: PostgresNotifications | undefined;

  constructor(pool: PostgresPool, { prefix, timeoutMs: limitMs, maxAnswerBytes, now }: ParsedOptions) {
    this.#database = new Database(pool, limitMs);
    this.#prefix = prefix;
    this.#table = `${prefix}_payments`;
    this.#now = now;
    this.#limitMs = limitMs;
    this.#room = new Room(maxAnswerBytes);
    // In one process at a time: two could wait for each other.
    const rows = { table: this.#table, key: "key", most: "$1::bigint", nowMs: "$2::bigint" };
    const turn = `(SELECT pg_try_advisory_xact_lock(${LOCKS.drop}, hashtext('${prefix}')))`;
    this.#drop = `WITH turn AS MATERIALIZED ${turn} ${dropSql(rows)} AND (SELECT * FROM turn)`;
    this.#sweeper = new Sweeper(this.#database, prefix, now);
    this.runs = { put: (run, nowMs) => this.#putRun(run, nowMs), remove: (run) => this.#removeRun(run) };
    this.exposure = {
      put: (entry, nowMs) => this.#putExposure(entry, nowMs),
      remove: (entry) => this.#removeExposure(entry),
    };
    this.ledger = new PostgresLedger((text, values) => this.#run(text, values), prefix);
    if (!isPgPool(pool) || mostConnections(pool) < 2) return;
    const notifications = new PostgresNotifications(pool, `${prefix}_changes`, limitMs);
    this.#notifications = notifications;
    this.watch = (identity, onChange) => this.#watch(notifications, identity, onChange);
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const until = this.#now() + this.#limitMs;
    for (;;) {
      const claim = (await this.#tryClaim(request)) ?? undefined;
      if (claim !== undefined) return claim;
      if (this.#now() > until) throw new StoreError("PostgreSQL: the payment is claimed and released without end");
    }
  }

  /** Returns `undefined` when another record was created or removed at the same moment; then its outcome has to be looked at again. */
  async #tryClaim(request: ClaimRequest): Promise<Claim | undefined> {
    const { identity, owner, expiresAtMs, identifier = null } = request;
    const key = keyOf(identity);
    const nowMs = this.#now();
    const forgetAtMs = Math.max(expiresAtMs, nowMs) + GRACE_MS;
    // The request has been refused by then, so a claim that comes too late is given back.
    const onLate = ([row]: readonly Row[]) => {
      if (row?.["kind"] === "claimed") void this.release(identity, owner).catch(() => {});
    };
    const rows = await this.#run(
      `WITH claimed AS (
        INSERT INTO ${this.#table} (key, state, forget_at_ms, ${CLAIMED_COLUMNS.join(", ")})
        VALUES ($1::bytea, 'claimed', $2::bigint, ${CLAIMED_VALUES})
        ON CONFLICT DO NOTHING RETURNING true AS is_new
      )
      SELECT 'claimed' AS kind, NULL::bigint AS forget_at_ms, ${NO_COLUMNS} FROM claimed
      UNION ALL SELECT 'taken', forget_at_ms, ${MARKED_COLUMNS} FROM ${this.#table} WHERE key = $1::bytea
      UNION ALL SELECT 'identifier_taken', forget_at_ms, ${MARKED_COLUMNS} FROM ${this.#table}
        WHERE identifier = $3::text AND key <> $1::bytea`,
      [key, forgetAtMs, identifier, ...claimedValues(request)],
      { onLate },
    );
    const of = (kind: string) => rows.find((row) => row["kind"] === kind);
    if (of("claimed") !== undefined) return { kind: "claimed" };
    const [taken, identified] = [of("taken"), of("identifier_taken")];
    const other = taken ?? identified;
    if (other === undefined) return undefined;
    if (isForgotten(other, nowMs)) {
      await this.#removeForgotten(other, nowMs);
      return undefined;
    }
    return taken === undefined ? { kind: "identifier_taken" } : { kind: "taken", record: readMarked(taken) };
  }

  async find(identity: string): Promise<PaymentRecord | undefined> {
    const [row] = await this.#run(
      `SELECT ${MARKED_COLUMNS} FROM ${this.#table}
       WHERE key = $1::bytea AND (forget_at_ms > $2::bigint OR state IN (${UNFINISHED_SQL}))`,
      [keyOf(identity), this.#now()],
    );
    return row && readMarked(row);
  }

  async transition(given: Transition): Promise<boolean> {
    const change = this.#room.fit(given);
    const { identity, from, owner, to, entry } = change;
    if (!TRANSITIONS[from].includes(to)) return false;
    const nowMs = this.#now();
    const columns = writtenColumns(change, nowMs);
    const values: Value[] = [keyOf(identity), from, owner, nowMs, `${this.#prefix}_changes`];
    const sets = columns.map(([column, value]) => `${column} = $${values.push(value)}::${typeOf(column)}`);
    if (change.delivers === true && change.answer === undefined) sets.push(DELIVER_SQL);
    if (UNFINISHED.includes(to)) sets.push(`forget_at_ms = ${NEVER_MS}`);
    else if (UNFINISHED.includes(from)) sets.push(`forget_at_ms = greatest(expires_at_ms, $4::bigint) + ${GRACE_MS}`);
    const recorded = entry === undefined ? "" : `, recorded AS (${insertEntry(this.#prefix, entry, values)})`;
    const rows = await this.#run(
      `WITH changed AS (
        UPDATE ${this.#table} SET ${sets.join(", ")}
        WHERE key = $1::bytea AND state = $2::text AND owner = $3::text
          AND (forget_at_ms > $4::bigint OR state IN (${UNFINISHED_SQL}))
        RETURNING key, is_watched
      )${recorded} SELECT ${NOTIFY} FROM changed`,
      values,
      { unique: change.transaction !== undefined },
    );
    if (rows.length === 0) return false;
    if (this.#room.isDue(change)) await this.#dropOldest(nowMs);
    return true;
  }

  async release(identity: string, owner: string): Promise<void> {
    await this.#run(
      `WITH changed AS (
        DELETE FROM ${this.#table}
        WHERE key = $1::bytea AND owner = $2::text AND state IN (${RELEASABLE_SQL})
        RETURNING key, is_watched
      ) SELECT ${NOTIFY.replace("$5", "$3")} FROM changed`,
      [keyOf(identity), owner, `${this.#prefix}_changes`],
    );
  }

  async *unfinished(): AsyncIterable<PaymentRecord> {
    for (let after: Buffer = Buffer.alloc(0); ; ) {
      const rows = await this.#run(
        `SELECT key, ${MARKED_COLUMNS} FROM ${this.#table}
         WHERE state IN (${UNFINISHED_SQL}) AND key > $1::bytea ORDER BY key LIMIT ${PAGE}`,
        [after],
      );
      const records = rows.map(readMarked);
      yield* records;
      const last = records.at(-1);
      if (last === undefined || records.length < PAGE) return;
      after = keyOf(last.identity);
    }
  }

  async renew(owned: readonly Owned[], leaseUntilMs: number): Promise<void> {
    if (owned.length === 0) return;
    const records = owned.map(({ identity, owner }) => ({ key: keyOf(identity).toString("hex"), owner }));
    await this.#run(
      `UPDATE ${this.#table} AS t SET lease_until_ms = $1::bigint
       FROM json_to_recordset($2::text::json) AS o(key text, owner text)
       WHERE t.key = decode(o.key, 'hex') AND t.owner = o.owner AND t.state NOT IN (${UNLEASED_SQL})`,
      [leaseUntilMs, JSON.stringify(records)],
    );
  }

  async keep(name: string, value: string): Promise<string> {
    const [row] = await this.#run(
      `INSERT INTO ${this.#prefix}_kept AS k (name, value) VALUES ($1::text, $2::text)
       ON CONFLICT (name) DO UPDATE SET name = k.name RETURNING k.value`,
      [`value ${name}`, value],
    );
    return String(row?.["value"]);
  }

  async migrate(): Promise<void> {
    await this.#database.run(schema(this.#prefix), [], { advice: MIGRATION_ADVICE });
  }

  async ready(): Promise<readonly StoreProblem[]> {
    const [server] = await this.#run(
      `SELECT current_setting('server_version_num') AS version, current_setting('server_version') AS name,
         current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
         pg_is_in_recovery() AS is_replica`,
      [],
    );
    if (Number(server?.["version"]) < OLDEST_SERVER) {
      throw new StoreError(`the PostgreSQL server is version ${server?.["name"]}: use version 13 or later`);
    }
    if (server?.["is_replica"] === true) {
      throw new StoreError("the PostgreSQL server is a read-only replica: connect to its primary");
    }
    const [row] = await this.#run(`SELECT value FROM ${this.#prefix}_kept WHERE name = 'schema'`, []);
    if (!(Number(row?.["value"]) >= SCHEMA_VERSION)) {
      throw new StoreError("PostgreSQL: the tables are of an older version: call `await store.migrate()`");
    }
    // Fails if the user may not read them, or a column is missing.
    await this.find("ready");
    await this.ledger.find("ready");
    const problems: StoreProblem[] = [];
    for (const setting of ["fsync", "synchronous_commit"]) {
      if (server?.[setting] !== "off") continue;
      problems.push({ kind: "NOT_DURABLE", detail: `${setting} is off; set it to on` });
    }
    return problems;
  }

  async close(): Promise<void> {
    this.#notifications?.close();
    await this.#sweeper.end();
  }

  /** Rows are watched one by one, because a notification takes a lock that all committing transactions wait for. */
  async #watch(notifications: PostgresNotifications, identity: string, onChange: () => void): Promise<() => void> {
    const key = keyOf(identity);
    const stop = await notifications.watch(key.toString("hex"), onChange);
    try {
      const rows = await this.#run(
        `UPDATE ${this.#table} SET is_watched = true WHERE key = $1::bytea RETURNING true AS is_there`,
        [key],
      );
      if (rows.length === 0) setImmediate(onChange);
    } catch (error) {
      stop();
      throw error;
    }
    return stop;
  }

  async #putRun(run: SharedRun, nowMs: number): Promise<readonly SharedRun[]> {
    const [row] = await this.#run(
      `INSERT INTO ${this.#prefix}_runs AS r (key, until_ms, runs)
       VALUES ($1::bytea, $2::bigint, jsonb_build_object($3::text, $4::text::jsonb))
       ON CONFLICT (key) DO UPDATE SET until_ms = greatest(r.until_ms, excluded.until_ms), runs = excluded.runs || (
         SELECT coalesce(jsonb_object_agg(e.id, e.run), '{}') FROM jsonb_each(r.runs) AS e(id, run)
         WHERE (e.run ->> 'untilMs')::bigint > $5::bigint AND e.id <> $3::text
       ) RETURNING runs::text AS runs`,
      [keyOf(run.payer), run.untilMs, run.id, JSON.stringify(run), nowMs],
    );
    const runs: Record<string, SharedRun> = JSON.parse(String(row?.["runs"]));
    return Object.values(runs).filter(({ untilMs }) => untilMs > nowMs);
  }

  async #removeRun({ id, payer }: Pick<SharedRun, "id" | "payer">): Promise<void> {
    await this.#run(`UPDATE ${this.#prefix}_runs SET runs = runs - $2::text WHERE key = $1::bytea`, [keyOf(payer), id]);
  }

  async #putExposure(entry: ExposureEntry, nowMs: number): Promise<ExposureSums> {
    const { identity, payer, micros, untilMs, isDue } = entry;
    const [row] = await this.#run(
      `SELECT payer_sum, total_sum, due_identities FROM ${this.#prefix}_expose(
         $1::bytea, $2::text, $3::bytea, $4::text::numeric, $5::bigint, $6::boolean, $7::bigint)`,
      [keyOf(identity), identity, keyOf(payer), micros, untilMs, isDue, nowMs],
    );
    return {
      payer: String(row?.["payer_sum"]),
      total: String(row?.["total_sum"]),
      due: JSON.parse(String(row?.["due_identities"])),
    };
  }

  async #removeExposure({ identity }: Pick<ExposureEntry, "identity">): Promise<void> {
    await this.#run(`SELECT 1 FROM ${this.#prefix}_expose($1::bytea, NULL, NULL, NULL, NULL, NULL, 0)`, [
      keyOf(identity),
    ]);
  }

  /** The change was made. If this fails, the next change that brings a response tries again. */
  async #dropOldest(nowMs: number): Promise<void> {
    try {
      await this.#run(this.#drop, [this.#room.most, nowMs]);
    } catch {
      this.#room.tryAgain();
    }
  }

  async #removeForgotten(row: Row, nowMs: number): Promise<void> {
    await this.#run(
      `DELETE FROM ${this.#table}
       WHERE key = $1::bytea AND forget_at_ms <= $2::bigint AND state NOT IN (${UNFINISHED_SQL})`,
      [keyOf(readMarked(row).identity), nowMs],
    );
  }

  async #run(
    text: string,
    values: readonly Value[],
    how?: { readonly onLate?: (rows: readonly Row[]) => void; readonly unique?: boolean },
  ): Promise<readonly Row[]> {
    const rows = await this.#database.run(text, values, how);
    this.#sweeper.tryNow();
    return rows;
  }
}

/** PGlite drops a byte order mark in front of a text, so texts that may begin with any character are read behind another one. */
const MARKED: readonly string[] = ["identity", "binding", "owner", "route", "method", "target"];
const MARKED_COLUMNS = COLUMNS.split(", ")
  .map((column) => (MARKED.includes(column) ? `'=' || ${column} AS ${column}` : column))
  .join(", ");

function readMarked(row: Row): PaymentRecord {
  const texts = MARKED.map((column) => [column, String(row[column]).slice(1)]);
  return readRow({ ...row, ...Object.fromEntries(texts) });
}

/** For a part of a UNION that has no record. */
const NO_COLUMNS = COLUMNS.split(", ")
  .map((column) => `NULL::${typeOf(column)} AS ${column}`)
  .join(", ");

/** The parameters of a claim's columns, from `$4` on. */
const CLAIMED_VALUES = CLAIMED_COLUMNS.map((column, at) => `$${at + 4}::${typeOf(column)}`).join(", ");

/** Tells the watchers of a row. */
const NOTIFY = "CASE WHEN is_watched THEN pg_notify($5::text, encode(key, 'hex')) END";

function typeOf(column: string): string {
  if (column.endsWith("_ms")) return "bigint";
  if (column === "kept_bytes") return "bigint";
  if (column === "has_body") return "integer";
  return column === "body" ? "bytea" : "text";
}

function keyOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function isForgotten(row: Row, nowMs: number): boolean {
  return Number(row["forget_at_ms"]) <= nowMs && !UNFINISHED.some((state) => state === row["state"]);
}

/** A pool with one connection would wait for itself. */
function mostConnections(pool: object): number {
  const options: unknown = Reflect.get(pool, "options");
  const most: unknown = typeof options === "object" && options !== null ? Reflect.get(options, "max") : undefined;
  return typeof most === "number" ? most : Number.POSITIVE_INFINITY;
}
