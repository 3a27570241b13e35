/**
 * Calls to SQLite. A file that another process is writing is tried again a little later, so that the event loop is not held up.
 *
 * @module
 */
import { statSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { StoreError } from "@farebox/core";
import type { Issues } from "@farebox/core/issues";
import type { Cell, Row } from "../row.js";
import { textOf } from "../time-limit.js";

/** A `DatabaseSync` of `node:sqlite`, a `Database` of `better-sqlite3` or of `libsql`. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
}

/** A prepared statement. Each library has parameter types of its own. */
export interface SqliteStatement {
  get(...values: never[]): unknown;
  all(...values: never[]): unknown[];
}

/** `RETURNING` is of SQLite 3.35. */
const OLDEST = 3_035;

/** Adds an issue for an object that is no database. */
export function checkDatabase(database: unknown, issues: Issues): void {
  const isObject = typeof database === "object" && database !== null;
  const hasMethods = isObject && ["prepare", "exec"].every((name) => typeof Reflect.get(database, name) === "function");
  if (hasMethods && isSynchronous(database as SqliteDatabase)) return;
  const expected = "a database of node:sqlite, better-sqlite3 or libsql, with prepare() and exec() that return at once";
  issues.addOutline("database", expected, database);
}

/** A database with promises or callbacks returns something else. A database that is closed or locked throws, and is dealt with later. */
function isSynchronous(database: SqliteDatabase): boolean {
  try {
    const row: unknown = database.prepare("SELECT 1 AS one").get();
    return typeof row === "object" && row !== null && Number(Reflect.get(row, "one")) === 1;
  } catch (error) {
    return isBusy(error) || /not open|closed/.test(textOf(error));
  }
}

/** How long SQLite itself waits for another process, with the event loop held up. */
const BUSY_MS = 5;

/** The waits between two tries, one after another; the last one stays. */
const WAITS_MS = [1, 2, 5, 10, 20, 40];

/** Work that waits for its transaction. */
interface Write {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A file, and what tells it from another one at the same path. */
interface DatabaseFile {
  readonly path: string;
  readonly id: string | undefined;
}

/** Runs statements on one database. */
export class Connection {
  readonly #database: SqliteDatabase;
  readonly #limitMs: number;
  readonly #statements = new Map<string, SqliteStatement>();
  #waiting: Write[] = [];
  /** The file that was opened; `undefined`: a database in memory. */
  #file: DatabaseFile | undefined;

  constructor(database: SqliteDatabase, limitMs: number) {
    this.#database = database;
    this.#limitMs = limitMs;
  }

  /**
   * Sets up the file, once for each connection. Holds up the process while others set it up, up to the time limit.
   *
   * @param update - Called when the tables are there. Returns what is to be changed about them.
   * @throws StoreError if SQLite is too old, or the file cannot be used
   */
  open(schema: string, update: () => string): void {
    const until = performance.now() + this.#limitMs;
    for (let tries = 0; ; tries++) {
      try {
        this.#checkVersion();
        this.#database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`);
        this.#inTransaction(() => {
          this.#database.exec(schema);
          this.#database.exec(update());
        });
        this.#file = this.#findFile();
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw explained(error, this.#limitMs);
        // Two processes that collided must not collide again.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs(tries));
      }
    }
  }

  /** Whether the database has a file. */
  get hasFile(): boolean {
    return this.#file !== undefined;
  }

  /** @throws StoreError if another file lies at the path by now: other processes would use that one */
  checkFile(): void {
    if (this.#file === undefined) return;
    const { path, id } = this.#file;
    if (idOf(path) === id) return;
    throw new StoreError(`SQLite: the file ${path} was removed or replaced: restart the process`);
  }

  /**
   * Runs work that writes, as a whole, and resolves when it is on the disk. Work of one turn of the event loop shares a transaction, since
   * each one waits for the disk.
   */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: (value) => resolve(value as T), reject });
      if (this.#waiting.length === 1) setImmediate(() => void this.#writeAll());
    });
  }

  /** Runs work that reads. */
  read<T>(work: () => T): Promise<T> {
    return this.#whenFree(work);
  }

  /** The first row. */
  get(sql: string, ...values: readonly Cell[]): Row | undefined {
    return (this.#prepared(sql).get(...(values as never[])) as Row | null | undefined) ?? undefined;
  }

  /** All rows. */
  all(sql: string, ...values: readonly Cell[]): readonly Row[] {
    return this.#prepared(sql).all(...(values as never[])) as readonly Row[];
  }

  #prepared(sql: string): SqliteStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  async #writeAll(): Promise<void> {
    const writes = this.#waiting;
    this.#waiting = [];
    try {
      const ends = await this.#whenFree(() => this.#inTransaction(() => writes.map((write) => this.#apart(write))));
      for (const end of ends) end();
    } catch (error) {
      for (const { reject } of writes) reject(error);
    }
  }

  /** Runs one of several writes; if it fails, the others stay. Returns what to do after the commit. */
  #apart({ work, resolve, reject }: Write): () => void {
    this.#database.exec("SAVEPOINT farebox");
    try {
      const value = work();
      this.#database.exec("RELEASE farebox");
      return () => resolve(value);
    } catch (error) {
      this.#database.exec("ROLLBACK TO farebox; RELEASE farebox");
      return () => reject(explained(error, this.#limitMs));
    }
  }

  async #whenFree<T>(work: () => T): Promise<T> {
    const until = performance.now() + this.#limitMs;
    for (let tries = 0; ; tries++) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw explained(error, this.#limitMs);
      }
      await wait(waitMs(tries));
    }
  }

  #inTransaction<T>(work: () => T): T {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      try {
        this.#database.exec("ROLLBACK");
      } catch {
        // SQLite has rolled back by itself.
      }
      throw error;
    }
  }

  #findFile(): DatabaseFile | undefined {
    const path = this.all("PRAGMA database_list").find(({ name }) => name === "main")?.["file"];
    return typeof path === "string" && path !== "" ? { path, id: idOf(path) } : undefined;
  }

  #checkVersion(): void {
    const version = String(this.get("SELECT sqlite_version() AS version")?.["version"]);
    const [major = 0, minor = 0] = version.split(".").map(Number);
    if (major * 1_000 + minor >= OLDEST) return;
    throw new StoreError(`SQLite is version ${version}: use a library with 3.35 or later`);
  }
}

