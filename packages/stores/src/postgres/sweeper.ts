/**
 * Deletes old rows in small batches, in a process that has nothing else to do, and never in two at once.
 *
 * @module
 */
import { UNFINISHED_SQL } from "../row.js";
import type { Database } from "./pool.js";
import { LOCKS } from "./schema.js";

const BATCH = 500;

/** How often a process looks for old rows. */
const EVERY_MS = 30_000;

/** A process that is never idle deletes all the same when this much time has passed. */
const AT_LATEST_MS = 10 * EVERY_MS;

/** No timer: the calls of the store say when there is time. */
export class Sweeper {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #statement: string;
  readonly #expose: string;
  #lastMs: number;
  #sweep: Promise<void> | undefined;

  constructor(database: Database, prefix: string, now: () => number) {
    this.#database = database;
    this.#now = now;
    // Processes that start together do not look together.
    this.#lastMs = now() - Math.floor(Math.random() * EVERY_MS);
    this.#expose = `SELECT 1 FROM ${prefix}_expose(NULL, NULL, NULL, NULL, NULL, NULL, $1::bigint)`;
    this.#statement = `WITH turn AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(${LOCKS.sweep}, hashtext('${prefix}')) AS is_mine
    ), payments AS (
      DELETE FROM ${prefix}_payments WHERE key IN (
        SELECT key FROM ${prefix}_payments WHERE (SELECT is_mine FROM turn)
          AND state NOT IN (${UNFINISHED_SQL}) AND forget_at_ms <= $1::bigint
        ORDER BY forget_at_ms LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      ) RETURNING 1
    ), runs AS (
      DELETE FROM ${prefix}_runs WHERE key IN (
        SELECT key FROM ${prefix}_runs WHERE (SELECT is_mine FROM turn) AND until_ms <= $1::bigint
        LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      ) RETURNING 1
    ) SELECT (SELECT count(*) FROM payments) + (SELECT count(*) FROM runs) AS deleted`;
  }

  /** To be called after calls of the store. Never throws, and returns at once. */
  tryNow(): void {
    const waitedMs = this.#now() - this.#lastMs;
    if (this.#sweep !== undefined || waitedMs < EVERY_MS) return;
    if (!this.#database.isIdle && waitedMs < AT_LATEST_MS) return;
    this.#lastMs = this.#now();
    this.#sweep = this.#deleteAll()
      // The next sweep tries again.
      .catch(() => {})
      .finally(() => {
        this.#sweep = undefined;
      });
  }

  /** The end of the sweep that runs now, if any. */
  async end(): Promise<void> {
    await this.#sweep;
  }

  async #deleteAll(): Promise<void> {
    await this.#database.run(this.#expose, [this.#now()]);
    for (;;) {
      const [row] = await this.#database.run(this.#statement, [this.#now()]);
      if (Number(row?.["deleted"]) < BATCH) return;
    }
  }
}
