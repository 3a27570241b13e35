import { expect, test } from "vitest";
import type { StoredVector } from "./store.js";
import { type AskedVectors, createVectorIndex, EXACT } from "./vector-index.js";
import { quantize, VECTOR_SIZE } from "./word-vectors.js";

const DIMENSIONS = 64;
const ALL = 1;
const EVEN = 2;
/** Questions for each set of facets. */
const ROUNDS = 5;
const none = new Int8Array(VECTOR_SIZE);

test("beyond the exact size a search by sign finds nearly the same ten as one that compares all vectors", async () => {
  const random = createRandom(7);
  const topics = Array.from({ length: 500 }, () => vectorNear(random));
  const entries = Array.from({ length: EXACT + 1_000 }, (_, at): StoredVector => {
    const meaning = quantize(vectorNear(random, topics[at % topics.length]));
    return { id: at + 1, facets: at % 2 === 0 ? [ALL, EVEN] : [ALL], vector: none, meaning };
  });
  const index = createVectorIndex(DIMENSIONS);
  index.put(entries);
  for (const facets of [[ALL], [ALL, EVEN]]) {
    const those = entries.filter((entry) => facets.every((facet) => entry.facets.includes(facet)));
    let shared = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const meaning = quantize(vectorNear(random, topics[round * 7]));
      const near = await index.nearest({ words: undefined, meaning }, facets, 10);
      expect(near).toHaveLength(10);
      const scored = those.map((entry) => [entry.id, dot(entry.meaning ?? none, meaning)] as const);
      const best = scored.sort(([, one], [, other]) => other - one).slice(0, 10);
      shared += best.filter(([id]) => near.some((found) => found.id === id)).length;
    }
    expect(shared / (10 * ROUNDS)).toBeGreaterThan(0.9);
  }
});

test("an entry without a meaning is compared by its words, and is missing until it gets one", async () => {
  const index = createVectorIndex(4);
  const words = quantize(Float32Array.from({ length: VECTOR_SIZE }, (_, at) => (at === 0 ? 1 : 0)));
  const meaning = quantize(Float32Array.from([1, 0, 0, 0]));
  const other = quantize(Float32Array.from([0, 1, 0, 0]));
  index.put([
    { id: 1, facets: [ALL], vector: words },
    { id: 2, facets: [ALL], vector: none, meaning },
    { id: 3, facets: [ALL], vector: words, meaning: new Int8Array(4) },
  ]);
  expect([...index.missing]).toEqual([1]);
  const scores = async (asked: AskedVectors) => {
    const near = await index.nearest(asked, [ALL], 3);
    return [1, 2, 3].map((id) => near.find((found) => found.id === id)?.score.toFixed(1));
  };
  // A number of a vector has at most half of the range.
  expect(await scores({ words, meaning: other })).toEqual(["0.3", "0.0", "0.3"]);
  expect(await scores({ words: undefined, meaning })).toEqual(["0.0", "0.3", "0.0"]);
  expect(await scores({ words })).toEqual(["0.3", "0.0", "0.3"]);
  index.put([{ id: 1, facets: [ALL], vector: words, meaning: other }]);
  expect(index.missing.size).toBe(0);
  expect(await scores({ words, meaning: other })).toEqual(["0.3", "0.0", "0.3"]);
  expect(await scores({ words: undefined, meaning })).toEqual(["0.0", "0.3", "0.0"]);
});

test("words decide among entries of one meaning, count less than meaning, and one entry is compared in the same way", async () => {
  const index = createVectorIndex(VECTOR_SIZE);
  const [asked, turned] = [7, 8].map((seed) => {
    const random = createRandom(seed);
    return quantize(Float32Array.from({ length: VECTOR_SIZE }, () => normal(random)));
  });
  index.put([
    { id: 1, facets: [ALL], vector: asked ?? none, meaning: turned ?? none },
    { id: 2, facets: [ALL], vector: turned ?? none, meaning: asked ?? none },
    { id: 3, facets: [ALL], vector: asked ?? none, meaning: asked ?? none },
  ]);
  const query = { words: asked, meaning: asked };
  const near = await index.nearest(query, [ALL], 3);
  expect(near.map(({ id }) => id)).toEqual([3, 2, 1]);
  expect(near[0]?.score).toBeCloseTo(1, 1);
  for (const { id, score } of near) expect(index.similarity(query, id)).toBe(score);
  expect(index.similarity(query, 4)).toBe(0);
});

/** A vector of random direction, near to another if there is one. */
function vectorNear(random: () => number, near?: Float32Array): Float32Array {
  return Float32Array.from({ length: DIMENSIONS }, (_, at) => (near?.[at] ?? 0) * 1.5 + normal(random));
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(random() || 1e-9)) * Math.cos(2 * Math.PI * random());
}

function dot(one: Int8Array, other: Int8Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

/** The same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return state / 2 ** 32;
  };
}
