/**
 * Collects everything that is wrong with options, so that all of it is said at once.
 *
 * @module
 */
import type { ConfigIssue } from "@farebox/core";

/** A list of issues to add to. */
export interface Issues {
  readonly found: readonly ConfigIssue[];
  /** Notes what is wrong with one option. `received` is said as it is, so it must not be a secret. */
  add(key: string, expected: string, received: string): void;
  /** Notes every key of the options that is not one of `known`. */
  checkKeys(options: object, known: readonly string[]): void;
}

/** Starts an empty list. */
export function createIssues(): Issues {
  const found: ConfigIssue[] = [];
  const add: Issues["add"] = (key, expected, received) => {
    found.push({ path: `options.${key}`, expected, received });
  };
  return {
    found,
    add,
    checkKeys(options, known) {
      for (const key of Object.keys(options)) {
        if (!known.includes(key))
          add(key.length > 40 ? "…" : key, `one of the keys ${known.join(", ")}`, "an unknown key");
      }
    },
  };
}

/** Names a value in a message. A text as long as a key may be one, put in the wrong place: it is not quoted. */
export function describe(value: unknown): string {
  if (typeof value === "string") return value.length <= 40 ? JSON.stringify(value) : "a longer text";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === undefined || value === null) return "nothing";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}
