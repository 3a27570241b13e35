/**
 * Tables of the embedded store.
 *
 * @module
 */

/** Creates what is missing. */
export const SCHEMA = `
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
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (
  name, description, parameters, other, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TABLE IF NOT EXISTS terms (term TEXT PRIMARY KEY, entries INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS grams USING fts5 (term, tokenize = 'trigram');
`;
