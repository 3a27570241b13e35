/**
 * The vectors of all entries, in memory: of their words, and of their meaning where there is an embedder. The index follows the
 * store, because other processes may write to it.
 *
 * Up to {@link EXACT} entries a search compares all vectors. Beyond that it compares the signs of all, one bit for each number, and
 * the vectors of those that are nearest by sign. A search makes breaks for other requests.
 *
 * @module
 */
import { setImmediate } from "node:timers/promises";
import type { CatalogStore, StoredVector } from "./store.js";
import { QUANTUM, VECTOR_SIZE } from "./word-vectors.js";

/** Returns the index in the current state of the store. */
export interface Indexer {
  current(): Promise<VectorIndex>;
  /** The same, with everything that was written before the call: {@link current} may join a reading that began earlier. */
  fresh(): Promise<VectorIndex>;
}

const BATCH = 2_000;

/** The embedder whose vectors are read. */
export interface Meanings {
  readonly id: string;
  readonly dimensions: number;
}

/** Creates the indexer. The first search reads the store. */
export function createIndexer(store: CatalogStore, meanings: Meanings | undefined): Indexer {
  const index = createVectorIndex(meanings?.dimensions ?? 0);
  let mark: string | undefined;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    for (let isMore = true; isMore; ) {
      const changes = await store.changes(mark, BATCH, meanings?.id);
      index.put(changes.entries);
      ({ mark, isMore } = changes);
    }
  }

  async function current(): Promise<VectorIndex> {
    // Concurrent searches wait for the same reading.
    reading ??= read().finally(() => {
      reading = undefined;
    });
    await reading;
    return index;
  }

  return {
    current,
    async fresh() {
      await reading?.catch(() => {});
      return current();
    },
  };
}

/** The vectors of a query. An absent one is not known. */
export interface AskedVectors {
  readonly words: Int8Array | undefined;
  readonly meaning?: Int8Array | undefined;
}

/** An entry with its similarity: about the cosine of the angle between two vectors, 1 for the same direction. With meanings, a mean. */
export interface Near {
  readonly id: number;
  readonly score: number;
}

/** Finds entries by meaning. */
export interface VectorIndex {
  /** Adds or replaces entries. */
  put(entries: readonly StoredVector[]): void;
  /** Finds the nearest entries that have every facet, the nearest first: by meaning and words, and by words where one has no meaning. */
  nearest(asked: AskedVectors, facets: readonly number[], limit: number): Promise<readonly Near[]>;
  /** The similarity of one entry, as {@link nearest} counts it; 0 for an unknown one. */
  similarity(asked: AskedVectors, id: number): number;
  /** The ids of entries whose meaning is not stored yet, oldest first. */
  readonly missing: ReadonlySet<number>;
  /** Drops an id from {@link missing}, until the entry changes. */
  giveUp(id: number): void;
}

const UNIT = QUANTUM ** 2;

/** The cosine of the words counts this much beside the cosine of the meanings. Measured with the seen questions. */
const WORDS = 0.2;

/** Most entries whose vectors are all compared. 20,000 vectors of 512 numbers take some 10 ms. */
export const EXACT = 20_000;

/** Entries that are nearest by sign and compared by vector. */
const SHORTLIST = 1_000;

/** Rows that are compared before the event loop continues: a millisecond or two. */
const TURN = 4_096;

