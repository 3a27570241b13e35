/**
 * The meaning of a text: the weighted mean of its word vectors, in which frequent words count little. The vectors are those of
 * the 50,000 most frequent English words, built by `scripts/build-vectors.mjs`.
 *
 * @see Arora, Liang, Ma: "A Simple but Tough-to-Beat Baseline for Sentence Embeddings" (2017)
 * @module
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { EntryTexts } from "./store.js";

/** Resolves an asset of this package, from the source and from the build. */
const { resolve } = createRequire(import.meta.url);

/** Components of a vector. */
export const VECTOR_SIZE = 100;

/** Unit vectors and weights of words. */
export interface Vocabulary {
  /** `undefined` for an unknown word. */
  vectorOf(word: string): Float32Array | undefined;
  /** Near 0 for `the`, near 1 for rare words, 1 for unknown words. */
  weightOf(word: string): number;
}

/** Loaded with the first entry or query: some 6 MB. */
let loaded: Vocabulary | undefined;

/** The vocabulary of this process. */
export function vocabulary(): Vocabulary {
  loaded ??= load();
  return loaded;
}

/** The frequency of a word that weighs half as much as a rare one. */
const HALF = 4e-4;

function load(): Vocabulary {
  const words = readFileSync(resolve("#assets/words.txt"), "latin1").trimEnd().split("\n");
  const bytes = readFileSync(resolve("#assets/vectors.bin"));
  const numbers = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const rowOf = new Map(words.map((word, row) => [word, row]));
  // By Zipf's law the share of the word of rank r is about 1 / (r + 2.7) of the sum over all.
  const sum = words.reduce((total, _, row) => total + 1 / (row + 3.7), 0);
  return {
    vectorOf(word) {
      const row = rowOf.get(word);
      return row === undefined ? undefined : unit(numbers.subarray(row * VECTOR_SIZE, (row + 1) * VECTOR_SIZE));
    },
    weightOf(word) {
      const row = rowOf.get(word);
      return row === undefined ? 1 : HALF / (HALF + 1 / ((row + 3.7) * sum));
    },
  };
}

/** The weight of each text of an entry. */
const WEIGHTS: Readonly<Record<keyof EntryTexts, number>> = { name: 0.7, description: 1, parameters: 0.3, other: 0.05 };

/** The integer that stands for 1. Few components of a unit vector exceed a half, so 254 uses the whole range of a byte. */
export const QUANTUM = 254;

/** The vector of an entry. */
export function embedEntry(texts: EntryTexts, words: Vocabulary): Int8Array {
  const sum = new Float32Array(VECTOR_SIZE);
  for (const name of Object.keys(WEIGHTS) as (keyof EntryTexts)[]) {
    add(sum, meanOf(texts[name].split(" "), words), WEIGHTS[name]);
  }
  return quantize(sum);
}

/** The vector of a query; `undefined` when all of its words are unknown. */
export function embedQuery(query: readonly string[], words: Vocabulary): Int8Array | undefined {
  const mean = meanOf(query, words);
  return mean.some((number) => number !== 0) ? quantize(mean) : undefined;
}

function meanOf(text: readonly string[], words: Vocabulary): Float32Array {
  const sum = new Float32Array(VECTOR_SIZE);
  let weights = 0;
  for (const word of text) {
    const vector = words.vectorOf(word);
    if (vector === undefined) continue;
    const weight = words.weightOf(word);
    add(sum, vector, weight);
    weights += weight;
  }
  return weights === 0 ? sum : sum.map((number) => number / weights);
}

function add(sum: Float32Array, vector: Float32Array, factor: number): void {
  for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] ?? 0) + factor * (vector[at] ?? 0);
}

/** The unit vector with the same direction, in signed bytes: {@link QUANTUM} stands for 1. */
export function quantize(vector: Float32Array): Int8Array {
  return Int8Array.from(unit(vector), (number) => Math.max(-127, Math.min(127, Math.round(number * QUANTUM))));
}

/** The vector with the same direction and the length 1. A zero vector stays zero. */
function unit(vector: ArrayLike<number>): Float32Array {
  let square = 0;
  for (let at = 0; at < vector.length; at++) square += (vector[at] as number) ** 2;
  const length = Math.sqrt(square) || 1;
  const result = new Float32Array(vector.length);
  for (let at = 0; at < vector.length; at++) result[at] = (vector[at] as number) / length;
  return result;
}
