/**
 * The bound of kept responses in a table. The oldest delivered ones are dropped first; records stay.
 *
 * Each process looks whenever it has written a part of the bound, because a sum over all rows is too much for each payment. So a table may
 * be over its bound by that part for each process.
 *
 * @module
 */
import { sizeOfAnswer, type Transition } from "@farebox/core";
import { DELIVERED_MS, UNFINISHED_SQL } from "./row.js";

/** The part of the bound after which a process looks. */
const PART: number = 1 / 64;

/** Makes the kept response of a row count as delivered. */
export const DELIVER_SQL: string = `kept_at_ms = CASE WHEN kept_at_ms >= 0 THEN kept_at_ms - ${DELIVERED_MS} ELSE kept_at_ms END`;

/** A table with kept responses: its name, its key, how it writes the bound, and how the time. */
export interface KeptRows {
  readonly table: string;
  readonly key: string;
  readonly most: string;
  readonly nowMs: string;
}

/** The statement that drops what is above the bound. Rows that are forgotten do not count. */
export function dropSql({ table, key, most, nowMs }: KeptRows): string {
  return `UPDATE ${table} SET answer = NULL, body = NULL, kept_bytes = NULL, kept_at_ms = NULL WHERE ${key} IN (
    SELECT ${key} FROM (
      SELECT ${key}, sum(kept_bytes) OVER (ORDER BY kept_at_ms DESC, ${key} ROWS UNBOUNDED PRECEDING) AS sum FROM ${table}
      WHERE kept_bytes IS NOT NULL AND (forget_at_ms > ${nowMs} OR state IN (${UNFINISHED_SQL}))
    ) AS kept WHERE sum > ${most}
  )`;
}

/** The bytes that one process has written since it looked. */
export class Room {
  readonly most: number;
  #written: number;

  constructor(most: number) {
    this.most = most;
    // Processes before it may have left more.
    this.#written = most;
  }

  /** A change without a response that is larger than the whole room. */
  fit(change: Transition): Transition {
    const { answer } = change;
    return answer && sizeOfAnswer(answer) > this.most ? { ...change, answer: null } : change;
  }

  /** Looking has failed. */
  tryAgain(): void {
    this.#written = this.most;
  }

  /** Whether the process has to look, after this change was made. */
  isDue({ answer }: Transition): boolean {
    if (!answer) return false;
    this.#written += sizeOfAnswer(answer);
    if (this.#written <= this.most * PART) return false;
    this.#written = 0;
    return true;
  }
}
