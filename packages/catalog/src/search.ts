/**
 * Searches entries by a description in natural language: by text, which the store ranks, by the words, and by meaning.
 *
 * Nothing that a seller can buy enters a score: no payments are counted.
 *
 * @module
 */
import type { Encoder } from "./embedder.js";
import { facetsOfFilter } from "./facets.js";
import { readWords } from "./spelling.js";
import type { CatalogStore, WeightedWord } from "./store.js";
import { wordsOf } from "./texts.js";
import type { AskedVectors, Near, VectorIndex } from "./vector-index.js";
import { embedQuery, type Vocabulary } from "./word-vectors.js";

/** Most entries that a search ranks. */
export const MAX_RANKED = 200;

/** The sources of a search. */
export interface SearchSources {
  readonly store: CatalogStore;
  readonly index: VectorIndex;
  readonly words: Vocabulary;
  /** `undefined` without an embedder. */
  readonly encoder: Encoder | undefined;
}

/** The entries that fit a query, best matches first. */
export interface Ranking {
  /** At most {@link MAX_RANKED}, with scores from 0 to 1. */
  readonly ranked: readonly Near[];
  /** Whether more entries may match, or vectors of the embedder are missing. */
  readonly isPartial: boolean;
}

const ANY = facetsOfFilter({});
const MAX_QUERY = 500;
const MAX_QUERY_WORDS = 32;
/** Words with a lower weight are frequent ones, such as `the` and `of`. */
const MEANINGFUL = 0.25;

// Measured with the first half of the questions of `test/catalog/quality`.

/** The weight of a shared word: it counts less than a shared meaning. */
const TEXT = 0.1;
/** The weight of a shared word in a query with a name. */
const NAMES = 0.5;
/** An entry with this share of the words of a query fits it, even with another meaning. */
const SHARED = 0.5;
/** An entry with a lower score does not fit, where only words are compared. */
const MIN_BY_WORDS = 0.2;
/** Nor does one with less than this share of the best score. */
const MIN_SHARE = 0.5;

/** Ranks the entries that fit a query. */
export async function rankEntries(query: string, facets: readonly number[], sources: SearchSources): Promise<Ranking> {
  const { store, index, encoder } = sources;
  const text = query.slice(0, MAX_QUERY);
  const asked = [...new Set(wordsOf(text))].slice(0, MAX_QUERY_WORDS);
  const { meanings, isCorrected, hasNames } = await readWords(asked, store, sources.words);
  const likely = meanings.flatMap((words) => words.slice(0, 1));
  const [encoded, { words, known }] = await Promise.all([
    encoder?.encodeQuery(isCorrected ? likely.join(" ") : text),
    weigh(meanings, sources),
  ]);
  const meaning = encoded?.some((number) => number !== 0) === true ? encoded : undefined;
  const vectors: AskedVectors = { words: embedQuery(likely, sources.words), meaning };
  const isMeant = vectors.words !== undefined || meaning !== undefined;
  const [byText, byMeaning] = await Promise.all([
    words.length === 0 ? [] : store.rank({ words, facets, limit: MAX_RANKED }),
    isMeant ? index.nearest(vectors, facets, MAX_RANKED) : [],
  ]);

  const best = byText[0]?.score ?? 1;
  const textOf = new Map(byText.map(({ id, score }) => [id, (known * score) / best]));
  const weight = isMeant ? (hasNames ? NAMES : TEXT) : 1;
  const minScore = meaning === undefined ? MIN_BY_WORDS : (encoder?.minScore ?? 0);
  const ids = new Set([...textOf.keys(), ...byMeaning.map(({ id }) => id)]);
  const scored = [...ids].map((id) => {
    const shared = textOf.get(id) ?? 0;
    const score = weight * shared + (1 - weight) * index.similarityOf(vectors, id);
    return { id, shared, score: Math.min(1, Math.max(0, score)) };
  });
  const least = Math.max(minScore, MIN_SHARE * Math.max(0, ...scored.map(({ score }) => score)));
  const fitting = scored
    .filter(({ shared, score }) => score >= least || shared >= SHARED)
    .sort((one, other) => other.score - one.score || one.id - other.id);
  const isUnread = encoder !== undefined && (encoded === undefined || index.missing.size > 0);
  const isPartial = fitting.length >= MAX_RANKED || isUnread;
  return { ranked: fitting.slice(0, MAX_RANKED).map(({ id, score }) => ({ id, score })), isPartial };
}

/** Most entries that one search ranks by text. More would delay other requests and improve little. */
const MAX_MATCHING = 5_000;

interface Weighed {
  readonly words: readonly WeightedWord[];
  /** The share of the query that entries have, 0 to 1: each word by its weight. */
  readonly known: number;
}

/** Keeps the rarest words: they distinguish entries best and are ranked fastest. The rarest one is always kept. */
async function weigh(
  meanings: readonly (readonly string[])[],
  { store, words }: Pick<SearchSources, "store" | "words">,
): Promise<Weighed> {
  const meant = [...new Set(meanings.flat())];
  const [counts, total] = await Promise.all([store.countTerms(meant), store.count(ANY)]);
  const rarity = (word: string): number => Math.log(1 + total / (1 + (counts.get(word) ?? 0)));
  const weightOf = (word: string): number => rarity(word) * words.weightOf(word);
  const heaviest = (some: readonly string[]): number => Math.max(0, ...some.map(weightOf));
  const all = sumOf(meanings.map(heaviest));
  const known = sumOf(meanings.map((some) => heaviest(some.filter((word) => counts.has(word)))));

  const meaningful = meant.filter((word) => words.weightOf(word) >= MEANINGFUL);
  const counted = (meaningful.length > 0 ? meaningful : meant).map((word) => ({ word, count: counts.get(word) ?? 0 }));
  let matching = 0;
  const kept = counted
    .sort((one, other) => one.count - other.count)
    .filter(({ count }, at) => {
      matching += count;
      return at === 0 || matching <= MAX_MATCHING;
    });
  return { words: kept.map(({ word }) => ({ word, weight: rarity(word) })), known: all === 0 ? 0 : known / all };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
