/**
 * Exposure in SQLite: one row for each entry, and one for each sum, so that a call reads the rows of one payment and two sums.
 *
 * Sums are texts, because SQLite counts in 64 bits and some drivers return 53 of them.
 *
 * @module
 */
import { type ExposureEntry, type ExposureSums, MOST_DUE, type SharedExposure } from "@farebox/core";
import type { Row } from "../row.js";
import type { Connection } from "./database.js";

/** Entries that end and are removed in one transaction: a longer one would hold up the process. */
const ENDED_AT_ONCE = 500;

/** The name of the sum of all payers. No other name begins like it. */
const TOTAL = "total";

/** The exposure of all processes that use the file. */
export class SqliteExposure implements SharedExposure {
  readonly #connection: Connection;
  readonly #entries: string;
  readonly #sums: string;

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#entries = `${prefix}_exposure`;
    this.#sums = `${prefix}_exposure_sums`;
  }

  async put(entry: ExposureEntry, nowMs: number): Promise<ExposureSums> {
    for (;;) {
      const sums = await this.#connection.write(() => (this.removeEnded(nowMs) ? undefined : this.#put(entry, nowMs)));
      if (sums !== undefined) return sums;
    }
  }

  async remove({ identity }: Pick<ExposureEntry, "identity">): Promise<void> {
    await this.#connection.write(() => this.#subtract(this.#remove(identity)));
  }

  /** Removes entries that have ended, within a transaction. Returns whether there may be more. */
  removeEnded(nowMs: number): boolean {
    const ended = this.#connection.all(
      `DELETE FROM ${this.#entries} WHERE rowid IN (
         SELECT rowid FROM ${this.#entries} WHERE until_ms <= ? LIMIT ${ENDED_AT_ONCE}
       ) RETURNING payer, micros`,
      nowMs,
    );
    this.#subtract(ended);
    return ended.length === ENDED_AT_ONCE;
  }

  #put({ identity, payer, micros, untilMs, isDue }: ExposureEntry, nowMs: number): ExposureSums {
    this.#subtract(this.#remove(identity));
    if (untilMs > nowMs) {
      this.#connection.get(
        `INSERT INTO ${this.#entries} (identity, payer, micros, until_ms, is_due) VALUES (?, ?, ?, ?, ?) RETURNING 1`,
        ...[identity, payer, micros, untilMs, isDue ? 1 : 0],
      );
      for (const name of [TOTAL, nameOf(payer)]) this.#add(name, BigInt(micros));
    }
    const due = this.#connection.all(
      `SELECT identity FROM ${this.#entries} WHERE payer = ? AND is_due = 1 LIMIT ${MOST_DUE}`,
      payer,
    );
    return {
      payer: this.#sumOf(nameOf(payer)).toString(),
      total: this.#sumOf(TOTAL).toString(),
      due: due.map((row) => String(row["identity"])),
    };
  }

  #remove(identity: string): readonly Row[] {
    return this.#connection.all(`DELETE FROM ${this.#entries} WHERE identity = ? RETURNING payer, micros`, identity);
  }

  #subtract(removed: readonly Row[]): void {
    const sums = new Map<string, bigint>();
    for (const { payer, micros } of removed) {
      for (const name of [TOTAL, nameOf(String(payer))]) {
        sums.set(name, (sums.get(name) ?? 0n) + BigInt(String(micros)));
      }
    }
    for (const [name, micros] of sums) this.#add(name, -micros);
  }

  /** A sum of nothing has no row. */
  #add(name: string, micros: bigint): void {
    if (micros === 0n) return;
    const sum = this.#sumOf(name) + micros;
    if (sum === 0n) {
      this.#connection.get(`DELETE FROM ${this.#sums} WHERE name = ? RETURNING 1`, name);
      return;
    }
    this.#connection.get(
      `INSERT INTO ${this.#sums} (name, micros) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET micros = excluded.micros RETURNING 1`,
      ...[name, sum.toString()],
    );
  }

  #sumOf(name: string): bigint {
    const row = this.#connection.get(`SELECT micros FROM ${this.#sums} WHERE name = ?`, name);
    return BigInt(String(row?.["micros"] ?? "0"));
  }
}

/** The tables of exposure. */
export function exposureSchema(prefix: string): string {
  return `
    CREATE TABLE IF NOT EXISTS ${prefix}_exposure (
      identity TEXT PRIMARY KEY NOT NULL,
      payer TEXT NOT NULL,
      micros TEXT NOT NULL,
      until_ms INTEGER NOT NULL,
      is_due INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS ${prefix}_exposure_until ON ${prefix}_exposure (until_ms);
    CREATE INDEX IF NOT EXISTS ${prefix}_exposure_due ON ${prefix}_exposure (payer) WHERE is_due = 1;
    CREATE TABLE IF NOT EXISTS ${prefix}_exposure_sums (
      name TEXT PRIMARY KEY NOT NULL,
      micros TEXT NOT NULL
    )`;
}

function nameOf(payer: string): string {
  return `payer ${payer}`;
}
