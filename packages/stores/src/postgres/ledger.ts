/**
 * The ledger in PostgreSQL.
 *
 * Entries get their positions when they are read, one reader at a time. A number that is taken while the entry is written could be seen
 * after a higher one, and whoever had read that one would miss it.
 *
 * @module
 */
import type {
  CursorLease,
  LedgerCount,
  LedgerEntry,
  LedgerSearch,
  NewLedgerEntry,
  RefundChange,
  SharedLedger,
} from "@farebox/core";
import {
  cellsOf,
  conditionsOf,
  dayOf,
  ENTRY_COLUMNS,
  isNumeric,
  NEW_ENTRY_COLUMNS,
  readEntry,
  SWEPT_AT_ONCE,
} from "../ledger-row.js";
import type { Row } from "../row.js";
import type { Value } from "./pool.js";

/** Runs a statement. */
type Run = (text: string, values: readonly Value[]) => Promise<readonly Row[]>;

/** The ledger of all processes that use the database. */
export class PostgresLedger implements SharedLedger {
  readonly #run: Run;
  readonly #prefix: string;
  readonly #table: string;

  constructor(run: Run, prefix: string) {
    this.#run = run;
    this.#prefix = prefix;
    this.#table = `${prefix}_ledger`;
  }

  async list(search: LedgerSearch): Promise<readonly LedgerEntry[]> {
    await this.#number();
    const values: Value[] = [search.limit];
    const conditions = conditionsOf(search).map(([comparison, value]) => {
      const type = typeof value === "number" ? "bigint" : "text";
      return `${comparison} $${values.push(value)}::${type}`;
    });
    const rows = await this.#run(
      `SELECT ${ENTRY_COLUMNS} FROM ${this.#table} WHERE ${conditions.join(" AND ")} ORDER BY position LIMIT $1::bigint`,
      values,
    );
    return rows.map(readEntry);
  }

  async find(id: string): Promise<LedgerEntry | undefined> {
    const read = () => this.#run(`SELECT ${ENTRY_COLUMNS} FROM ${this.#table} WHERE id = $1::text`, [id]);
    let [row] = await read();
    if (row !== undefined && row["position"] === null) {
      await this.#number();
      [row] = await read();
    }
    return row && readEntry(row);
  }

  async refund({ id, known, refunds, status }: RefundChange): Promise<boolean> {
    const rows = await this.#run(
      `UPDATE ${this.#table} SET refunds = $3::text, refund_count = $4::int, status = $5::text
       WHERE id = $1::text AND refund_count = $2::int RETURNING true AS is_changed`,
      [id, known, JSON.stringify(refunds), refunds.length, status],
    );
    return rows.length > 0;
  }

  async erase(payer: string): Promise<number> {
    const [row] = await this.#run(
      `WITH erased AS (
        UPDATE ${this.#table} SET payer = NULL, resource = NULL WHERE payer = $1::text RETURNING 1
      ) SELECT count(*) AS count FROM erased`,
      [payer],
    );
    return Number(row?.["count"]);
  }

  async count(added: readonly LedgerCount[]): Promise<void> {
    // In order, so that two calls at once do not wait for each other.
    await this.#run(
      `INSERT INTO ${this.#table}_counts AS c (day, route, kind, reason, count)
       SELECT day, route, kind, reason, sum(count)::bigint
       FROM json_to_recordset($1::text::json) AS o(day text, route text, kind text, reason text, count bigint)
       GROUP BY day, route, kind, reason ORDER BY day, route, kind, reason
       ON CONFLICT (day, route, kind, reason) DO UPDATE SET count = c.count + excluded.count`,
      [JSON.stringify(added)],
    );
  }

  async counts({
    sinceDay,
    untilDay,
  }: {
    readonly sinceDay: string;
    readonly untilDay: string;
  }): Promise<readonly LedgerCount[]> {
    const rows = await this.#run(
      `SELECT day, route, kind, reason, count FROM ${this.#table}_counts WHERE day >= $1::text AND day <= $2::text
       ORDER BY day, route, kind, reason`,
      [sinceDay, untilDay],
    );
    return rows.map(
      ({ day, route, kind, reason, count }): LedgerCount => ({
        day: String(day),
        route: String(route),
        kind: kind as LedgerCount["kind"],
        reason: String(reason),
        count: Number(count),
      }),
    );
  }

  async hold({ name, owner, nowMs, untilMs, position, from }: CursorLease): Promise<string | undefined> {
    // A cursor that is new begins behind all entries that are there.
    if (from === "now" && position === undefined) await this.#number();
    const begin = from === "now" ? `(SELECT coalesce(max(position), 0) FROM ${this.#table})` : "0";
    const [row] = await this.#run(
      `INSERT INTO ${this.#table}_cursors AS c (name, owner, until_ms, position)
       VALUES ($1::text, $2::text, $3::bigint, greatest($4::bigint, ${begin}))
       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms,
         position = greatest(c.position, $4::bigint)
       WHERE c.owner = excluded.owner OR c.until_ms <= $5::bigint RETURNING position`,
      [name, owner, untilMs, Number(position ?? 0), nowMs],
    );
    return row && String(row["position"]);
  }

  async sweep(beforeMs: number): Promise<number> {
    const [row] = await this.#run(
      `WITH counts AS (
        DELETE FROM ${this.#table}_counts WHERE day < $2::text
      ), entries AS (
        DELETE FROM ${this.#table} WHERE id IN (
          SELECT id FROM ${this.#table} WHERE settled_at_ms < $1::bigint LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED
        ) RETURNING 1
      ) SELECT count(*) AS deleted FROM entries`,
      [beforeMs, dayOf(beforeMs)],
    );
    return Number(row?.["deleted"]);
  }

  async #number(): Promise<void> {
    await this.#run(`SELECT 1 FROM ${this.#prefix}_number_ledger()`, []);
  }
}

