/**
 * Tables of the embedded store.
 *
 * @module
 */

/** So many ids are counted together, for each facet: an offset is found by blocks, not by entries. */
export const BLOCK = 1024;

/** Creates what is missing. */
export const SCHEMA: string = `
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
`;
