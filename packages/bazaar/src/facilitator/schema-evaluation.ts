/**
 * What the keywords of a schema and the walk over it say to each other.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";

/** `unknown`: it depends on a keyword that is not evaluated. */
export type Verdict = "valid" | "invalid" | "unknown";

/** The value under scrutiny, and where it lies, e.g. `info.input.method`. */
export interface Place {
  readonly value: unknown;
  readonly path: string;
}

/** What a keyword's check can do besides deciding. */
export interface Evaluation {
  /** Checks a value against a schema; the first thing that is wrong is noted. */
  check(schema: unknown, place: Place): Verdict;
  /** The same without noting anything: for a schema that need not hold. */
  try(schema: unknown, place: Place): Verdict;
  /** Finds what a local `$ref` points at; `undefined` when nothing is there. */
  resolve(reference: string): unknown;
  /** Notes what is wrong, and yields `invalid`. */
  fail(place: Place, text: string): Verdict;
  /** Notes that the schema itself is none, and yields `invalid`. */
  malformed(keyword: string): Verdict;
}

/** The same for one schema. */
export interface SchemaEvaluation extends Evaluation {
  /** The object that has the keyword. */
  readonly schema: JsonObject;
}

/** A keyword's check. */
export type KeywordCheck = (argument: unknown, place: Place, evaluation: SchemaEvaluation) => Verdict;
