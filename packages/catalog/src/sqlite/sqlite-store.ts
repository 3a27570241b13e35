/**
 * The embedded store: SQLite, in memory or in a file. It searches texts with FTS5, and similar spellings with FTS5 trigrams.
 *
 * Everything exported here is public API.
 *
 * @module
 */
import { StateError } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import Database from "libsql";
import type { CatalogStore } from "../store.js";
import { createReader } from "./read.js";
import { createTables, createWriter } from "./write.js";

/** Options of `createSqliteCatalogStore`. */
export interface SqliteCatalogStoreOptions {
  /** Path of a file, which is created if it does not exist. Default: in memory, until the process ends. */
  readonly path?: string;
}

/**
 * Opens the store. Several processes on one machine may share a file.
 *
 * @throws ConfigError when the options are wrong, and SQLite's own error when the file cannot be opened.
 */
export function createSqliteCatalogStore(options: SqliteCatalogStoreOptions = {}): CatalogStore {
  const { path = ":memory:" } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["path"]);
  if (typeof path !== "string" || path === "") issues.add("options.path", "the path of a file", path);
  issues.throwIfAny();

  const db = new Database(path, { timeout: 5_000 });
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  createTables(db);
  const { update, remove, takeDue, postpone, putMeanings } = createWriter(db);
  const { list, count, countEach, get, find, rank, countTerms, similarTerms, changes } = createReader(db);
  const whileOpen = createGuard();
  return Object.freeze({
    update: whileOpen.guard(update),
    remove: whileOpen.guard(remove),
    takeDue: whileOpen.guard(takeDue),
    postpone: whileOpen.guard(postpone),
    list: whileOpen.guard(list),
    count: whileOpen.guard(count),
    countEach: whileOpen.guard(countEach),
    get: whileOpen.guard(get),
    find: whileOpen.guard(find),
    rank: whileOpen.guard(rank),
    countTerms: whileOpen.guard(countTerms),
    similarTerms: whileOpen.guard(similarTerms),
    changes: whileOpen.guard(changes),
    putMeanings: whileOpen.guard(putMeanings),
    async close() {
      whileOpen.end();
      db.close();
    },
  } satisfies CatalogStore);
}

interface Guard {
  /** Makes a call reject after `close`. Statements that were prepared before would still work. */
  guard<A extends readonly unknown[], R>(call: (...args: A) => R): (...args: A) => Promise<R>;
  end(): void;
}

function createGuard(): Guard {
  let isOpen = true;
  return {
    guard:
      (call) =>
      async (...args) => {
        if (!isOpen) throw new StateError("the catalog's store is closed");
        return call(...args);
      },
    end() {
      isOpen = false;
    },
  };
}