/** Creates an empty index. Without dimensions, only words are compared. */
export function createVectorIndex(dimensions: number): VectorIndex {
  const words = createRows<Int8Array>(Int8Array, VECTOR_SIZE);
  const meanings = createRows<Int8Array>(Int8Array, dimensions);
  const signs = createRows<Uint32Array>(Uint32Array, Math.ceil(dimensions / 32));
  const isUnderstood: boolean[] = [];
  const missing = new Set<number>();
  const ids: number[] = [];
  const facetsOf: (readonly number[])[] = [];
  const rowOf = new Map<number, number>();

  function rowFor(id: number): number {
    const row = rowOf.get(id) ?? ids.push(id) - 1;
    rowOf.set(id, row);
    return row;
  }

  function putMeaning(row: number, id: number, meaning: Int8Array | undefined): void {
    if (dimensions === 0) return;
    isUnderstood[row] = meaning?.some((number) => number !== 0) === true;
    if (meaning === undefined) missing.add(id);
    else {
      missing.delete(id);
      meanings.put(row, meaning);
      signs.put(row, signsOf(meaning));
    }
  }

  function similarityAt({ words: asked, meaning }: AskedVectors, row: number): number {
    const byWords = asked && dot(words.all, row, asked) / UNIT;
    if (meaning === undefined || isUnderstood[row] !== true) return byWords ?? 0;
    const byMeaning = dot(meanings.all, row, meaning) / UNIT;
    return byWords === undefined ? byMeaning : (byMeaning + WORDS * byWords) / (1 + WORDS);
  }

  /** Calls `visit` for each row with the facets, with breaks. */
  async function scan(facets: readonly number[], visit: (row: number) => void): Promise<void> {
    for (let row = 0; row < ids.length; row++) {
      if (row % TURN === TURN - 1) await setImmediate();
      const own = facetsOf[row] ?? [];
      if (facets.every((facet) => own.includes(facet))) visit(row);
    }
  }

  /** The rows that are nearest by sign, in no order. */
  async function shortlist(meaning: Int8Array, facets: readonly number[]): Promise<readonly number[]> {
    const asked = signsOf(meaning);
    const rowsAt: number[][] = Array.from({ length: dimensions + 1 }, () => []);
    let kept = 0;
    let farthest = dimensions;
    await scan(facets, (row) => {
      if (isUnderstood[row] !== true) return;
      const distance = hamming(signs.all, row, asked);
      if (distance > farthest) return;
      rowsAt[distance]?.push(row);
      kept += 1;
      // Drops the farthest distance as long as the nearer ones are enough.
      for (let last = rowsAt[farthest]; last && kept - last.length >= SHORTLIST; last = rowsAt[farthest]) {
        kept -= last.length;
        last.length = 0;
        farthest -= 1;
      }
    });
    return rowsAt.flat();
  }

  return {
    missing,
    giveUp: (id) => void missing.delete(id),
    put(entries) {
      for (const { id, facets, vector, meaning } of entries) {
        const row = rowFor(id);
        words.put(row, vector);
        facetsOf[row] = facets;
        putMeaning(row, id, meaning);
      }
    },
    async nearest(asked, facets, limit) {
      const best = createBest(limit);
      const offer = (row: number): void => best.offer(ids[row] ?? 0, similarityAt(asked, row));
      if (asked.meaning !== undefined && ids.length > EXACT) {
        for (const row of await shortlist(asked.meaning, facets)) offer(row);
      } else await scan(facets, offer);
      return best.sorted();
    },
    similarity(asked, id) {
      const row = rowOf.get(id);
      return row === undefined ? 0 : similarityAt(asked, row);
    },
  };
}

interface Rows<Numbers> {
  all: Numbers;
  put(row: number, numbers: Numbers): void;
}

/** Rows of `size` numbers in one array that grows. */
function createRows<Numbers extends Int8Array | Uint32Array>(
  type: { new (length: number): Numbers },
  size: number,
): Rows<Numbers> {
  const rows: Rows<Numbers> = {
    all: new type(1_024 * size),
    put(row, numbers) {
      while ((row + 1) * size > rows.all.length) {
        const larger = new type(rows.all.length * 2);
        larger.set(rows.all);
        rows.all = larger;
      }
      rows.all.set(numbers.length > size ? numbers.subarray(0, size) : numbers, row * size);
    },
  };
  return rows;
}

/** The dot product of a row and a vector. `| 0` keeps the sum an integer, which is fast. */
function dot(rows: Int8Array, row: number, vector: Int8Array): number {
  const from = row * vector.length;
  let sum = 0;
  for (let at = 0; at < vector.length; at++) sum = (sum + (rows[from + at] as number) * (vector[at] as number)) | 0;
  return sum;
}

/** One bit for each number: whether it is above zero. */
function signsOf(vector: Int8Array): Uint32Array {
  const signs = new Uint32Array(Math.ceil(vector.length / 32));
  for (const [at, number] of vector.entries()) {
    if (number > 0) signs[at >> 5] = (signs[at >> 5] as number) | (1 << (at & 31));
  }
  return signs;
}

/** The number of bits in which a row and a vector of signs differ. */
function hamming(rows: Uint32Array, row: number, signs: Uint32Array): number {
  const from = row * signs.length;
  let distance = 0;
  for (let at = 0; at < signs.length; at++) {
    // Counts the ones of 32 bits: in pairs, in fours, in bytes, and then in all bytes.
    let bits = ((rows[from + at] as number) ^ (signs[at] as number)) | 0;
    bits -= (bits >>> 1) & 0x55555555;
    bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
    distance += Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return distance;
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
