/**
 * The tables and the writing calls of the store in PostgreSQL.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { PoolClient } from "pg";
import { ALWAYS, type Columns, INDEXED as SHARED, STORED } from "../columns.js";
import {
  type Decide,
  digestOf,
  type EntryChange,
  type EntryChecks,
  type EntryKey,
  type StoredEntry,
} from "../store.js";

/** Creates missing tables. The lock lets two processes that start together take turns. */
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
ALTER TABLE farebox_entries ADD COLUMN IF NOT EXISTS price text COLLATE "C" NOT NULL DEFAULT '~';
ALTER TABLE farebox_entries ADD COLUMN IF NOT EXISTS claims text NOT NULL DEFAULT '[]';
ALTER TABLE farebox_entries ADD COLUMN IF NOT EXISTS due bigint;
ALTER TABLE farebox_entries ADD COLUMN IF NOT EXISTS leased bigint NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS farebox_entries_due ON farebox_entries (due) WHERE due IS NOT NULL;
CREATE INDEX IF NOT EXISTS farebox_entries_price ON farebox_entries (price, id);
CREATE INDEX IF NOT EXISTS farebox_entries_written ON farebox_entries (written, id);
CREATE INDEX IF NOT EXISTS farebox_entries_texts ON farebox_entries USING gin (texts);
CREATE TABLE IF NOT EXISTS farebox_facets (
  facet bigint NOT NULL,
  entry bigint NOT NULL,
  PRIMARY KEY (facet, entry)
);
CREATE TABLE IF NOT EXISTS farebox_terms (term text PRIMARY KEY, entries bigint NOT NULL);
CREATE INDEX IF NOT EXISTS farebox_terms_alike ON farebox_terms USING gin (term gin_trgm_ops);
CREATE TABLE IF NOT EXISTS farebox_meanings (
  entry bigint NOT NULL,
  embedder text NOT NULL,
  vector bytea NOT NULL,
  PRIMARY KEY (entry, embedder)
);
`;

/** Stores vectors for entries that still have their terms. The rows are locked in order, so that two calls cannot deadlock. */
export const PUT_MEANINGS = `
  WITH current AS (
    SELECT e.id, m.vector FROM unnest($2::bigint[], $3::text[], $4::bytea[]) AS m (id, terms, vector)
    JOIN farebox_entries e ON e.id = m.id AND e.terms = m.terms ORDER BY e.id FOR UPDATE OF e
  ), put AS (
    INSERT INTO farebox_meanings (entry, embedder, vector) SELECT id, $1, vector FROM current
    ON CONFLICT (entry, embedder) DO UPDATE SET vector = excluded.vector RETURNING entry
  )
  UPDATE farebox_entries SET written = pg_current_xact_id() WHERE id IN (SELECT entry FROM put)`;

/** Weighted texts: name, description, parameters, other. */
const TEXTS = `
  setweight(to_tsvector('english', $1), 'A') || setweight(to_tsvector('english', $2), 'B') ||
  setweight(to_tsvector('english', $3), 'C') || setweight(to_tsvector('english', $4), 'D')`;

/** The columns that are written when an indexed part has changed. */
const INDEXED: Columns = { ...SHARED, facets: ({ facets }) => facets };

/** Reads the columns of a stored entry. */
export function toEntry(row: unknown): StoredEntry {
  const { id, service, updated, price } = row as { id: string; service: string; updated: string; price: string };
  return { id: Number(id), service, updatedMs: Number(updated), price };
}

function toChecks({ claims, due, leased }: EntryRow): EntryChecks {
  return { claims, dueMs: due === null ? undefined : Number(due), leasedMs: Number(leased) };
}

function valuesOf(columns: Columns, change: EntryChange): unknown[] {
  return Object.values(columns).map((read) => read(change));
}

/** Assigns the columns to parameters from a number on. */
function assign(columns: Columns, from: number): string {
  return Object.keys(columns)
    .map((name, at) => `${name} = $${from + at}`)
    .join(", ");
}

interface EntryRow {
  readonly id: string;
  readonly claims: string;
  readonly due: string | null;
  readonly leased: string;
  readonly digest: Buffer;
  readonly terms: string;
  readonly facets: readonly string[];
}

/** See `CatalogStore.update`. */
export async function updateEntry(client: PoolClient, entryKey: EntryKey, decide: Decide): Promise<boolean> {
  const key = keyOf(entryKey);
  const found = await lock(client, key);
  const change = decide(found && { ...toEntry(found), checks: toChecks(found) });
  if (change === undefined) return false;
  if (change === "remove") {
    if (found !== undefined) await removeFound(client, found);
    return true;
  }
  if (found?.digest.equals(digestOf(change)) === true) {
    await client.query(TOUCH, [found.id, ...valuesOf(ALWAYS, change)]);
    return true;
  }
  const { name, description, parameters, other } = change.texts;
  const { rows } = await client.query<{ id: string }>(found === undefined ? INSERT : REWRITE, [
    ...[name, description, parameters, other],
    found?.id ?? key,
    ...valuesOf(INDEXED, change),
  ]);
  if (found !== undefined && found.terms !== change.terms.join(" ")) {
    await client.query(DROP_MEANINGS, [found.id]);
  }
  await writeFacets(client, rows[0]?.id ?? "", found?.facets.map(Number) ?? [], change.facets);
  await countTerms(client, found?.terms.split(" ") ?? [], change.terms);
  return true;
}

/** See `CatalogStore.remove`. */
export async function removeEntry(client: PoolClient, entryKey: EntryKey): Promise<boolean> {
  const found = await lock(client, keyOf(entryKey));
  if (found === undefined) return false;
  await removeFound(client, found);
  return true;
}

async function removeFound(client: PoolClient, found: EntryRow): Promise<void> {
  await client.query("DELETE FROM farebox_entries WHERE id = $1", [found.id]);
  await client.query(DROP_MEANINGS, [found.id]);
  await client.query(DROP_FACETS, [found.facets, found.id]);
  await countTerms(client, found.terms.split(" "), []);
}

/** See `CatalogStore.takeDue`. Processes that take at the same time skip each other's entries. */
export const TAKE_DUE = `
  UPDATE farebox_entries SET leased = $2 WHERE id IN (
    SELECT id FROM farebox_entries WHERE due <= $1 AND leased <= $1 ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED
  ) RETURNING id, claims`;
export const POSTPONE = "UPDATE farebox_entries SET due = $2, leased = 0 WHERE id = $1";

const NAMES = Object.keys(INDEXED);
const INSERT = `
  INSERT INTO farebox_entries (texts, key, written, ${NAMES.join(", ")})
  VALUES (${TEXTS}, $5, pg_current_xact_id(), ${NAMES.map((_, at) => `$${at + 6}`).join(", ")}) RETURNING id`;
const REWRITE = `
  UPDATE farebox_entries SET texts = ${TEXTS}, written = pg_current_xact_id(), ${assign(INDEXED, 6)}
  WHERE id = $5 RETURNING id`;
const TOUCH = `UPDATE farebox_entries SET ${assign(ALWAYS, 2)} WHERE id = $1`;
const DROP_MEANINGS = "DELETE FROM farebox_meanings WHERE entry = $1";
const DROP_FACETS = "DELETE FROM farebox_facets WHERE facet = ANY($1::bigint[]) AND entry = $2";

/** Locks a key until the transaction ends, even if it has no row yet. */
async function lock(client: PoolClient, key: Buffer): Promise<EntryRow | undefined> {
  await client.query("SELECT pg_advisory_xact_lock($1)", [String(key.readBigInt64BE())]);
  const sql = `SELECT ${STORED}, claims, due, leased, digest, terms, facets FROM farebox_entries WHERE key = $1`;
  return (await client.query<EntryRow>(sql, [key])).rows[0];
}

async function writeFacets(
  client: PoolClient,
  id: string,
  before: readonly number[],
  after: readonly number[],
): Promise<void> {
  const gone = before.filter((facet) => !after.includes(facet));
  const added = after.filter((facet) => !before.includes(facet));
  if (gone.length > 0) await client.query(DROP_FACETS, [gone, id]);
  if (added.length === 0) return;
  await client.query("INSERT INTO farebox_facets (facet, entry) SELECT unnest($1::bigint[]), $2", [added, id]);
}

/** Counts words in alphabetical order, so that two transactions with the same words cannot deadlock. */
async function countTerms(client: PoolClient, before: readonly string[], after: readonly string[]): Promise<void> {
  const changed = [
    ...before.filter((term) => term !== "" && !after.includes(term)).map((term) => [term, -1] as const),
    ...after.filter((term) => !before.includes(term)).map((term) => [term, 1] as const),
  ];
  if (changed.length === 0) return;
  const sql = `
    INSERT INTO farebox_terms (term, entries)
    SELECT term, by FROM unnest($1::text[], $2::bigint[]) AS changed (term, by) ORDER BY term
    ON CONFLICT (term) DO UPDATE SET entries = farebox_terms.entries + excluded.entries`;
  await client.query(sql, [changed.map(([term]) => term), changed.map(([, by]) => by)]);
}

/** A hash, because an index of PostgreSQL cannot hold the longest URLs. */
export function keyOf({ resource, toolName }: EntryKey): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([resource, toolName]))
    .digest();
}
