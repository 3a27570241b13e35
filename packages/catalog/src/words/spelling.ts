/**
 * How much two words are written alike.
 *
 * @module
 */

/** From 0 to 1: which share of the groups of three letters they have in common. Misspelt words have about half. */
export function alikeness(one: string, other: string): number {
  const first = trigramsOf(one);
  const second = trigramsOf(other);
  const shared = [...first].filter((trigram) => second.has(trigram)).length;
  return shared / (first.size + second.size - shared);
}

/** Padded, so that the beginning of a word, where few err, counts twice. */
function trigramsOf(word: string): ReadonlySet<string> {
  const padded = `  ${word} `;
  return new Set(Array.from({ length: padded.length - 2 }, (_, at) => padded.slice(at, at + 3)));
}