/** Device and number of a file; `undefined`: there is none. */
function idOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

function waitMs(tries: number): number {
  const most = WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] ?? 1;
  return most / 2 + (Math.random() * most) / 2;
}

function isBusy(error: unknown): boolean {
  const code = typeof error === "object" && error !== null ? String(Reflect.get(error, "code")) : "";
  return /^SQLITE_(BUSY|LOCKED)/.test(code) || /database (table |schema )?is locked/.test(textOf(error));
}

/** Without a `cause`: the error of a driver may hold the values, and so the payment. */
function explained(error: unknown, limitMs: number): StoreError {
  if (error instanceof StoreError) return error;
  if (isBusy(error)) {
    return new StoreError(`SQLite: another process has locked the file for ${limitMs} ms: check whether it hangs`);
  }
  const text = textOf(error);
  const advice = ADVICE.find(([pattern]) => pattern.test(text))?.[1];
  return new StoreError(`SQLite refused a call: ${text}${advice === undefined ? "" : `: ${advice}`}`);
}

const ADVICE: readonly (readonly [text: RegExp, advice: string])[] = [
  [/within a transaction/, "open a database of its own for the store"],
  [/readonly|read-only/, "the user of the process must be able to write the file and its folder"],
  [
    /no such (table|column)/,
    "the file was replaced or changed by hand, or a table of this name is not the store's: restart the process, or set another prefix",
  ],
  [/not open|closed/, "close the database only after the last payment"],
];
