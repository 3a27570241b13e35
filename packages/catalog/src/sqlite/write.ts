/**
 * The tables and the writing calls of the embedded store.
 *
 * @module
 */
import type { Database } from "libsql";
import { ALWAYS, type Columns, INDEXED as SHARED, STORED } from "../columns.js";
import {
  type CatalogStore,
  type Decide,
  type DueEntry,
  digestOf,
  type EntryChange,
  type EntryChecks,
  type EntryKey,
  type StoredEntry,
  type StoredMeaning,
} from "../store.js";

/** Ids are counted in blocks of this size per facet, so that an offset is found without counting entries. */
export const BLOCK = 1024;

const TABLES: string = `
CREATE TABLE IF NOT EXISTS entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  resource TEXT NOT NULL,
  tool TEXT NOT NULL,
  service TEXT NOT NULL,
  updated INTEGER NOT NULL,
  digest BLOB NOT NULL,
  revision INTEGER NOT NULL,
  terms TEXT NOT NULL,
  facets TEXT NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (resource, tool)
);
CREATE INDEX IF NOT EXISTS entries_revision ON entries (revision);
CREATE TABLE IF NOT EXISTS revisions (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL);
INSERT OR IGNORE INTO revisions VALUES (1, 0);
CREATE TABLE IF NOT EXISTS facets (
  facet INTEGER NOT NULL,
  entry INTEGER NOT NULL,
  PRIMARY KEY (facet, entry)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (
  facet INTEGER NOT NULL,
  block INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  PRIMARY KEY (facet, block)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS facet_added AFTER INSERT ON facets BEGIN
  INSERT INTO blocks VALUES (NEW.facet, NEW.entry / ${BLOCK}, 0) ON CONFLICT (facet, block) DO NOTHING;
  UPDATE blocks SET entries = entries + 1 WHERE facet = NEW.facet AND block = NEW.entry / ${BLOCK};
END;
CREATE TRIGGER IF NOT EXISTS facet_removed AFTER DELETE ON facets BEGIN
  UPDATE blocks SET entries = entries - 1 WHERE facet = OLD.facet AND block = OLD.entry / ${BLOCK};
END;
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (
  name, description, parameters, other, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TABLE IF NOT EXISTS terms (term TEXT PRIMARY KEY, entries INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS grams USING fts5 (term, tokenize = 'trigram');
CREATE TABLE IF NOT EXISTS meanings (
  entry INTEGER NOT NULL,
  embedder TEXT NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (entry, embedder)
);
CREATE TRIGGER IF NOT EXISTS meaning_outdated AFTER UPDATE OF terms ON entries WHEN NEW.terms <> OLD.terms BEGIN
  DELETE FROM meanings WHERE entry = OLD.id;
END;
CREATE TRIGGER IF NOT EXISTS meaning_removed AFTER DELETE ON entries BEGIN
  DELETE FROM meanings WHERE entry = OLD.id;
END;
`;

/** Columns that the first version of the table does not have. */
const LATER_COLUMNS = {
  price: "TEXT NOT NULL DEFAULT '~'",
  claims: "TEXT NOT NULL DEFAULT '[]'",
  due: "INTEGER",
  leased: "INTEGER NOT NULL DEFAULT 0",
};
const LATER_INDEXES = `
CREATE INDEX IF NOT EXISTS entries_price ON entries (price, id);
CREATE INDEX IF NOT EXISTS entries_due ON entries (due) WHERE due IS NOT NULL;
`;

/** Creates missing tables, columns and indexes. */
export function createTables(db: Database): void {
  db.exec(TABLES);
  inTransaction(db, () => {
    const present = (db.prepare("PRAGMA table_info(entries)").all() as { name: string }[]).map(({ name }) => name);
    for (const [name, type] of Object.entries(LATER_COLUMNS)) {
      if (!present.includes(name)) db.exec(`ALTER TABLE entries ADD COLUMN ${name} ${type}`);
    }
    db.exec(LATER_INDEXES);
  });
}

/** The columns that are written when an indexed part has changed. */
const INDEXED: Columns = { ...SHARED, facets: ({ facets }) => JSON.stringify(facets) };

/** Reads the columns of a stored entry. */
export function toEntry(row: unknown): StoredEntry {
  const { id, service, updated, price } = row as { id: number; service: string; updated: number; price: string };
  return { id, service, updatedMs: updated, price };
}

function toChecks({ claims, due, leased }: EntryRow): EntryChecks {
  return { claims, dueMs: due ?? undefined, leasedMs: leased };
}

function valuesOf(columns: Columns, change: EntryChange): readonly unknown[] {
  return Object.values(columns).map((read) => read(change));
}

function assign(columns: Columns): string {
  return Object.keys(columns)
    .map((name) => `${name} = ?`)
    .join(", ");
}

/** The writing calls, synchronous. */
export interface Writer {
  update(key: EntryKey, decide: Decide): boolean;
  remove(key: EntryKey): boolean;
  putMeanings(embedder: string, meanings: readonly StoredMeaning[]): void;
  takeDue(query: Parameters<CatalogStore["takeDue"]>[0]): readonly DueEntry[];
  postpone(id: number, dueMs: number): void;
}

interface EntryRow {
  readonly id: number;
  readonly claims: string;
  readonly due: number | null;
  readonly leased: number;
  readonly digest: Uint8Array;
  readonly terms: string;
  readonly facets: string;
}