/** The part of a statement that adds an entry for each row of `changed`. Its values are added to `values`. */
export function insertEntry(prefix: string, entry: NewLedgerEntry, values: Value[]): string {
  const cells = cellsOf(entry).map((cell, at) => `$${values.push(cell)}::${typeOfColumn(NEW_ENTRY_COLUMNS[at] ?? "")}`);
  return `INSERT INTO ${prefix}_ledger (${NEW_ENTRY_COLUMNS.join(", ")})
        SELECT ${cells.join(", ")} FROM changed ON CONFLICT (id) DO NOTHING`;
}

function typeOfColumn(column: string): string {
  return isNumeric(column) ? "bigint" : "text";
}

const OPTIONAL = new Set(["resource", "payer", "decimals", "maximum", "fee", "facilitator"]);

/** The tables of the ledger, and the function that gives positions. @param lock - The two keys of an advisory lock. */
export function ledgerSchema(prefix: string, lock: string): string {
  const columns = NEW_ENTRY_COLUMNS.map((column) => {
    const key = column === "id" ? ' COLLATE "C" PRIMARY KEY' : OPTIONAL.has(column) ? "" : " NOT NULL";
    return `${column} ${typeOfColumn(column)}${key}`;
  });
  return `
  CREATE TABLE IF NOT EXISTS ${prefix}_ledger (
    ${columns.join(",\n    ")},
    position bigint UNIQUE,
    status text NOT NULL DEFAULT 'settled',
    refunds text NOT NULL DEFAULT '[]',
    refund_count int NOT NULL DEFAULT 0
  );
  CREATE INDEX IF NOT EXISTS ${prefix}_ledger_time ON ${prefix}_ledger (settled_at_ms);
  CREATE INDEX IF NOT EXISTS ${prefix}_ledger_payer ON ${prefix}_ledger (payer);
  CREATE INDEX IF NOT EXISTS ${prefix}_ledger_new ON ${prefix}_ledger (id) WHERE position IS NULL;
  CREATE SEQUENCE IF NOT EXISTS ${prefix}_ledger_positions;
  CREATE TABLE IF NOT EXISTS ${prefix}_ledger_counts (
    day text COLLATE "C",
    route text COLLATE "C",
    kind text COLLATE "C",
    reason text COLLATE "C",
    count bigint NOT NULL,
    PRIMARY KEY (day, route, kind, reason)
  );
  CREATE TABLE IF NOT EXISTS ${prefix}_ledger_cursors (
    name text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    until_ms bigint NOT NULL,
    position bigint NOT NULL
  );
  CREATE OR REPLACE FUNCTION ${prefix}_number_ledger() RETURNS void LANGUAGE plpgsql AS $number$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM ${prefix}_ledger WHERE position IS NULL) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(${lock});
  WITH unnumbered AS MATERIALIZED (
    SELECT id FROM ${prefix}_ledger WHERE position IS NULL ORDER BY settled_at_ms, id
  ), numbered AS MATERIALIZED (
    SELECT id, nextval('${prefix}_ledger_positions') AS position FROM unnumbered
  ) UPDATE ${prefix}_ledger AS l SET position = numbered.position FROM numbered WHERE l.id = numbered.id;
END $number$`;
}
