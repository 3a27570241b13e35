/**
 * The store of a catalog: a database that pages, filters, and ranks by text. The catalog compares meanings itself.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** A stored entry. */
export interface StoredEntry {
  /** Counts up in the order of registration, and never changes. */
  readonly id: number;
  /** The service, as JSON. */
  readonly service: string;
  /** Milliseconds since 1970. */
  readonly updatedMs: number;
  /** See {@link EntryChange.price}. */
  readonly price: string;
}

/** The key of an entry: `toolName` is `""` for HTTP. */
export interface EntryKey {
  readonly resource: string;
  readonly toolName: string;
}

/** The texts of an entry. */
export interface EntryTexts {
  readonly name: string;
  readonly description: string;
  readonly parameters: string;
  readonly other: string;
}

/** The claims of an entry, and when they are checked with the server of the URL. */
export interface EntryChecks {
  /** JSON. */
  readonly claims: string;
  /** When the entry is due for a check: milliseconds since 1970. */
  readonly dueMs?: number | undefined;
  /** Until when a process checks it. */
  readonly leasedMs: number;
}

/** An entry that is due for a check. */
export interface DueEntry {
  readonly id: number;
  /** See {@link EntryChecks}. */
  readonly claims: string;
}

/** The new content of an entry. */
export interface EntryChange {
  readonly service: string;
  readonly updatedMs: number;
  readonly texts: EntryTexts;
  /** Every word of the texts, once. */
  readonly terms: readonly string[];
  /** One number for each filter that the entry matches. */
  readonly facets: readonly number[];
  /** The mean of its words. */
  readonly vector: Int8Array;
  /** Digits, or `~` for none. Entries are sorted by it as ASCII text. */
  readonly price: string;
  /** Default: no claims. */
  readonly checks?: EntryChecks;
}

/** A request for one page of the list. Entries must have every facet. */
export interface StoreQuery {
  /** At least one. */
  readonly facets: readonly number[];
  readonly limit: number;
  readonly offset: number;
  /** The id after which the page begins; `0` for the first. */
  readonly after: number;
  /** Sorts by price, then by id. The page begins after this price and the id; `""` for the first. */
  readonly afterPrice?: string;
}

/** A word to rank by. */
export interface WeightedWord {
  /** Lower case letters and digits. */
  readonly word: string;
  /** Above zero; rare words weigh more. */
  readonly weight: number;
}

/** A request to rank entries by their texts. */
export interface TextQuery {
  /** At least one. An entry may match some of them. */
  readonly words: readonly WeightedWord[];
  readonly facets: readonly number[];
  readonly limit: number;
}

/** An entry whose texts match. */
export interface RankedText {
  readonly id: number;
  /** The sum of the weights of the words that its texts have, each in any form: `forecasts` for `forecasting`. */
  readonly score: number;
}

/** The vectors of an entry, and the filters that it matches. */
export interface StoredVector {
  readonly id: number;
  readonly facets: readonly number[];
  readonly vector: Int8Array;
  /** The vector of the embedder that was asked for; absent when it is not stored. */
  readonly meaning?: Int8Array;
}

/** The vector of an entry by an embedder. */
export interface StoredMeaning {
  readonly id: number;
  /** See {@link EntryChange.terms}. */
  readonly terms: readonly string[];
  readonly vector: Int8Array;
}

/** Changed entries, and the mark for the next call. */
export interface StoreChanges {
  readonly entries: readonly StoredVector[];
  readonly mark: string;
  /** Whether there are more changes already. */
  readonly isMore: boolean;
}

/** Decides about an entry. Runs once, or not at all. */
export type Decide = (
  found: (StoredEntry & { readonly checks: EntryChecks }) | undefined,
) => EntryChange | "remove" | undefined;

/** Stores entries. Calls reject with the error of the database when it cannot be reached. */
export interface CatalogStore {
  /**
   * Reads an entry, lets `decide` return its new content, and writes that, in one transaction: two registrations of one key
   * never interleave. `undefined` writes nothing, `"remove"` removes the entry. Returns whether anything was written.
   */
  update(key: EntryKey, decide: Decide): Promise<boolean>;
  /** Removes an entry; `false` when it is not stored. */
  remove(key: EntryKey): Promise<boolean>;
  /**
   * Finds entries that are due at `nowMs`, the longest due first, and leases them until `untilMs`: no other process finds them
   * before.
   */
  takeDue(query: {
    readonly nowMs: number;
    readonly untilMs: number;
    readonly limit: number;
  }): Promise<readonly DueEntry[]>;
  /** Changes when an entry is due, and ends its lease. */
  postpone(id: number, dueMs: number): Promise<void>;
  /** Lists a page in the order of registration, or by price. */
  list(query: StoreQuery): Promise<readonly StoredEntry[]>;
  /** Counts the entries that have every facet. */
  count(facets: readonly number[]): Promise<number>;
  /** Counts the entries of each facet. Facets of no entry are left out. */
  countEach(facets: readonly number[]): Promise<ReadonlyMap<number, number>>;
  /** Finds the entry of a key, if it has every facet. */
  get(key: EntryKey, facets: readonly number[]): Promise<StoredEntry | undefined>;
  /** Finds the stored entries among the ids that have every facet, in any order. */
  find(ids: readonly number[], facets: readonly number[]): Promise<readonly StoredEntry[]>;
  /** Ranks entries by the words that their texts have, the highest score first, and the same score by id. */
  rank(query: TextQuery): Promise<readonly RankedText[]>;
  /** Counts the entries of each word. Words of no entry are left out. */
  countTerms(words: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Finds terms with a similar spelling, the most similar first, at most 30. */
  similarTerms(word: string): Promise<readonly string[]>;
  /**
   * Lists changes since a mark, oldest first. May list an entry twice. Without a mark it lists all entries. With an embedder it
   * adds that one's vectors; an entry that gets one has changed, and an entry whose terms change has none.
   */
  changes(mark: string | undefined, limit: number, embedder?: string): Promise<StoreChanges>;
  /** Stores vectors of an embedder, each if the entry still has these terms. Vectors of other embedders stay. */
  putMeanings(embedder: string, meanings: readonly StoredMeaning[]): Promise<void>;
  /** Closes every connection. Further calls reject. */
  close(): Promise<void>;
}

/**
 * A digest of the indexed parts of an entry: texts, terms, facets, vector and price. Most registrations repeat the last one; then no
 * index is written.
 */
export function digestOf({ texts, terms, facets, vector, price }: EntryChange): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([texts, terms, facets, price]))
    .update(vector)
    .digest();
}
