/**
 * What stands for a language model here: it writes the prompt backwards, word by word.
 *
 * @module
 */

/** Generates a text, `most` tokens at the longest. */
export function generate(prompt: string, most: number): readonly string[] {
  return prompt.split(/\s+/).filter(Boolean).toReversed().slice(0, most);
}
