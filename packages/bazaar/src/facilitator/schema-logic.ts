/**
 * Keywords that combine schemas. Where a part is unknown, so is the whole, unless the other parts decide it.
 *
 * @see JSON Schema Draft 2020-12, "Applicator" vocabulary, §10.2
 * @module
 */
import type { KeywordCheck, Verdict } from "./schema-evaluation.js";

const reference: KeywordCheck = (argument, place, evaluation) => {
  const target = typeof argument === "string" ? evaluation.resolve(argument) : undefined;
  return target === undefined ? evaluation.malformed("$ref") : evaluation.check(target, place);
};

const allOf: KeywordCheck = (argument, place, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("allOf");
  return all(argument, (schema) => evaluation.check(schema, place));
};

const anyOf: KeywordCheck = (argument, place, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("anyOf");
  const verdicts = argument.map((schema) => evaluation.try(schema, place));
  if (verdicts.includes("valid")) return "valid";
  return verdicts.includes("unknown") ? "unknown" : evaluation.fail(place, "fits none of the schemas in anyOf");
};

const oneOf: KeywordCheck = (argument, place, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("oneOf");
  const verdicts = argument.map((schema) => evaluation.try(schema, place));
  const fitting = verdicts.filter((verdict) => verdict === "valid").length;
  if (fitting > 1) return evaluation.fail(place, "fits more than one of the schemas in oneOf");
  if (verdicts.includes("unknown")) return "unknown";
  return fitting === 1 ? "valid" : evaluation.fail(place, "fits none of the schemas in oneOf");
};

const not: KeywordCheck = (argument, place, evaluation) => {
  const verdict = evaluation.try(argument, place);
  if (verdict === "unknown") return "unknown";
  return verdict === "invalid" ? "valid" : evaluation.fail(place, "fits what it must not");
};

const condition: KeywordCheck = (argument, place, evaluation) => {
  const { schema } = evaluation;
  const verdict = evaluation.try(argument, place);
  if (verdict === "unknown") return "unknown";
  const branch = verdict === "valid" ? "then" : "else";
  return Object.hasOwn(schema, branch) ? evaluation.check(schema[branch], place) : "valid";
};

/** Stops at the first thing that does not fit. */
export function all<T>(parts: Iterable<T>, check: (part: T) => Verdict): Verdict {
  let together: Verdict = "valid";
  for (const part of parts) {
    const verdict = check(part);
    if (verdict === "invalid") return "invalid";
    if (verdict === "unknown") together = "unknown";
  }
  return together;
}

/** `then` and `else` belong to `if`. */
export const LOGIC_KEYWORDS: readonly (readonly [string, KeywordCheck])[] = [
  ["$ref", reference],
  ["allOf", allOf],
  ["anyOf", anyOf],
  ["oneOf", oneOf],
  ["not", not],
  ["if", condition],
];
