/**
 * The reading calls of the embedded store.
 *
 * @module
 */
import type { Database } from "libsql";
import { STORED } from "../columns.js";
import type { EntryKey, RankedText, StoreChanges, StoredEntry, StoredVector, StoreQuery, TextQuery } from "../store.js";
import { BLOCK, toEntry } from "./write.js";

/** The reading calls, synchronous. */
export interface Reader {
  list(query: StoreQuery): readonly StoredEntry[];
  count(facets: readonly number[]): number;
  countEach(facets: readonly number[]): ReadonlyMap<number, number>;
  get(key: EntryKey, facets: readonly number[]): StoredEntry | undefined;
  find(ids: readonly number[], facets: readonly number[]): readonly StoredEntry[];
  rank(query: TextQuery): readonly RankedText[];
  countTerms(words: readonly string[]): ReadonlyMap<string, number>;
  similarTerms(word: string): readonly string[];
  changes(mark: string | undefined, limit: number, embedder?: string): StoreChanges;
}

/** So many entries are sorted within milliseconds. */
const FEW = 2_000;

/** Prepares the statements. Those that depend on the number of facets are compiled per call, in microseconds. */
export function createReader(db: Database): Reader {
  const termCount = db.prepare("SELECT entries FROM terms WHERE term = ? AND entries > 0");
  const grams = db.prepare("SELECT term FROM grams WHERE grams MATCH ? ORDER BY rank LIMIT 30");
  const changed = db.prepare(
    `SELECT id, revision, facets, entries.vector, meanings.vector AS meaning
     FROM entries LEFT JOIN meanings ON entry = id AND embedder = ? WHERE revision > ? ORDER BY revision LIMIT ?`,
  );
  const blocks = db.prepare("SELECT block, entries FROM blocks WHERE facet = ? ORDER BY block");
  const total = db.prepare("SELECT coalesce(sum(entries), 0) AS entries FROM blocks WHERE facet = ?");
  const each = db.prepare(
    "SELECT facet, sum(entries) AS entries FROM blocks WHERE facet IN (SELECT value FROM json_each(?)) GROUP BY facet",
  );
  const all = (sql: string, ...values: readonly unknown[]): readonly unknown[] => db.prepare(sql).all(...values);
  const countOf = (facet: number): number => (total.get(facet) as { entries: number }).entries;

  /** Few entries are sorted; among many the index of prices is followed until the page is full. */
  function listByPrice({ facets, limit, offset, after, afterPrice }: StoreQuery): readonly StoredEntry[] {
    const isFew = Math.min(...facets.map(countOf)) <= FEW;
    const [few, order] = isFew
      ? [`id IN (SELECT entry FROM facets WHERE facet = ?${others(facets)})`, "+price, +id"]
      : [`true${having(facets)}`, "price, id"];
    const sql = `SELECT ${STORED} FROM entries WHERE ${few} AND (price, id) > (?, ?) ORDER BY ${order} LIMIT ? OFFSET ?`;
    return all(sql, ...facets, afterPrice, after, limit, offset).map(toEntry);
  }

  return {
    list(query) {
      if (query.afterPrice !== undefined) return listByPrice(query);
      const { facets, limit, offset, after } = query;
      const page = `SELECT facets.entry FROM facets WHERE facets.facet = ?${others(facets)} AND facets.entry > ?
        ORDER BY facets.entry LIMIT ? OFFSET ?`;
      const sql = `SELECT ${STORED} FROM entries WHERE id IN (${page}) ORDER BY id`;
      const [only, ...more] = facets;
      const isByBlocks = only !== undefined && more.length === 0 && after === 0;
      const from = isByBlocks ? skipBlocks(blocks.all(only) as Block[], offset) : { after, offset };
      return all(sql, ...facets, from.after, limit, from.offset).map(toEntry);
    },
    count(facets) {
      const [only, ...more] = facets;
      if (only !== undefined && more.length === 0) return countOf(only);
      const rows = all(`SELECT count(*) AS entries FROM facets WHERE facets.facet = ?${others(facets)}`, ...facets);
      return (rows[0] as { entries: number }).entries;
    },
    countEach(facets) {
      const rows = each.all(JSON.stringify(facets)) as readonly { facet: number; entries: number }[];
      return new Map(rows.filter(({ entries }) => entries > 0).map(({ facet, entries }) => [facet, entries]));
    },
    get({ resource, toolName }, facets) {
      const sql = `SELECT ${STORED} FROM entries WHERE resource = ? AND tool = ?${having(facets)}`;
      const [row] = all(sql, resource, toolName, ...facets);
      return row === undefined ? undefined : toEntry(row);
    },
    find(ids, facets) {
      const sql = `SELECT ${STORED} FROM entries WHERE id IN (SELECT value FROM json_each(?))${having(facets)}`;
      return all(sql, JSON.stringify(ids), ...facets).map(toEntry);
    },
    rank({ words, facets, limit }) {
      const matches = words.map(() => "SELECT rowid, ? AS weight FROM texts WHERE texts MATCH ?").join(" UNION ALL ");
      const filter = facets.map(() => "EXISTS (SELECT 1 FROM facets WHERE facet = ? AND entry = id)").join(" AND ");
      const sql = `SELECT id, sum(weight) AS score FROM (SELECT rowid AS id, weight FROM (${matches}))
        WHERE ${filter || "true"} GROUP BY id ORDER BY score DESC, id LIMIT ?`;
      const values = words.flatMap(({ word, weight }) => [weight, `"${word}"`]);
      return all(sql, ...values, ...facets, limit).map((row) => row as RankedText);
    },
    countTerms(words) {
      const counted = words.map((word) => [word, termCount.get(word) as { entries: number } | undefined] as const);
      return new Map(counted.flatMap(([word, row]) => (row === undefined ? [] : [[word, row.entries]])));
    },
    similarTerms(word) {
      const trigrams = Array.from({ length: Math.max(0, word.length - 2) }, (_, at) => `"${word.slice(at, at + 3)}"`);
      if (trigrams.length === 0) return [];
      return grams.all(trigrams.join(" OR ")).map((row) => (row as { term: string }).term);
    },
    changes(mark, limit, embedder = "") {
      const rows = changed.all(embedder, Number(mark ?? 0), limit) as ChangedRow[];
      const last = rows.at(-1)?.revision ?? Number(mark ?? 0);
      return { entries: rows.map(toVector), mark: String(last), isMore: rows.length === limit };
    },
  };
}

