/**
 * The embedded store: SQLite, in memory or in a file. Full text is FTS5's, typing errors are found by its trigrams.
 *
 * @module
 */
import { createIssues, StateError } from "@farebox/core";
import Database from "libsql";
import type { CatalogStore } from "../store.js";
import { createReader } from "./read.js";
import { SCHEMA } from "./schema.js";
import { createWriter } from "./write.js";

/** Where the store is. */
export interface SqliteCatalogStoreOptions {
  /** A file, which is made when it is not there. Default: in memory, and gone with the process. */
  readonly path?: string;
}

/**
 * Opens the store. A file may be shared by processes of one machine.
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
  db.exec(SCHEMA);
  const { update, remove } = createWriter(db);
  const { list, count, find, rank, countTerms, similarTerms, changes } = createReader(db);
  const whileOpen = createGuard();
  return Object.freeze({
    update: whileOpen.guard(update),
    remove: whileOpen.guard(remove),
    list: whileOpen.guard(list),
    count: whileOpen.guard(count),
    find: whileOpen.guard(find),
    rank: whileOpen.guard(rank),
    countTerms: whileOpen.guard(countTerms),
    similarTerms: whileOpen.guard(similarTerms),
    changes: whileOpen.guard(changes),
    async close() {
      whileOpen.end();
      db.close();
    },
  } satisfies CatalogStore);
}

interface Guard {
  /** Makes a call reject once the store is closed: a statement that was prepared before would go on working. */
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
