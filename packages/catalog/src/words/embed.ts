/**
 * What a text means, as the mean of what its words mean; frequent words count for little.
 *
 * @see Arora, Liang, Ma: "A Simple but Tough-to-Beat Baseline for Sentence Embeddings" (2017)
 * @module
 */
import type { EntryTexts } from "../store.js";
import { unit, VECTOR_SIZE, type Vocabulary } from "./vocabulary.js";

/** How much each text of an entry counts. */
const WEIGHTS: Readonly<Record<keyof EntryTexts, number>> = { name: 0.7, description: 1, parameters: 0.3, other: 0.05 };

/** What stands for 1. No number of a vector of length 1 is far above a half, so that a byte is used to the full. */
export const QUANTUM = 254;

/** The vector of an entry. */
export function embedEntry(texts: EntryTexts, words: Vocabulary): Int8Array {
  const sum = new Float32Array(VECTOR_SIZE);
  for (const name of Object.keys(WEIGHTS) as (keyof EntryTexts)[]) {
    add(sum, meanOf(texts[name].split(" "), words), WEIGHTS[name]);
  }
  return quantize(sum);
}

/** The vector of a query; `undefined` when none of its words is known. */
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

function quantize(vector: Float32Array): Int8Array {
  return Int8Array.from(unit(vector), (number) => Math.max(-127, Math.min(127, Math.round(number * QUANTUM))));
}
