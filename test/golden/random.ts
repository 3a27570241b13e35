/**
 * Numbers drawn from a text: the same on every machine and every Node.
 *
 * @module
 */
import { createHash } from "node:crypto";

export interface Random {
  /** From 0 to below 1. */
  next(): number;
  chance(probability: number): boolean;
  pick<T>(values: readonly T[]): T;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
}

/** Mulberry32, from the first bytes of a hash. */
export function createRandom(seed: string): Random {
  let state = createHash("sha256").update(seed).digest().readInt32LE(0);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    chance: (probability) => next() < probability,
    pick(values) {
      const value = values[Math.floor(next() * values.length)];
      if (value === undefined) throw new RangeError("nothing to pick from");
      return value;
    },
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
  };
}

/** A short digest of a text or bytes, for transcripts. */
export function digest(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("base64url").slice(0, 8);
}
