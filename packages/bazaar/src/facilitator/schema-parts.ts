/**
 * Keywords about the fields of an object and the items of a list.
 *
 * @see JSON Schema Draft 2020-12, "Applicator" vocabulary, §10.3
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import type { KeywordCheck, Place, Verdict } from "./schema-evaluation.js";
import { all } from "./schema-logic.js";

const field = ({ value, path }: Place, key: string): Place => ({
  value: (value as JsonObject)[key],
  path: `${path}.${key}`,
});
const item = (value: unknown, { path }: Place, at: number): Place => ({ value, path: `${path}[${at}]` });

const properties: KeywordCheck = (argument, place, evaluation) => {
  if (!isJsonObject(argument)) return evaluation.malformed("properties");
  const { value } = place;
  if (!isJsonObject(value)) return "valid";
  const present = Object.keys(argument).filter((key) => Object.hasOwn(value, key));
  return all(present, (key) => evaluation.check(argument[key], field(place, key)));
};

const patternProperties: KeywordCheck = (argument, { value }, evaluation) => {
  if (!isJsonObject(argument)) return evaluation.malformed("patternProperties");
  const hasBoth = isJsonObject(value) && Object.keys(value).length > 0 && Object.keys(argument).length > 0;
  return hasBoth ? "unknown" : "valid";
};

const additionalProperties: KeywordCheck = (argument, place, evaluation) => {
  const { schema } = evaluation;
  const { value } = place;
  if (!isJsonObject(value)) return "valid";
  const { properties: declared, patternProperties: patterns } = schema;
  const others = Object.keys(value).filter((key) => !(isJsonObject(declared) && Object.hasOwn(declared, key)));
  const mayHavePattern = isJsonObject(patterns) && Object.keys(patterns).length > 0;
  if (mayHavePattern && others.length > 0 && argument !== true) return "unknown";
  return all(others, (key): Verdict => {
    if (argument === false) return evaluation.fail(place, `must not have the field ${key}`);
    return evaluation.check(argument, field(place, key));
  });
};

const required: KeywordCheck = (argument, place, evaluation) => {
  if (!isListOfTexts(argument)) return evaluation.malformed("required");
  const { value } = place;
  if (!isJsonObject(value)) return "valid";
  const missing = argument.find((key) => !Object.hasOwn(value, key));
  return missing === undefined ? "valid" : evaluation.fail(place, `must have the field ${missing}`);
};

const propertyNames: KeywordCheck = (argument, place, evaluation) => {
  const { value, path } = place;
  if (!isJsonObject(value)) return "valid";
  return all(Object.keys(value), (key) => evaluation.check(argument, { value: key, path: `a field name of ${path}` }));
};

const dependentRequired: KeywordCheck = (argument, place, evaluation) => {
  if (!isJsonObject(argument)) return evaluation.malformed("dependentRequired");
  const { value } = place;
  if (!isJsonObject(value)) return "valid";
  const present = Object.keys(argument).filter((key) => Object.hasOwn(value, key));
  return all(present, (key) => required(argument[key], place, evaluation));
};

const dependentSchemas: KeywordCheck = (argument, place, evaluation) => {
  if (!isJsonObject(argument)) return evaluation.malformed("dependentSchemas");
  const { value } = place;
  if (!isJsonObject(value)) return "valid";
  const present = Object.keys(argument).filter((key) => Object.hasOwn(value, key));
  return all(present, (key) => evaluation.check(argument[key], place));
};

const prefixItems: KeywordCheck = (argument, place, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("prefixItems");
  if (!Array.isArray(place.value)) return "valid";
  const pairs = place.value.slice(0, argument.length).entries();
  return all(pairs, ([at, value]) => evaluation.check(argument[at], item(value, place, at)));
};

const items: KeywordCheck = (argument, place, evaluation) => {
  const { schema } = evaluation;
  // What earlier drafts call items is prefixItems here; generators still write it.
  if (Array.isArray(argument)) return prefixItems(argument, place, evaluation);
  if (!Array.isArray(place.value)) return "valid";
  const { prefixItems: first } = schema;
  const from = Array.isArray(first) ? first.length : 0;
  const rest = [...place.value.entries()].slice(from);
  return all(rest, ([at, value]) => evaluation.check(argument, item(value, place, at)));
};

const contains: KeywordCheck = (argument, place, evaluation) => {
  const { schema } = evaluation;
  if (!Array.isArray(place.value)) return "valid";
  const verdicts = place.value.map((value, at) => evaluation.try(argument, item(value, place, at)));
  const sure = verdicts.filter((verdict) => verdict === "valid").length;
  const possible = verdicts.filter((verdict) => verdict !== "invalid").length;
  const { minContains: least = 1, maxContains: most = Number.POSITIVE_INFINITY } = schema;
  if (typeof least !== "number" || typeof most !== "number") return evaluation.malformed("minContains or maxContains");
  if (possible < least || sure > most) return evaluation.fail(place, "has too few or too many items of a kind");
  return sure >= least && possible <= most ? "valid" : "unknown";
};

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
}

/** `minContains` and `maxContains` belong to `contains`. */
export const PARTS_KEYWORDS: readonly (readonly [string, KeywordCheck])[] = [
  ["properties", properties],
  ["patternProperties", patternProperties],
  ["additionalProperties", additionalProperties],
  ["required", required],
  ["propertyNames", propertyNames],
  ["dependentRequired", dependentRequired],
  ["dependentSchemas", dependentSchemas],
  ["prefixItems", prefixItems],
  ["items", items],
  ["contains", contains],
];
