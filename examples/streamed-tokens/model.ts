/**
 * A stand-in for a language model: a Markov chain over the beginning of Lewis Carroll's "Alice's Adventures in Wonderland"
 * (1865, in the public domain). It never ends by itself.
 *
 * @module
 */
import { setTimeout } from "node:timers/promises";

const TEXT = `Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do:
once or twice she had peeped into the book her sister was reading, but it had no pictures or conversations in it, "and
what is the use of a book," thought Alice "without pictures or conversations?" So she was considering in her own mind (as
well as she could, for the hot day made her feel very sleepy and stupid), whether the pleasure of making a daisy-chain
would be worth the trouble of getting up and picking the daisies, when suddenly a White Rabbit with pink eyes ran close by
her. There was nothing so very remarkable in that; nor did Alice think it so very much out of the way to hear the Rabbit
say to itself, "Oh dear! Oh dear! I shall be late!"`;

const words = TEXT.split(/\s+/);

/** The words that follow each word. */
const followers = new Map<string, string[]>();
for (const [at, word] of words.entries()) {
  const next = words[(at + 1) % words.length] ?? "";
  followers.set(word, [...(followers.get(word) ?? []), next]);
}

/** The time that a token takes. */
const TOKEN_MS = 10;

/** Generates tokens until the signal aborts: then it rejects. */
export async function* generate(start: string, signal: AbortSignal): AsyncGenerator<string, never> {
  let word = followers.has(start) ? start : "Alice";
  for (;;) {
    await setTimeout(TOKEN_MS, undefined, { signal });
    yield word;
    const next = followers.get(word) ?? words;
    word = next[Math.floor(Math.random() * next.length)] ?? "Alice";
  }
}
