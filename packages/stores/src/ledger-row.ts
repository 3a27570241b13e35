/**
 * An entry of the ledger as a row of a table: the columns of PostgreSQL and of SQLite are the same, and sellers may read them.
 *
 * @module
 */
import type { LedgerEntry, LedgerSearch, NewLedgerEntry } from "@farebox/core";
import type { Cell, Row } from "./row.js";

/** The columns of an entry, with its fields. The position, the status and the refunds are the store's. */
const COLUMN_OF = {
  id: "id",
  settledAtMs: "settled_at_ms",
  route: "route",
  resource: "resource",
  payer: "payer",
  payee: "payee",
  scheme: "scheme",
  network: "network",
  asset: "asset",
  decimals: "decimals",
  amount: "amount",
  maximum: "maximum",
  fee: "fee",
  transaction: "transaction_id",
  facilitator: "facilitator",
  latencyMs: "latency_ms",
  attempt: "attempt",
} as const satisfies Record<keyof NewLedgerEntry, string>;

const FIELDS = Object.keys(COLUMN_OF) as (keyof NewLedgerEntry)[];
const NUMBERS: readonly (keyof NewLedgerEntry)[] = ["settledAtMs", "decimals", "latencyMs", "attempt"];

/** Entries that are deleted at once: a longer statement would hold up others. */
export const SWEPT_AT_ONCE = 500;

/** The columns of a new entry, in order. */
export const NEW_ENTRY_COLUMNS: readonly string[] = FIELDS.map((field) => COLUMN_OF[field]);

/** All columns that are read. */
export const ENTRY_COLUMNS: string = [...NEW_ENTRY_COLUMNS, "position", "status", "refunds"].join(", ");

/** Whether a column holds whole numbers. */
export function isNumeric(column: string): boolean {
  return NUMBERS.some((field) => COLUMN_OF[field] === column);
}

/** The values of a new entry, in the order of {@link NEW_ENTRY_COLUMNS}. */
export function cellsOf(entry: NewLedgerEntry): readonly Cell[] {
  return FIELDS.map((field) => entry[field] ?? null);
}

/** Reads a row. */
export function readEntry(row: Row): LedgerEntry {
  const fields = FIELDS.flatMap((field) => {
    const value = row[COLUMN_OF[field]];
    if (value === null || value === undefined) return [];
    return [[field, NUMBERS.includes(field) ? Number(value) : String(value)] as const];
  });
  return {
    ...(Object.fromEntries(fields) as unknown as NewLedgerEntry),
    position: String(row["position"]),
    status: row["status"] as LedgerEntry["status"],
    refunds: JSON.parse(String(row["refunds"])),
  };
}

/** What a search demands of rows: a comparison by its column, and a value. */
export function conditionsOf(search: LedgerSearch): readonly (readonly [comparison: string, value: Cell])[] {
  const { sinceMs, untilMs, route, payer, network, status, after = "0" } = search;
  const conditions: (readonly [string, Cell])[] = [["position >", Number(after)]];
  if (sinceMs !== undefined) conditions.push(["settled_at_ms >=", sinceMs]);
  if (untilMs !== undefined) conditions.push(["settled_at_ms <", untilMs]);
  for (const [column, text] of Object.entries({ route, payer, network, status })) {
    if (text !== undefined) conditions.push([`${column} =`, text]);
  }
  return conditions;
}

/** The day of a time, in UTC: `2026-11-27`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
