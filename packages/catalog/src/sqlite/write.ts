/**
 * Writing to the embedded store.
 *
 * @module
 */
import type { Database } from "libsql";
import { digestOf } from "../digest.js";
import type { CatalogStore, EntryChange, EntryKey, StoredEntry } from "../store.js";

/** The store's writing calls, at once. */
export interface Writer {
  update(key: EntryKey, decide: Parameters<CatalogStore["update"]>[1]): boolean;
  remove(key: EntryKey): boolean;
}

interface EntryRow {
  readonly id: number;
  readonly service: string;
  readonly updated: number;
  readonly digest: Uint8Array;
  readonly terms: string;
  readonly facets: string;
}

/** Prepares the statements. */
export function createWriter(db: Database): Writer {
  const select = db.prepare(
    "SELECT id, service, updated, digest, terms, facets FROM entries WHERE resource = ? AND tool = ?",
  );
  const insert = db.prepare(
    `INSERT INTO entries (resource, tool, service, updated, digest, revision, terms, facets, vector)
     VALUES (?, ?, ?, ?, ?, ${REVISION}, ?, ?, ?)`,
  );
  const touch = db.prepare("UPDATE entries SET service = ?, updated = ? WHERE id = ?");
  const rewrite = db.prepare(
    `UPDATE entries SET service = ?, updated = ?, digest = ?, revision = ${REVISION}, terms = ?, facets = ?, vector = ?
     WHERE id = ?`,
  );
  const nextRevision = db.prepare("UPDATE revisions SET last = last + 1");
  const drop = db.prepare("DELETE FROM entries WHERE id = ?");
  const index = createIndex(db);

  function write(key: EntryKey, found: EntryRow | undefined, change: EntryChange): void {
    const { service, updatedMs } = change;
    const digest = digestOf(change);
    if (found !== undefined && digest.equals(found.digest)) {
      touch.run(service, updatedMs, found.id);
      return;
    }
    nextRevision.run();
    const indexed = [change.terms.join(" "), JSON.stringify(change.facets), Buffer.from(change.vector)];
    if (found === undefined) {
      const { lastInsertRowid } = insert.run(key.resource, key.toolName, service, updatedMs, digest, ...indexed);
      index.add(Number(lastInsertRowid), change);
      return;
    }
    rewrite.run(service, updatedMs, digest, ...indexed, found.id);
    index.remove(found);
    index.add(found.id, change);
  }

  return {
    update: ({ resource, toolName }, decide) =>
      atOnce(db, () => {
        const found = select.get(resource, toolName) as EntryRow | undefined;
        const change = decide(found === undefined ? undefined : toStored(found));
        if (change === undefined) return false;
        write({ resource, toolName }, found, change);
        return true;
      }),
    remove: ({ resource, toolName }) =>
      atOnce(db, () => {
        const found = select.get(resource, toolName) as EntryRow | undefined;
        if (found === undefined) return false;
        drop.run(found.id);
        index.remove(found);
        return true;
      }),
  };
}

const REVISION = "(SELECT last FROM revisions)";

function toStored({ id, service, updated }: EntryRow): StoredEntry {
  return { id, service, updatedMs: updated };
}

/** Everything or nothing. SQLite does not wait, so that nothing else happens in between. */
function atOnce<T>(db: Database, work: () => T): T {
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

/** A list goes in as JSON: one statement for a list is several times as fast as one for each of its items. */
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
  const forgetTerms = db.prepare(
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
      forgetTerms.run(1, JSON.stringify(terms.split(" ")));
    },
  };
}
