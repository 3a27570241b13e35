/**
 * The vectors of all entries, in memory: 100 bytes each. The index follows the store, because other processes may write to it.
 *
 * A search compares the vectors one by one. That takes some milliseconds for 100,000 entries, with breaks for other requests.
 *
 * @module
 */
import { setImmediate } from "node:timers/promises";
import type { CatalogStore, StoredVector } from "./store.js";
import { QUANTUM, VECTOR_SIZE } from "./word-vectors.js";

/** Returns the index in the current state of the store. */
export interface Indexer {
  current(): Promise<VectorIndex>;
}

const BATCH = 2_000;

/** Creates the indexer. The first search reads the store. */
export function createIndexer(store: CatalogStore): Indexer {
  const index = createVectorIndex();
  let mark: string | undefined;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    for (let isMore = true; isMore; ) {
      const changes = await store.changes(mark, BATCH);
      index.put(changes.entries);
      ({ mark, isMore } = changes);
    }
  }

  return {
    async current() {
      // Concurrent searches wait for the same reading.
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
      return index;
    },
  };
}

/** An entry with its score: about the cosine of the angle between two vectors, 1 for the same direction. */
export interface Near {
  readonly id: number;
  readonly score: number;
}

/** Finds entries by meaning. */
export interface VectorIndex {
  /** Adds or replaces entries. */
  put(entries: readonly StoredVector[]): void;
  /** Finds the nearest entries that have every facet, the nearest first. */
  nearest(query: Int8Array, facets: readonly number[], limit: number): Promise<readonly Near[]>;
  /** The score of one entry; 0 for an unknown one. */
  similarityOf(query: Int8Array, id: number): number;
}

const UNIT = QUANTUM ** 2;

/** Rows that are compared before the event loop continues: about a millisecond. */
const TURN = 8_192;

/** Creates an empty index. */
function createVectorIndex(): VectorIndex {
  let vectors = new Int8Array(1_024 * VECTOR_SIZE);
  const ids: number[] = [];
  const facetsOf: (readonly number[])[] = [];
  const rowOf = new Map<number, number>();

  function rowFor(id: number): number {
    const known = rowOf.get(id);
    if (known !== undefined) return known;
    const row = ids.push(id) - 1;
    rowOf.set(id, row);
    if ((row + 1) * VECTOR_SIZE > vectors.length) {
      const larger = new Int8Array(vectors.length * 2);
      larger.set(vectors);
      vectors = larger;
    }
    return row;
  }

  return {
    put(entries) {
      for (const { id, facets, vector } of entries) {
        const row = rowFor(id);
        vectors.set(vector.subarray(0, VECTOR_SIZE), row * VECTOR_SIZE);
        facetsOf[row] = facets;
      }
    },
    async nearest(query, facets, limit) {
      const best = createBest(limit);
      for (let row = 0; row < ids.length; row++) {
        if (row % TURN === TURN - 1) await setImmediate();
        const own = facetsOf[row] ?? [];
        if (!facets.every((facet) => own.includes(facet))) continue;
        best.offer(ids[row] ?? 0, dot(vectors, row * VECTOR_SIZE, query) / UNIT);
      }
      return best.sorted();
    },
    similarityOf(query, id) {
      const row = rowOf.get(id);
      return row === undefined ? 0 : dot(vectors, row * VECTOR_SIZE, query) / UNIT;
    },
  };
}

/** `| 0` keeps the sum an integer, which is fast. */
function dot(vectors: Int8Array, from: number, query: Int8Array): number {
  let sum = 0;
  for (let at = 0; at < VECTOR_SIZE; at++) sum = (sum + (vectors[from + at] as number) * (query[at] as number)) | 0;
  return sum;
}

interface Best {
  offer(id: number, score: number): void;
  sorted(): readonly Near[];
}

/** Keeps the highest scores: collects twice the limit, then drops the lower half. */
function createBest(limit: number): Best {
  let kept: Near[] = [];
  let least = Number.NEGATIVE_INFINITY;
  const sort = (): void => {
    kept.sort((one, other) => other.score - one.score || one.id - other.id);
    kept = kept.slice(0, limit);
  };
  return {
    offer(id, score) {
      if (score <= least) return;
      kept.push({ id, score });
      if (kept.length < limit * 2) return;
      sort();
      least = kept.at(-1)?.score ?? least;
    },
    sorted() {
      sort();
      return kept;
    },
  };
}
