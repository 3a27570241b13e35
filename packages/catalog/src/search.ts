/**
 * Finds entries by a description in anybody's words: by text, which the store ranks, and by meaning.
 *
 * @module
 */

import { facetsOfFilter } from "./facets.js";
import type { CatalogStore, RankedText, WeightedWord } from "./store.js";
import { wordsOf } from "./texts.js";
import type { Near, VectorIndex } from "./vector-index.js";
import { embedQuery } from "./words/embed.js";
import { alikeness } from "./words/spelling.js";
import type { Vocabulary } from "./words/vocabulary.js";

/** As many entries as a search ranks. */
export const MAX_RANKED = 200;

/** What a search works with. */
export interface SearchParts {
  readonly store: CatalogStore;
  readonly index: VectorIndex;
  readonly words: Vocabulary;
}

const ANY = facetsOfFilter({});
const MAX_QUERY_WORDS = 32;
/** Below this, a word is of the kind of `the` and `of`. */
const MEANINGFUL = 0.25;
const ALIKE = 0.42;
const MAX_CORRECTIONS = 2;

/** Ids of the entries that fit, the best first, at most {@link MAX_RANKED}. */
export async function searchIds(
  query: string,
  facets: readonly number[],
  parts: SearchParts,
): Promise<readonly number[]> {
  const asked = [...new Set(wordsOf(query))].slice(0, MAX_QUERY_WORDS);
  const spelt = await correct(asked, parts);
  const vector = embedQuery(
    spelt.flatMap(({ meant }) => meant.slice(0, 1)),
    parts.words,
  );
  const words = await weigh([...new Set(spelt.flatMap(({ meant }) => meant))], parts);
  const [byText, byMeaning] = await Promise.all([
    words.length === 0 ? [] : parts.store.rank({ words, facets, limit: MAX_RANKED }),
    vector === undefined ? [] : parts.index.nearest(vector, facets, MAX_RANKED),
  ]);
  return fuse({ byText, byMeaning, likeness: (id) => (vector === undefined ? 0 : parts.index.likeness(vector, id)) });
}

/** A word as it was asked for, and what it may mean, the likeliest first. */
interface Spelt {
  readonly meant: readonly string[];
}

/** Words that nobody knows are typing errors, or names; the catalog's own terms tell. */
async function correct(asked: readonly string[], { store, words }: SearchParts): Promise<readonly Spelt[]> {
  const unknown = asked.filter((word) => word.length > 3 && words.vectorOf(word) === undefined);
  const listed = unknown.length === 0 ? new Map<string, number>() : await store.countTerms(unknown);
  return Promise.all(
    asked.map(async (word) => {
      if (!unknown.includes(word) || listed.has(word)) return { meant: [word] };
      const terms = await store.similarTerms(word);
      const alike = terms
        .map((term) => ({ term, share: alikeness(term, word) }))
        .filter(({ share }) => share >= ALIKE)
        .sort((one, other) => other.share - one.share);
      return { meant: [...alike.slice(0, MAX_CORRECTIONS).map(({ term }) => term), word] };
    }),
  );
}

/** Entries that one search ranks by text: more would keep everybody else waiting, and say little. */
const MAX_FITTING = 5_000;

/** The rarest words tell most, and are ranked by fastest; the rarest of all is always asked for. */
async function weigh(meant: readonly string[], { store, words }: SearchParts): Promise<readonly WeightedWord[]> {
  const [counts, total] = await Promise.all([store.countTerms(meant), store.count(ANY)]);
  const telling = meant.filter((word) => words.weightOf(word) >= MEANINGFUL);
  const counted = (telling.length > 0 ? telling : meant).map((word) => ({ word, count: counts.get(word) ?? 0 }));
  let fitting = 0;
  return counted
    .sort((one, other) => one.count - other.count)
    .filter(({ count }, at) => {
      fitting += count;
      return at === 0 || fitting <= MAX_FITTING;
    })
    .map(({ word, count }) => ({ word, weight: Math.log(1 + total / (1 + count)) }));
}

/** Measured on the questions of `test/catalog/quality`: sharing words says less than sharing a meaning. */
const TEXT = 0.1;

interface Rankings {
  readonly byText: readonly RankedText[];
  readonly byMeaning: readonly Near[];
  readonly likeness: (id: number) => number;
}

/** Adds up both: likeness of meaning, and the share of the best text's score. */
function fuse({ byText, byMeaning, likeness }: Rankings): readonly number[] {
  const scores = new Map(byMeaning.map(({ id, score }) => [id, score]));
  const best = byText[0]?.score ?? 1;
  for (const { id, score } of byText) scores.set(id, (scores.get(id) ?? likeness(id)) + (TEXT * score) / best);
  const ranked = [...scores].sort(([one, high], [other, low]) => low - high || one - other);
  return ranked.slice(0, MAX_RANKED).map(([id]) => id);
}
