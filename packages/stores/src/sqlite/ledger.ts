/**
 * The ledger in SQLite. Positions are the row ids, which SQLite gives in order and never twice.
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
import type { Connection } from "./database.js";

/** The ledger of all processes that use the file. */
export class SqliteLedger implements SharedLedger {
  readonly #connection: Connection;
  readonly #table: string;

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#table = `${prefix}_ledger`;
  }

  /** Adds an entry, within a transaction. */
  add(entry: NewLedgerEntry): void {
    this.#connection.get(
      `INSERT INTO ${this.#table} (${NEW_ENTRY_COLUMNS.join(", ")}) VALUES (${NEW_ENTRY_COLUMNS.map(() => "?").join(", ")})
       ON CONFLICT (id) DO NOTHING RETURNING 1`,
      ...cellsOf(entry),
    );
  }

  async list(search: LedgerSearch): Promise<readonly LedgerEntry[]> {
    const conditions = conditionsOf(search);
    const rows = await this.#connection.read(() =>
      this.#connection.all(
        `SELECT ${ENTRY_COLUMNS} FROM ${this.#table} WHERE ${conditions.map(([comparison]) => `${comparison} ?`).join(" AND ")}
         ORDER BY position LIMIT ?`,
        ...conditions.map(([, value]) => value),
        search.limit,
      ),
    );
    return rows.map(readEntry);
  }

  async find(id: string): Promise<LedgerEntry | undefined> {
    const row = await this.#connection.read(() =>
      this.#connection.get(`SELECT ${ENTRY_COLUMNS} FROM ${this.#table} WHERE id = ?`, id),
    );
    return row && readEntry(row);
  }

  async refund({ id, known, refunds, status }: RefundChange): Promise<boolean> {
    const row = await this.#connection.write(() =>
      this.#connection.get(
        `UPDATE ${this.#table} SET refunds = ?, refund_count = ?, status = ? WHERE id = ? AND refund_count = ? RETURNING 1`,
        ...[JSON.stringify(refunds), refunds.length, status, id, known],
      ),
    );
    return row !== undefined;
  }

  async erase(payer: string): Promise<number> {
    const erased = await this.#connection.write(() =>
      this.#connection.all(
        `UPDATE ${this.#table} SET payer = NULL, resource = NULL WHERE payer = ? RETURNING 1`,
        payer,
      ),
    );
    return erased.length;
  }

  async count(added: readonly LedgerCount[]): Promise<void> {
    await this.#connection.write(() => {
      for (const { day, route, kind, reason, count } of added) {
        this.#connection.get(
          `INSERT INTO ${this.#table}_counts AS c (day, route, kind, reason, count) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (day, route, kind, reason) DO UPDATE SET count = c.count + excluded.count RETURNING 1`,
          ...[day, route, kind, reason, count],
        );
      }
    });
  }

  async counts({
    sinceDay,
    untilDay,
  }: {
    readonly sinceDay: string;
    readonly untilDay: string;
  }): Promise<readonly LedgerCount[]> {
    const rows = await this.#connection.read(() =>
      this.#connection.all(
        `SELECT day, route, kind, reason, count FROM ${this.#table}_counts WHERE day >= ? AND day <= ?
         ORDER BY day, route, kind, reason`,
        ...[sinceDay, untilDay],
      ),
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
    const begin = from === "now" ? `(SELECT coalesce(max(position), 0) FROM ${this.#table})` : "0";
    const to = Number(position ?? 0);
    const row = await this.#connection.write(() =>
      this.#connection.get(
        `INSERT INTO ${this.#table}_cursors AS c (name, owner, until_ms, position) VALUES (?, ?, ?, max(?, ${begin}))
         ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms, position = max(c.position, ?)
         WHERE c.owner = excluded.owner OR c.until_ms <= ? RETURNING position`,
        ...[name, owner, untilMs, to, to, nowMs],
      ),
    );
    return row && String(row["position"]);
  }

  async sweep(beforeMs: number): Promise<number> {
    const swept = await this.#connection.write(() => {
      this.#connection.all(`DELETE FROM ${this.#table}_counts WHERE day < ? RETURNING 1`, dayOf(beforeMs));
      return this.#connection.all(
        `DELETE FROM ${this.#table} WHERE position IN (
           SELECT position FROM ${this.#table} WHERE settled_at_ms < ? LIMIT ${SWEPT_AT_ONCE}
         ) RETURNING 1`,
        beforeMs,
      );
    });
    return swept.length;
  }
}

const OPTIONAL = new Set(["resource", "payer", "decimals", "maximum", "fee", "facilitator"]);

/** The tables of the ledger. */
export function ledgerSchema(prefix: string): string {
  const columns = NEW_ENTRY_COLUMNS.map((column) => {
    const type = isNumeric(column) ? "INTEGER" : "TEXT";
    return `${column} ${type}${OPTIONAL.has(column) ? "" : " NOT NULL"}${column === "id" ? " UNIQUE" : ""}`;
  });
  return `
    CREATE TABLE IF NOT EXISTS ${prefix}_ledger (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      ${columns.join(",\n      ")},
      status TEXT NOT NULL DEFAULT 'settled',
      refunds TEXT NOT NULL DEFAULT '[]',
      refund_count INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX IF NOT EXISTS ${prefix}_ledger_time ON ${prefix}_ledger (settled_at_ms);
    CREATE INDEX IF NOT EXISTS ${prefix}_ledger_payer ON ${prefix}_ledger (payer);
    CREATE TABLE IF NOT EXISTS ${prefix}_ledger_counts (
      day TEXT NOT NULL,
      route TEXT NOT NULL,
      kind TEXT NOT NULL,
      reason TEXT NOT NULL,
      count INTEGER NOT NULL,
      PRIMARY KEY (day, route, kind, reason)
    );
    CREATE TABLE IF NOT EXISTS ${prefix}_ledger_cursors (
      name TEXT PRIMARY KEY NOT NULL,
      owner TEXT NOT NULL,
      until_ms INTEGER NOT NULL,
      position INTEGER NOT NULL
    )`;
}
