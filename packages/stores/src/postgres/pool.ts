/**
 * Calls to the database, with their time limit, and with errors that say what to do.
 *
 * @module
 */
import { EventEmitter } from "node:events";
import { StoreError } from "@farebox/core";
import type { Issues } from "@farebox/core/issues";
import type { Cell, Row } from "../row.js";
import { textOf, withinLimit } from "../time-limit.js";

/** A pool of `pg`, a PGlite, or any object that runs a statement with `$1`, `$2` … */
export interface PostgresPool {
  query(text: string, values: Value[]): PromiseLike<{ readonly rows: readonly unknown[] }>;
}

/** A value of a parameter. */
export type Value = Cell | boolean;

/** Adds an issue for an object that cannot run statements. */
export function checkPool(pool: unknown, issues: Issues): void {
  if (typeof pool === "object" && pool !== null && typeof Reflect.get(pool, "query") === "function") return;
  issues.addOutline(
    "pool",
    "a pool such as new Pool() of pg, or { query: (text, values) => a promise of { rows } }",
    pool,
  );
}

/** A statement that lost against another one, and may be tried again: serialization failure, deadlock. */
const AGAIN = new Set(["40001", "40P01"]);
const MOST_TRIES = 5;

const UNIQUE_VIOLATION = "23505";

/** Called with the rows of a statement whose time was over. */
type OnLate = (rows: readonly Row[]) => void;

/** What to do about an error, by SQLSTATE. */
type Advice = Readonly<Record<string, string>>;

/** Runs statements. */
export class Database {
  readonly #pool: PostgresPool;
  readonly #limitMs: number;
  #running = 0;

  constructor(pool: PostgresPool, limitMs: number) {
    this.#pool = pool;
    this.#limitMs = limitMs;
    // Without a listener, an idle connection that breaks would end the process. The pool replaces it.
    if (pool instanceof EventEmitter && pool.listenerCount("error") === 0) pool.on("error", () => {});
  }

  /** Whether no statement runs in this process. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /**
   * Runs a statement, and returns its rows. An error of the server has advice by its SQLSTATE.
   *
   * @param unique - A statement that an index of unique values refuses has no rows. Default: it fails.
   */
  async run(
    text: string,
    values: readonly Value[],
    {
      onLate,
      unique = false,
      advice = ADVICE,
    }: { onLate?: OnLate | undefined; unique?: boolean; advice?: Advice } = {},
  ): Promise<readonly Row[]> {
    this.#running += 1;
    try {
      return await this.#tryAgain(text, values, onLate);
    } catch (error) {
      if (unique && codeOf(error) === UNIQUE_VIOLATION) return [];
      throw explained(error, advice);
    } finally {
      this.#running -= 1;
    }
  }

  async #tryAgain(text: string, values: readonly Value[], onLate: OnLate | undefined): Promise<readonly Row[]> {
    for (let tries = 1; ; tries++) {
      try {
        const result = this.#pool.query(text, [...values]);
        const response = await withinLimit(result, {
          limitMs: this.#limitMs,
          server: "PostgreSQL",
          ...(onLate && { onLate: (late) => onLate(late.rows as readonly Row[]) }),
        });
        if (!Array.isArray(response?.rows))
          throw new StoreError("PostgreSQL: query() must return a promise of { rows }");
        return response.rows as readonly Row[];
      } catch (error) {
        if (tries === MOST_TRIES || !AGAIN.has(codeOf(error))) throw error;
      }
    }
  }
}

/** Whether a pool is one of `pg`, which can give a connection of its own. */
export function isPgPool(pool: object): boolean {
  return typeof Reflect.get(pool, "connect") === "function" && typeof Reflect.get(pool, "totalCount") === "number";
}

/** Without a `cause`: the error of a driver may hold the values, and so the payment. */
function explained(error: unknown, advice: Advice): StoreError {
  if (error instanceof StoreError) return error;
  const [text, remedy] = [textOf(error), advice[codeOf(error)]];
  return new StoreError(`PostgreSQL refused a call: ${text}${remedy === undefined ? "" : `: ${remedy}`}`);
}

const MIGRATE = "call `await store.migrate()` before the first payment, or run the SQL of schema()";

const CONNECTION: Advice = {
  "28P01": "check user and password",
  "25006": "connect to the primary, not to a replica",
  "53300": "give the pool fewer connections, or the server more",
  ECONNREFUSED: "check that the server runs, and the URL of the pool",
};

const ADVICE: Advice = {
  ...CONNECTION,
  "42P01": MIGRATE,
  "42703": MIGRATE,
  "42883": MIGRATE,
  "42501":
    "grant SELECT, INSERT, UPDATE and DELETE on the tables to the user, USAGE on the sequence, and EXECUTE on the functions",
};

/** For the statement that creates the tables. */
export const MIGRATION_ADVICE: Advice = {
  ...CONNECTION,
  "42703": "a table of this name is not the store's: set another prefix",
  "42501": "grant CREATE on the schema to the user, or have another user run the SQL of schema()",
};

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null ? String(Reflect.get(error, "code")) : "";
}
