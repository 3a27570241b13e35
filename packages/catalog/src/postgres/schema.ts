/**
 * Tables of the store in PostgreSQL.
 *
 * @module
 */

/** Creates what is missing; two processes that start at once take turns. */
export const SCHEMA = `
SELECT pg_advisory_xact_lock(7381202611);
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE TABLE IF NOT EXISTS farebox_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL UNIQUE,
  service text NOT NULL,
  updated bigint NOT NULL,
  digest bytea NOT NULL,
  written xid8 NOT NULL,
  terms text NOT NULL,
  facets bigint[] NOT NULL,
  vector bytea NOT NULL,
  texts tsvector NOT NULL
);
CREATE INDEX IF NOT EXISTS farebox_entries_written ON farebox_entries (written, id);
CREATE INDEX IF NOT EXISTS farebox_entries_texts ON farebox_entries USING gin (texts);
CREATE TABLE IF NOT EXISTS farebox_facets (
  facet bigint NOT NULL,
  entry bigint NOT NULL,
  PRIMARY KEY (facet, entry)
);
CREATE TABLE IF NOT EXISTS farebox_terms (term text PRIMARY KEY, entries bigint NOT NULL);
CREATE INDEX IF NOT EXISTS farebox_terms_alike ON farebox_terms USING gin (term gin_trgm_ops);
`;

/** Texts by weight: name, description, parameters, the rest. */
export const TEXTS = `
  setweight(to_tsvector('english', $1), 'A') || setweight(to_tsvector('english', $2), 'B') ||
  setweight(to_tsvector('english', $3), 'C') || setweight(to_tsvector('english', $4), 'D')`;
