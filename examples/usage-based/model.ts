/**
 * A stand-in for a language model: it returns the prompt backwards, word by word.
 *
 * @module
 */

/** Generates a text of at most `most` tokens. */
export function generate(prompt: string, most: number): readonly string[] {
  return prompt.split(/\s+/).filter(Boolean).toReversed().slice(0, most);
}