/** Prepares the statements. */
export function createWriter(db: Database): Writer {
  const select = db.prepare(
    `SELECT ${STORED}, claims, due, leased, digest, terms, facets FROM entries WHERE resource = ? AND tool = ?`,
  );
  const names = Object.keys(INDEXED);
  const insert = db.prepare(
    `INSERT INTO entries (resource, tool, revision, ${names.join(", ")})
     VALUES (?, ?, ${REVISION}, ${names.map(() => "?").join(", ")})`,
  );
  const touch = db.prepare(`UPDATE entries SET ${assign(ALWAYS)} WHERE id = ?`);
  const rewrite = db.prepare(`UPDATE entries SET revision = ${REVISION}, ${assign(INDEXED)} WHERE id = ?`);
  const nextRevision = db.prepare("UPDATE revisions SET last = last + 1");
  const drop = db.prepare("DELETE FROM entries WHERE id = ?");
  const putMeaning = db.prepare(
    "INSERT OR REPLACE INTO meanings (entry, embedder, vector) SELECT id, ?, ? FROM entries WHERE id = ? AND terms = ?",
  );
  const markChanged = db.prepare(`UPDATE entries SET revision = ${REVISION} WHERE id = ?`);
  const anyDue = db.prepare("SELECT 1 FROM entries WHERE due <= ? AND leased <= ? LIMIT 1");
  const take = db.prepare(
    `UPDATE entries SET leased = ? WHERE id IN (
       SELECT id FROM entries WHERE due <= ? AND leased <= ? ORDER BY due LIMIT ?
     ) RETURNING id, claims`,
  );
  const postpone = db.prepare("UPDATE entries SET due = ?, leased = 0 WHERE id = ?");
  const index = createIndex(db);

  function remove(found: EntryRow): void {
    drop.run(found.id);
    index.remove(found);
  }

  function write(key: EntryKey, found: EntryRow | undefined, change: EntryChange): void {
    if (found !== undefined && digestOf(change).equals(found.digest)) {
      touch.run(...valuesOf(ALWAYS, change), found.id);
      return;
    }
    nextRevision.run();
    const indexed = valuesOf(INDEXED, change);
    if (found === undefined) {
      const { lastInsertRowid } = insert.run(key.resource, key.toolName, ...indexed);
      index.add(Number(lastInsertRowid), change);
      return;
    }
    rewrite.run(...indexed, found.id);
    index.remove(found);
    index.add(found.id, change);
  }

  return {
    update: ({ resource, toolName }, decide) =>
      inTransaction(db, () => {
        const found = select.get(resource, toolName) as EntryRow | undefined;
        const change = decide(found && { ...toEntry(found), checks: toChecks(found) });
        if (change === undefined) return false;
        if (change !== "remove") write({ resource, toolName }, found, change);
        else if (found !== undefined) remove(found);
        return true;
      }),
    remove: ({ resource, toolName }) =>
      inTransaction(db, () => {
        const found = select.get(resource, toolName) as EntryRow | undefined;
        if (found === undefined) return false;
        remove(found);
        return true;
      }),
    putMeanings: (embedder, meanings) =>
      inTransaction(db, () => {
        for (const { id, terms, vector } of meanings) {
          const { changes } = putMeaning.run(embedder, Buffer.from(vector), id, terms.join(" "));
          if (changes === 0) continue;
          nextRevision.run();
          markChanged.run(id);
        }
      }),
    takeDue({ nowMs, untilMs, limit }) {
      // Most calls find nothing, and need no lock of the file.
      const isAny = anyDue.get(nowMs, nowMs) !== undefined;
      return isAny ? (take.all(untilMs, nowMs, nowMs, limit) as DueEntry[]) : [];
    },
    postpone: (id, dueMs) => void postpone.run(dueMs, id),
  };
}

const REVISION = "(SELECT last FROM revisions)";

/** Runs a transaction. The calls of SQLite are synchronous, so nothing else runs in between. */
function inTransaction<T>(db: Database, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

interface Index {
  add(id: number, change: EntryChange): void;
  remove(entry: EntryRow): void;
}

/** Passes lists as JSON: one statement per list is several times as fast as one per item. */
function createIndex(db: Database): Index {
  const addText = db.prepare("INSERT INTO texts (rowid, name, description, parameters, other) VALUES (?, ?, ?, ?, ?)");
  const removeText = db.prepare("DELETE FROM texts WHERE rowid = ?");
  const addFacets = db.prepare("INSERT OR IGNORE INTO facets (facet, entry) SELECT value, ? FROM json_each(?)");
  const removeFacets = db.prepare("DELETE FROM facets WHERE entry = ? AND facet IN (SELECT value FROM json_each(?))");
  const addGrams = db.prepare(
    "INSERT INTO grams (term) SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM terms WHERE term = value)",
  );
  const addTerms = db.prepare(
    `INSERT INTO terms (term, entries) SELECT value, ? FROM json_each(?) WHERE true
     ON CONFLICT (term) DO UPDATE SET entries = entries + 1`,
  );
  const uncountTerms = db.prepare(
    "UPDATE terms SET entries = entries - ? WHERE entries > 0 AND term IN (SELECT value FROM json_each(?))",
  );

  return {
    add(id, { texts, terms, facets }) {
      addText.run(id, texts.name, texts.description, texts.parameters, texts.other);
      addFacets.run(id, JSON.stringify(facets));
      addGrams.run(JSON.stringify(terms));
      addTerms.run(1, JSON.stringify(terms));
    },
    remove({ id, terms, facets }) {
      removeText.run(id);
      removeFacets.run(id, facets);
      uncountTerms.run(1, JSON.stringify(terms.split(" ")));
    },
  };
}
