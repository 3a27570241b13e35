/**
 * The embedded store: SQLite, in memory or in a file. Full text is FTS5's, typing errors are found by its trigrams.
 *
 * @module
 */
import { createIssues } from "@farebox/core";
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
  const writer = createWriter(db);
  const reader = createReader(db);
  return Object.freeze({
    update: async (key, decide) => writer.update(key, decide),
    remove: async (key) => writer.remove(key),
    list: async (query) => reader.list(query),
    count: async (facets) => reader.count(facets),
    find: async (ids, facets) => reader.find(ids, facets),
    rank: async (query) => reader.rank(query),
    countTerms: async (words) => reader.countTerms(words),
    similarTerms: async (word) => reader.similarTerms(word),
    changes: async (mark, limit) => reader.changes(mark, limit),
    close: async () => void db.close(),
  } satisfies CatalogStore);
}
