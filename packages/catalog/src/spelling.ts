/**
 * The spelling of a query: a word that no vocabulary has is a typing error or a name.
 *
 * @module
 */
import type { CatalogStore } from "./store.js";
import type { Vocabulary } from "./word-vectors.js";

/** The words of a query, as they may be meant. */
export interface ReadWords {
  /** For each word its possible meanings, the likeliest first. */
  readonly meanings: readonly (readonly string[])[];
  readonly isCorrected: boolean;
}

const SIMILAR = 0.42;
const MAX_CORRECTIONS = 2;

/** Reads words. For a typing error, terms of the catalog with a similar spelling come first. */
export async function readWords(asked: readonly string[], store: CatalogStore, words: Vocabulary): Promise<ReadWords> {
  const unknown = asked.filter((word) => word.length > 3 && words.vectorOf(word) === undefined);
  const listed = unknown.length === 0 ? new Map<string, number>() : await store.countTerms(unknown);
  const meanings = await Promise.all(
    asked.map(async (word) => {
      if (!unknown.includes(word) || listed.has(word)) return [word];
      const terms = await store.similarTerms(word);
      const similar = terms
        .map((term) => ({ term, share: similarity(term, word) }))
        .filter(({ share }) => share >= SIMILAR)
        .sort((one, other) => other.share - one.share || (one.term < other.term ? -1 : 1));
      return [...similar.slice(0, MAX_CORRECTIONS).map(({ term }) => term), word];
    }),
  );
  return { meanings, isCorrected: meanings.some(({ length }) => length > 1) };
}

/** The spelling similarity of two words: their share of common trigrams, 0 to 1. A misspelt word has about half. */
function similarity(one: string, other: string): number {
  const first = trigramsOf(one);
  const second = trigramsOf(other);
  const shared = [...first].filter((trigram) => second.has(trigram)).length;
  return shared / (first.size + second.size - shared);
}

/** The padding counts the beginning of a word twice, because few typing errors are there. */
function trigramsOf(word: string): ReadonlySet<string> {
  const padded = `  ${word} `;
  return new Set(Array.from({ length: padded.length - 2 }, (_, at) => padded.slice(at, at + 3)));
}
