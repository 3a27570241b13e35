/**
 * Searches entries by a description in natural language. An entry is as similar as its meaning and its words are, and gains by the words
 * that it shares with the query.
 *
 * Nothing that a seller can buy enters a rank: no payments are counted.
 *
 * @module
 */
import type { Encoder } from "./embedder.js";
import { facetsOfFilter } from "./facets.js";
import { readWords } from "./spelling.js";
import type { CatalogStore, WeightedWord } from "./store.js";
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
  /** `undefined` without an embedder. */
  readonly encoder: Encoder | undefined;
}

/** An entry that fits a query. */
export interface Fitting extends Near {
  /** Its similarity to the query, from 0. `score` counts shared words as well, and is at most 1. */
  readonly fit: number;
  /** Whether it has enough of the words of the query. */
  readonly isSharing: boolean;
}

/** The entries that fit a query, best matches first. */
export interface Ranking {
  /** At most {@link MAX_RANKED}. */
  readonly ranked: readonly Fitting[];
  /** Whether more entries may match, or vectors of the embedder are missing. */
  readonly isPartial: boolean;
}

const ANY = facetsOfFilter({});
const MAX_QUERY = 500;
const MAX_QUERY_WORDS = 32;

/** Function words of English, by Snowball: they tell nothing, and PostgreSQL does not index them. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  `i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself
  they them their theirs themselves what which who whom this that these those am is are was were be been being have has had
  having do does did doing a an the and but if or because as until while of at by for with about against between into through
  during before after above below to from up down in out on off over under again further then once here there when where why
  how all any both each few more most other some such no nor not only own same so than too very s t can will just don should
  now`.split(/\s+/),
);

// Measured with the seen questions of `test/catalog/quality`.

/** What shared words count beside similarity: less where meanings are compared. */
const SHARING = { meaning: 0.05, words: 0.3 };
/** An entry that shares so much of the words of a query fits it, even with another meaning. */
const SHARED = 0.4;
/** A query finds nothing when the most similar entry is less similar, where only words are compared. */
const MIN_BY_WORDS = 0.28;
/** An entry with less than this part of the best similarity does not fit. */
const MIN_PART = 0.5;

/** Ranks the entries that fit a query. */
export async function rankEntries(query: string, facets: readonly number[], sources: SearchSources): Promise<Ranking> {
  const { store, index, encoder } = sources;
  const text = query.slice(0, MAX_QUERY);
  const asked = [...new Set(wordsOf(text))].slice(0, MAX_QUERY_WORDS);
  if (asked.every((word) => FUNCTION_WORDS.has(word))) return { ranked: [], isPartial: false };
  const { meanings, isCorrected } = await readWords(asked, store, sources.words);
  const likely = meanings.flatMap((words) => words.slice(0, 1));
  const [encoded, { words, total, listed }] = await Promise.all([
    encoder?.encodeQuery(isCorrected ? likely.join(" ") : text),
    weigh(meanings, sources),
  ]);
  const meaning = encoded?.some((number) => number !== 0) === true ? encoded : undefined;
  const vectors = { words: embedQuery(likely, sources.words), meaning };
  const isComparable = vectors.meaning !== undefined || vectors.words !== undefined;
  const [similar, sharing] = await Promise.all([
    isComparable ? index.nearest(vectors, facets, MAX_RANKED) : [],
    words.length === 0 ? [] : store.rank({ words, facets, limit: MAX_RANKED }),
  ]);

  const least = meaning ? (encoder?.minScore(listed) ?? 0) : MIN_BY_WORDS;
  // Of a query that the encoder does not understand, the likeness of its words tells nothing either.
  const isUnderstood = encoded === undefined || meaning !== undefined;
  const fits = isUnderstood ? fitting(similar, least) : new Map<number, number>();
  const shares = new Map(
    sharing.map(({ id, score }) => [id, rounded(score / total)] as const).filter(([, share]) => share >= SHARED),
  );
  for (const id of shares.keys()) fits.set(id, Math.max(0, fits.get(id) ?? index.similarity(vectors, id)));
  const counts = meaning ? SHARING.meaning : SHARING.words;
  const scoreOf = (fit: number, share: number): number => Math.min(1, (fit + counts * share) / (1 + counts));
  const ranked = [...fits]
    .map(([id, fit]) => ({ id, fit, isSharing: shares.has(id), score: scoreOf(fit, shares.get(id) ?? 0) }))
    .sort((one, other) => other.score - one.score || one.id - other.id);
  const isUnread = encoder !== undefined && (encoded === undefined || index.missing.size > 0);
  return { ranked: ranked.slice(0, MAX_RANKED), isPartial: ranked.length >= MAX_RANKED || isUnread };
}

/** The entries that are similar enough, with their similarity; none when the first one is less similar than `least`. */
function fitting(similar: readonly Near[], least: number): Map<number, number> {
  const best = similar[0]?.score ?? 0;
  const isFitting = best > 0 && best >= least;
  return new Map(
    similar.filter(({ score }) => isFitting && score >= MIN_PART * best).map(({ id, score }) => [id, score]),
  );
}

/** A store may add the weights in any order, so the last digits of their sum differ. */
function rounded(share: number): number {
  return Math.round(share * 1e6) / 1e6;
}

/** Most entries that one search ranks by text. More would delay other requests and improve little. */
const MAX_MATCHING = 5_000;

interface Weighed {
  readonly words: readonly WeightedWord[];
  /** The weight of the whole query, each word as it is likely to be meant. */
  readonly total: number;
  /** How many entries are listed. */
  readonly listed: number;
}

/** Keeps the rarest words: they distinguish entries best and are ranked fastest. The rarest one is always kept. */
async function weigh(
  meanings: readonly (readonly string[])[],
  { store, words }: Pick<SearchSources, "store" | "words">,
): Promise<Weighed> {
  const meaningful = meanings.filter((some) => !some.some((word) => FUNCTION_WORDS.has(word)));
  const meant = [...new Set(meaningful.flat())];
  const [counts, listed] = await Promise.all([store.countTerms(meant), store.count(ANY)]);
  const countOf = (word: string): number => counts.get(word) ?? 0;
  const weightOf = (word: string): number => words.weightOf(word) * Math.log(1 + listed / (1 + countOf(word)));
  let matching = 0;
  const kept = meant
    .toSorted((one, other) => countOf(one) - countOf(other))
    .filter((word, at) => {
      matching += countOf(word);
      return at === 0 || matching <= MAX_MATCHING;
    });
  return {
    words: kept.map((word) => ({ word, weight: weightOf(word) })),
    total: meaningful.reduce((sum, some) => sum + weightOf(some[0] ?? ""), 0),
    listed,
  };
}