interface Block {
  readonly block: number;
  readonly entries: number;
}

/** Finds the id after which a page begins, and the rest of its offset. */
function skipBlocks(blocks: readonly Block[], offset: number): { readonly after: number; readonly offset: number } {
  let left = offset;
  for (const { block, entries } of blocks) {
    if (left < entries) return { after: block * BLOCK - 1, offset: left };
    left -= entries;
  }
  // The offset is behind the last entry.
  return { after: Number.MAX_SAFE_INTEGER, offset: 0 };
}

/** The condition for the facets after the first. */
function others(facets: readonly number[]): string {
  return facets
    .slice(1)
    .map(() => " AND EXISTS (SELECT 1 FROM facets AS more WHERE more.facet = ? AND more.entry = facets.entry)")
    .join("");
}

interface ChangedRow {
  readonly id: number;
  readonly revision: number;
  readonly facets: string;
  /** The driver returns either type: one for a single row, the other for all rows. */
  readonly vector: ArrayBuffer | Uint8Array;
  readonly meaning: ArrayBuffer | Uint8Array | null;
}

function toVector({ id, facets, vector, meaning }: ChangedRow): StoredVector {
  const own = { id, facets: JSON.parse(facets) as number[], vector: new Int8Array(vector) };
  return meaning === null ? own : { ...own, meaning: new Int8Array(meaning) };
}

/** For entries that have every facet. */
function having(facets: readonly number[]): string {
  return facets.map(() => " AND EXISTS (SELECT 1 FROM facets WHERE facet = ? AND entry = entries.id)").join("");
}
