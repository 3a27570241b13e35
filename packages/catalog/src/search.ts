/**
 * Searches entries by a description in natural language: by text, which the store ranks, and by meaning.
 *
 * @module
 */
import { facetsOfFilter } from "./facets.js";
import type { CatalogStore, RankedText, WeightedWord } from "./store.js";
import { wordsOf } from "./texts.js";
import type { Near, VectorIndex } from "./vector-index.js";
import { embedQuery, type Vocabulary } from "./word-vectors.js";

/** Most entries that a search ranks. */
export const MAX_RANKED = 200;

/** The sources of a search. */
export interface SearchSources {
  readonly store: CatalogStore;
  readonly index: VectorIndex;
  readonly words: Vocabulary;
}

const ANY = facetsOfFilter({});
const MAX_QUERY_WORDS = 32;
/** Words with a lower weight are frequent ones, such as `the` and `of`. */
const MEANINGFUL = 0.25;
const SIMILAR = 0.42;
const MAX_CORRECTIONS = 2;

/** Finds the ids of matching entries, best matches first, at most {@link MAX_RANKED}. */
export async function searchIds(
  query: string,
  facets: readonly number[],
  sources: SearchSources,
): Promise<readonly number[]> {
  const asked = [...new Set(wordsOf(query))].slice(0, MAX_QUERY_WORDS);
  const meanings = await correct(asked, sources);
  const vector = embedQuery(
    meanings.flatMap((words) => words.slice(0, 1)),
    sources.words,
  );
  const words = await weigh([...new Set(meanings.flat())], sources);
  const [byText, byMeaning] = await Promise.all([
    words.length === 0 ? [] : sources.store.rank({ words, facets, limit: MAX_RANKED }),
    vector === undefined ? [] : sources.index.nearest(vector, facets, MAX_RANKED),
  ]);
  return fuse({
    byText,
    byMeaning,
    similarityOf: (id) => (vector === undefined ? 0 : sources.index.similarityOf(vector, id)),
  });
}

/**
 * For each word its possible meanings, the likeliest first. An unknown word is a typing error or a name, so terms of the
 * catalog with a similar spelling come first.
 */
async function correct(
  asked: readonly string[],
  { store, words }: SearchSources,
): Promise<readonly (readonly string[])[]> {
  const unknown = asked.filter((word) => word.length > 3 && words.vectorOf(word) === undefined);
  const listed = unknown.length === 0 ? new Map<string, number>() : await store.countTerms(unknown);
  return Promise.all(
    asked.map(async (word) => {
      if (!unknown.includes(word) || listed.has(word)) return [word];
      const terms = await store.similarTerms(word);
      const similar = terms
        .map((term) => ({ term, share: similarity(term, word) }))
        .filter(({ share }) => share >= SIMILAR)
        .sort((one, other) => other.share - one.share);
      return [...similar.slice(0, MAX_CORRECTIONS).map(({ term }) => term), word];
    }),
  );
}

/** Most entries that one search ranks by text. More would delay other requests and improve little. */
const MAX_MATCHING = 5_000;

/** Keeps the rarest words: they distinguish entries best and are ranked fastest. The rarest one is always kept. */
async function weigh(meant: readonly string[], { store, words }: SearchSources): Promise<readonly WeightedWord[]> {
  const [counts, total] = await Promise.all([store.countTerms(meant), store.count(ANY)]);
  const meaningful = meant.filter((word) => words.weightOf(word) >= MEANINGFUL);
  const counted = (meaningful.length > 0 ? meaningful : meant).map((word) => ({ word, count: counts.get(word) ?? 0 }));
  let matching = 0;
  return counted
    .sort((one, other) => one.count - other.count)
    .filter(({ count }, at) => {
      matching += count;
      return at === 0 || matching <= MAX_MATCHING;
    })
    .map(({ word, count }) => ({ word, weight: Math.log(1 + total / (1 + count)) }));
}

/** Measured with the questions of `test/catalog/quality`: a shared word counts less than a shared meaning. */
const TEXT = 0.1;

interface Rankings {
  readonly byText: readonly RankedText[];
  readonly byMeaning: readonly Near[];
  readonly similarityOf: (id: number) => number;
}

/** Adds up the similarity of the meaning and the text score, as a share of the best text score. */
function fuse({ byText, byMeaning, similarityOf }: Rankings): readonly number[] {
  const scores = new Map(byMeaning.map(({ id, score }) => [id, score]));
  const best = byText[0]?.score ?? 1;
  for (const { id, score } of byText) scores.set(id, (scores.get(id) ?? similarityOf(id)) + (TEXT * score) / best);
  const ranked = [...scores].sort(([one, high], [other, low]) => low - high || one - other);
  return ranked.slice(0, MAX_RANKED).map(([id]) => id);
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
