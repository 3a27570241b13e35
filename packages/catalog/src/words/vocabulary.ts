/**
 * What words mean: vectors of the 50,000 most frequent words of English, as `scripts/build-vectors.mjs` built them.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Finds an asset by its name, wherever in the package this code is put when it is built. */
const { resolve } = createRequire(import.meta.url);

/** Numbers per word. */
export const VECTOR_SIZE = 100;

/** Vectors of length 1, and how much a word says. */
export interface Vocabulary {
  /** `undefined` for a word that is not among them. */
  vectorOf(word: string): Float32Array | undefined;
  /** From near 0 for `the` to near 1 for rare words; 1 for unknown ones. */
  weightOf(word: string): number;
}

/** Read when the first entry or query comes, and kept: some 6 MB. */
let loaded: Vocabulary | undefined;

/** The vocabulary of this process. */
export function vocabulary(): Vocabulary {
  loaded ??= load();
  return loaded;
}

/** Frequency at which a word says half as much as a rare one. */
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

/** The same direction at length 1; a vector of nothing stays one. */
export function unit(vector: ArrayLike<number>): Float32Array {
  let square = 0;
  for (let at = 0; at < vector.length; at++) square += (vector[at] as number) ** 2;
  const length = Math.sqrt(square) || 1;
  const result = new Float32Array(vector.length);
  for (let at = 0; at < vector.length; at++) result[at] = (vector[at] as number) / length;
  return result;
}
