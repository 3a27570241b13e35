/**
 * Where a catalog keeps its entries. A store is a database that pages, filters and ranks by text; what the texts mean, and
 * which entries are alike, is not its concern.
 *
 * @module
 */

/** An entry as a store has it. */
export interface StoredEntry {
  /** Counts up in the order of registration, and never changes. */
  readonly id: number;
  /** The service, as JSON. */
  readonly service: string;
  /** Milliseconds since 1970. */
  readonly updatedMs: number;
}

/** The key of an entry: `toolName` is `""` for HTTP. */
export interface EntryKey {
  readonly resource: string;
  readonly toolName: string;
}

/** Texts of an entry by their weight for ranking, the heaviest first. */
export interface EntryTexts {
  readonly name: string;
  readonly description: string;
  readonly parameters: string;
  readonly other: string;
}

/** What is written of an entry. */
export interface EntryChange {
  readonly service: string;
  readonly updatedMs: number;
  readonly texts: EntryTexts;
  /** Every word of the texts, once. */
  readonly terms: readonly string[];
  /** One number for each filter that the entry fits. */
  readonly facets: readonly number[];
  /** What the entry means. */
  readonly vector: Int8Array;
}

/** One page of the list. Every facet must be there. */
export interface StoreQuery {
  readonly facets: readonly number[];
  readonly limit: number;
  readonly offset: number;
  /** The id after which the page begins; `0` for the first. */
  readonly after: number;
}

/** A word to rank by. */
export interface WeightedWord {
  /** Lower case letters and digits. */
  readonly word: string;
  /** Above zero; rare words weigh more. */
  readonly weight: number;
}

/** Ranks entries by their texts. */
export interface TextQuery {
  /** At least one. An entry need not have them all. */
  readonly words: readonly WeightedWord[];
  readonly facets: readonly number[];
  readonly limit: number;
}

/** An entry whose texts fit. */
export interface RankedText {
  readonly id: number;
  /** Above zero, the higher the better; comparable only within one ranking. */
  readonly score: number;
}

/** What an entry means, and which filters it fits. */
export interface StoredVector {
  readonly id: number;
  readonly facets: readonly number[];
  readonly vector: Int8Array;
}

/** Entries that changed, and where to ask from next time. */
export interface StoreChanges {
  readonly entries: readonly StoredVector[];
  readonly mark: string;
  /** Whether there is more already. */
  readonly isMore: boolean;
}

/** Keeps entries. Calls reject with the database's own error when it cannot be reached. */
export interface CatalogStore {
  /**
   * Reads an entry, lets `decide` say what becomes of it, and writes that, all in one transaction: two registrations of
   * one key never interleave. `undefined` writes nothing. Yields whether anything was written.
   */
  update(key: EntryKey, decide: (found: StoredEntry | undefined) => EntryChange | undefined): Promise<boolean>;
  /** Removes an entry; `false` when there is none. */
  remove(key: EntryKey): Promise<boolean>;
  /** A page in the order of registration. */
  list(query: StoreQuery): Promise<readonly StoredEntry[]>;
  /** How many entries have every facet. */
  count(facets: readonly number[]): Promise<number>;
  /** Those of the ids that are there and have every facet, in any order. */
  find(ids: readonly number[], facets: readonly number[]): Promise<readonly StoredEntry[]>;
  /** Entries by how well their texts fit, the best first. */
  rank(query: TextQuery): Promise<readonly RankedText[]>;
  /** In how many entries each of the words is; words that are in none are left out. */
  countTerms(words: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Terms that are written much like a word, the most alike first, at most 30. */
  similarTerms(word: string): Promise<readonly string[]>;
  /** What changed since a mark, oldest first; an entry may be told twice. Without a mark, everything. */
  changes(mark: string | undefined, limit: number): Promise<StoreChanges>;
  /** Ends every connection. Further calls reject. */
  close(): Promise<void>;
}
