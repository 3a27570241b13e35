/**
 * The reading calls of the store in PostgreSQL.
 *
 * @module
 */
import { STORED } from "../columns.js";
import type { CatalogStore, StoredVector } from "../store.js";
import { keyOf, PUT_MEANINGS, toEntry } from "./write.js";

/** Runs a statement and returns its rows. */
export type RunQuery = (sql: string, values: unknown[]) => Promise<readonly unknown[]>;

/** The calls of one statement. */
export type Reader = Omit<CatalogStore, "update" | "remove" | "takeDue" | "postpone" | "close">;

const RANK = `
  SELECT id, sum(weight) AS score
  FROM unnest($1::text[], $2::float8[]) AS asked (word, weight)
  JOIN farebox_entries ON texts @@ plainto_tsquery('english', word) AND facets @> $3::bigint[]
  GROUP BY id ORDER BY score DESC, id LIMIT $4`;

/** All transactions before `xmin` have ended, so no later reading can find more of their rows. */
const CHANGES = `
  SELECT id, written::text AS written, facets, e.vector, m.vector AS meaning,
    pg_snapshot_xmin(pg_current_snapshot())::text AS xmin
  FROM farebox_entries e LEFT JOIN farebox_meanings m ON m.entry = e.id AND m.embedder = $4
  WHERE (written, id) > ($1::text::xid8, $2::bigint) ORDER BY written, id LIMIT $3`;

/** Creates the calls. */
export function createReader(run: RunQuery): Reader {
  return {
    async list({ facets, limit, offset, after, afterPrice }) {
      if (afterPrice !== undefined) {
        const page = `SELECT e.id FROM farebox_facets f JOIN farebox_entries e ON e.id = f.entry
          WHERE f.facet = $5${others(facets, 5)} AND (e.price, e.id) > ($1, $2) ORDER BY e.price, e.id LIMIT $3 OFFSET $4`;
        const sql = `SELECT ${STORED} FROM farebox_entries WHERE id IN (${page}) ORDER BY price, id`;
        return (await run(sql, [afterPrice, after, limit, offset, ...facets])).map(toEntry);
      }
      const page = `SELECT f.entry FROM farebox_facets f WHERE f.facet = $1${others(facets, 4)} AND f.entry > $2
        ORDER BY f.entry LIMIT $3 OFFSET $4`;
      const sql = `SELECT ${STORED} FROM farebox_entries WHERE id IN (${page}) ORDER BY id`;
      const [first, ...more] = facets;
      return (await run(sql, [first, after, limit, offset, ...more])).map(toEntry);
    },
    async count(facets) {
      const sql = `SELECT count(*) AS entries FROM farebox_facets f WHERE f.facet = $1${others(facets, 1)}`;
      const [row] = (await run(sql, [...facets])) as readonly { entries: string }[];
      return Number(row?.entries ?? 0);
    },
    async countEach(facets) {
      const sql =
        "SELECT facet, count(*) AS entries FROM farebox_facets WHERE facet = ANY($1::bigint[]) GROUP BY facet";
      const rows = (await run(sql, [facets])) as readonly { facet: string; entries: string }[];
      return new Map(rows.map(({ facet, entries }) => [Number(facet), Number(entries)]));
    },
    async get(key, facets) {
      const sql = `SELECT ${STORED} FROM farebox_entries WHERE key = $1 AND facets @> $2::bigint[]`;
      const [row] = await run(sql, [keyOf(key), facets]);
      return row === undefined ? undefined : toEntry(row);
    },
    async find(ids, facets) {
      const sql = `SELECT ${STORED} FROM farebox_entries WHERE id = ANY($1::bigint[]) AND facets @> $2::bigint[]`;
      return (await run(sql, [ids, facets])).map(toEntry);
    },
    async rank({ words, facets, limit }) {
      const values = [words.map(({ word }) => word), words.map(({ weight }) => weight), facets, limit];
      const rows = (await run(RANK, values)) as readonly { id: string; score: number }[];
      return rows.map(({ id, score }) => ({ id: Number(id), score }));
    },
    async countTerms(words) {
      const sql = "SELECT term, entries FROM farebox_terms WHERE term = ANY($1::text[]) AND entries > 0";
      const rows = (await run(sql, [words])) as readonly { term: string; entries: string }[];
      return new Map(rows.map(({ term, entries }) => [term, Number(entries)]));
    },
    async similarTerms(word) {
      const sql = `SELECT term FROM farebox_terms WHERE term % $1 ORDER BY similarity(term, $1) DESC, term LIMIT 30`;
      return ((await run(sql, [word])) as readonly { term: string }[]).map(({ term }) => term);
    },
    changes: (mark, limit, embedder = "") => readChanges(run, mark, limit, embedder),
    async putMeanings(embedder, meanings) {
      const ids = meanings.map(({ id }) => id);
      const terms = meanings.map((meaning) => meaning.terms.join(" "));
      await run(PUT_MEANINGS, [embedder, ids, terms, meanings.map(({ vector }) => Buffer.from(vector))]);
    },
  };
}

/** A mark holds the last transaction and id. While there are more rows, it also holds where the next reading begins. */
async function readChanges(
  run: RunQuery,
  ...[mark, limit, embedder]: Parameters<Reader["changes"]>
): ReturnType<Reader["changes"]> {
  const [written = "0", id = "0", first] = mark?.split(":") ?? [];
  const rows = (await run(CHANGES, [written, id, limit, embedder])) as readonly ChangedRow[];
  const begin = first ?? rows[0]?.xmin;
  const last = rows.at(-1);
  const isMore = rows.length === limit && last !== undefined;
  const next = isMore ? `${last.written}:${last.id}:${begin}` : begin === undefined ? `${written}:${id}` : `${begin}:0`;
  return { entries: rows.map(toVector), mark: next, isMore };
}

/** The condition for the facets after the first. */
function others(facets: readonly number[], taken: number): string {
  return facets
    .slice(1)
    .map(
      (_, at) =>
        ` AND EXISTS (SELECT 1 FROM farebox_facets m WHERE m.facet = $${taken + at + 1} AND m.entry = f.entry)`,
    )
    .join("");
}

interface ChangedRow {
  readonly id: string;
  readonly written: string;
  readonly xmin: string;
  readonly facets: readonly string[];
  readonly vector: Buffer;
  readonly meaning: Buffer | null;
}

function toVector({ id, facets, vector, meaning }: ChangedRow): StoredVector {
  const own = { id: Number(id), facets: facets.map(Number), vector: Int8Array.from(vector) };
  return meaning === null ? own : { ...own, meaning: Int8Array.from(meaning) };
}
