/**
 * The JSON Schema keywords that are evaluated, each with its check. All other keywords are annotations, as the specification
 * says.
 *
 * Where one part of a schema is unknown, the whole is unknown, unless the other parts decide it.
 *
 * @see JSON Schema Draft 2020-12, "Validation" and "Applicator" vocabularies
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";

/** `unknown`: the verdict depends on a keyword that is not evaluated. */
export type Verdict = "valid" | "invalid" | "unknown";

/** The value to check, and its path, e.g. `info.input.method`. */
export interface Instance {
  readonly value: unknown;
  readonly path: string;
}

/** The walk over the schema, as the check of a keyword uses it. */
export interface Evaluation {
  /** Checks a value against a schema, and notes the first mismatch. */
  check(schema: unknown, instance: Instance): Verdict;
  /** Checks without noting: for a schema that need not match. */
  try(schema: unknown, instance: Instance): Verdict;
  /** Resolves a local `$ref`; `undefined` without a target. */
  resolve(reference: string): unknown;
  /** Notes a mismatch, and returns `invalid`. */
  fail(instance: Instance, text: string): Verdict;
  /** Notes a malformed keyword of the schema, and returns `invalid`. */
  malformed(keyword: string): Verdict;
}

/** The walk at one schema. */
export interface SchemaEvaluation extends Evaluation {
  /** The schema that has the keyword. */
  readonly schema: JsonObject;
}

/** The check of one keyword. */
export type KeywordCheck = (argument: unknown, instance: Instance, evaluation: SchemaEvaluation) => Verdict;

// Keywords about the value itself.

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === "string",
  array: (value) => Array.isArray(value),
  object: (value) => isJsonObject(value),
};

const type: KeywordCheck = (argument, instance, evaluation) => {
  const names = Array.isArray(argument) ? argument : [argument];
  const tests = names.map((name) => (typeof name === "string" && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined));
  if (tests.includes(undefined)) return evaluation.malformed("type");
  return tests.some((test) => test?.(instance.value))
    ? "valid"
    : evaluation.fail(instance, `must be ${names.join(" or ")}`);
};

const oneOfValues: KeywordCheck = (argument, instance, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("enum");
  const value = canonical(instance.value);
  if (argument.some((allowed) => canonical(allowed) === value)) return "valid";
  return evaluation.fail(instance, "must be one of the values of its enum");
};

const constant: KeywordCheck = (argument, instance, evaluation) => {
  if (canonical(argument) === canonical(instance.value)) return "valid";
  return evaluation.fail(instance, "must be the constant of the schema");
};

const written = new WeakMap<object, string>();

/** Equal values have equal texts, in any order of their keys. Each object is written once. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  const text =
    written.get(value) ?? (Array.isArray(value) ? canonicalList(value) : canonicalFields(value as JsonObject));
  written.set(value, text);
  return text;
}

function canonicalList(items: readonly unknown[]): string {
  return `[${items.map(canonical).join()}]`;
}

function canonicalFields(value: JsonObject): string {
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

const uniqueItems: KeywordCheck = (argument, instance, evaluation) => {
  if (argument !== true || !Array.isArray(instance.value)) return "valid";
  const isUnique = new Set(instance.value.map(canonical)).size === instance.value.length;
  return isUnique ? "valid" : evaluation.fail(instance, "must not have the same item twice");
};

/** A keyword that compares a measure with a limit. The measure is `undefined` where the keyword does not apply. */
function bound(
  keyword: string,
  measure: (value: unknown) => number | undefined,
  isWithin: (measured: number, limit: number) => boolean,
): readonly [string, KeywordCheck] {
  return [
    keyword,
    (argument, instance, evaluation) => {
      if (typeof argument !== "number") return evaluation.malformed(keyword);
      const measured = measure(instance.value);
      if (measured === undefined || isWithin(measured, argument)) return "valid";
      return evaluation.fail(instance, `must respect ${keyword} ${argument}`);
    },
  ];
}

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const lengthOf = (value: unknown): number | undefined => (typeof value === "string" ? [...value].length : undefined);
const itemCount = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined);
const fieldCount = (value: unknown): number | undefined =>
  isJsonObject(value) ? Object.keys(value).length : undefined;
const atLeast = (measured: number, limit: number): boolean => measured >= limit;
const atMost = (measured: number, limit: number): boolean => measured <= limit;

// Keywords that combine schemas (§10.2).

const reference: KeywordCheck = (argument, instance, evaluation) => {
  const target = typeof argument === "string" ? evaluation.resolve(argument) : undefined;
  return target === undefined ? evaluation.malformed("$ref") : evaluation.check(target, instance);
};

const allOf: KeywordCheck = (argument, instance, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("allOf");
  return all(argument, (schema) => evaluation.check(schema, instance));
};

const anyOf: KeywordCheck = (argument, instance, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("anyOf");
  const verdicts = argument.map((schema) => evaluation.try(schema, instance));
  if (verdicts.includes("valid")) return "valid";
  return verdicts.includes("unknown") ? "unknown" : evaluation.fail(instance, "fits none of the schemas in anyOf");
};

const oneOf: KeywordCheck = (argument, instance, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("oneOf");
  const verdicts = argument.map((schema) => evaluation.try(schema, instance));
  const fitting = verdicts.filter((verdict) => verdict === "valid").length;
  if (fitting > 1) return evaluation.fail(instance, "fits more than one of the schemas in oneOf");
  if (verdicts.includes("unknown")) return "unknown";
  return fitting === 1 ? "valid" : evaluation.fail(instance, "fits none of the schemas in oneOf");
};

const not: KeywordCheck = (argument, instance, evaluation) => {
  const verdict = evaluation.try(argument, instance);
  if (verdict === "unknown") return "unknown";
  return verdict === "invalid" ? "valid" : evaluation.fail(instance, "fits what it must not");
};

const condition: KeywordCheck = (argument, instance, evaluation) => {
  const { schema } = evaluation;
  const verdict = evaluation.try(argument, instance);
  if (verdict === "unknown") return "unknown";
  const branch = verdict === "valid" ? "then" : "else";
  return Object.hasOwn(schema, branch) ? evaluation.check(schema[branch], instance) : "valid";
};

/** The verdict of several parts together. Stops at the first invalid one. */
function all<T>(parts: Iterable<T>, check: (part: T) => Verdict): Verdict {
  let together: Verdict = "valid";
  for (const part of parts) {
    const verdict = check(part);
    if (verdict === "invalid") return "invalid";
    if (verdict === "unknown") together = "unknown";
  }
  return together;
}

// Keywords about the fields of an object and the items of a list (§10.3).

const field = ({ value, path }: Instance, key: string): Instance => ({
  value: (value as JsonObject)[key],
  path: `${path}.${key}`,
});
const item = (value: unknown, { path }: Instance, at: number): Instance => ({ value, path: `${path}[${at}]` });

const properties: KeywordCheck = (argument, instance, evaluation) => {
  if (!isJsonObject(argument)) return evaluation.malformed("properties");
  const { value } = instance;
  if (!isJsonObject(value)) return "valid";
  const present = Object.keys(argument).filter((key) => Object.hasOwn(value, key));
  return all(present, (key) => evaluation.check(argument[key], field(instance, key)));
};

const patternProperties: KeywordCheck = (argument, { value }, evaluation) => {
  if (!isJsonObject(argument)) return evaluation.malformed("patternProperties");
  const hasBoth = isJsonObject(value) && Object.keys(value).length > 0 && Object.keys(argument).length > 0;
  return hasBoth ? "unknown" : "valid";
};

const additionalProperties: KeywordCheck = (argument, instance, evaluation) => {
  const { schema } = evaluation;
  const { value } = instance;
  if (!isJsonObject(value)) return "valid";
  const { properties: declared, patternProperties: patterns } = schema;
  const others = Object.keys(value).filter((key) => !(isJsonObject(declared) && Object.hasOwn(declared, key)));
  const mayHavePattern = isJsonObject(patterns) && Object.keys(patterns).length > 0;
  if (mayHavePattern && others.length > 0 && argument !== true) return "unknown";
  return all(others, (key): Verdict => {
    if (argument === false) return evaluation.fail(instance, `must not have the field ${key}`);
    return evaluation.check(argument, field(instance, key));
  });
};

const required: KeywordCheck = (argument, instance, evaluation) => {
  if (!isListOfTexts(argument)) return evaluation.malformed("required");
  const { value } = instance;
  if (!isJsonObject(value)) return "valid";
  const missing = argument.find((key) => !Object.hasOwn(value, key));
  return missing === undefined ? "valid" : evaluation.fail(instance, `must have the field ${missing}`);
};

const propertyNames: KeywordCheck = (argument, instance, evaluation) => {
  const { value, path } = instance;
  if (!isJsonObject(value)) return "valid";
  return all(Object.keys(value), (key) => evaluation.check(argument, { value: key, path: `a field name of ${path}` }));
};

const dependentRequired: KeywordCheck = (argument, instance, evaluation) => {
  if (!isJsonObject(argument)) return evaluation.malformed("dependentRequired");
  const { value } = instance;
  if (!isJsonObject(value)) return "valid";
  const present = Object.keys(argument).filter((key) => Object.hasOwn(value, key));
  return all(present, (key) => required(argument[key], instance, evaluation));
};

const dependentSchemas: KeywordCheck = (argument, instance, evaluation) => {
  if (!isJsonObject(argument)) return evaluation.malformed("dependentSchemas");
  const { value } = instance;
  if (!isJsonObject(value)) return "valid";
  const present = Object.keys(argument).filter((key) => Object.hasOwn(value, key));
  return all(present, (key) => evaluation.check(argument[key], instance));
};

const prefixItems: KeywordCheck = (argument, instance, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("prefixItems");
  if (!Array.isArray(instance.value)) return "valid";
  const pairs = instance.value.slice(0, argument.length).entries();
  return all(pairs, ([at, value]) => evaluation.check(argument[at], item(value, instance, at)));
};

const items: KeywordCheck = (argument, instance, evaluation) => {
  const { schema } = evaluation;
  // Earlier drafts name `prefixItems` `items`; generators still write it.
  if (Array.isArray(argument)) return prefixItems(argument, instance, evaluation);
  if (!Array.isArray(instance.value)) return "valid";
  const { prefixItems: first } = schema;
  const from = Array.isArray(first) ? first.length : 0;
  const rest = [...instance.value.entries()].slice(from);
  return all(rest, ([at, value]) => evaluation.check(argument, item(value, instance, at)));
};

const contains: KeywordCheck = (argument, instance, evaluation) => {
  const { schema } = evaluation;
  if (!Array.isArray(instance.value)) return "valid";
  const verdicts = instance.value.map((value, at) => evaluation.try(argument, item(value, instance, at)));
  const sure = verdicts.filter((verdict) => verdict === "valid").length;
  const possible = verdicts.filter((verdict) => verdict !== "invalid").length;
  const { minContains: least = 1, maxContains: most = Number.POSITIVE_INFINITY } = schema;
  if (typeof least !== "number" || typeof most !== "number") return evaluation.malformed("minContains or maxContains");
  if (possible < least || sure > most) return evaluation.fail(instance, "has too few or too many items of a kind");
  return sure >= least && possible <= most ? "valid" : "unknown";
};

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
}

/** A keyword that is not evaluated. Its verdict is unknown where it applies. */
const undecided =
  (applies: (value: unknown) => boolean): KeywordCheck =>
  (_argument, { value }): Verdict =>
    applies(value) ? "unknown" : "valid";

/** All evaluated keywords. A map, because an untrusted keyword may be named `toString`. */
export const KEYWORDS: ReadonlyMap<string, KeywordCheck> = new Map<string, KeywordCheck>([
  ["type", type],
  ["enum", oneOfValues],
  ["const", constant],
  ["uniqueItems", uniqueItems],
  bound("minimum", numberOf, atLeast),
  bound("maximum", numberOf, atMost),
  bound("exclusiveMinimum", numberOf, (measured, limit) => measured > limit),
  bound("exclusiveMaximum", numberOf, (measured, limit) => measured < limit),
  bound("multipleOf", numberOf, (measured, divisor) => Number.isInteger(measured / divisor)),
  bound("minLength", lengthOf, atLeast),
  bound("maxLength", lengthOf, atMost),
  bound("minItems", itemCount, atLeast),
  bound("maxItems", itemCount, atMost),
  bound("minProperties", fieldCount, atLeast),
  bound("maxProperties", fieldCount, atMost),
  ["pattern", undecided((value) => typeof value === "string")],
  ["unevaluatedProperties", undecided(isJsonObject)],
  ["unevaluatedItems", undecided(Array.isArray)],
  ["dependencies", undecided(isJsonObject)],
  ["$ref", reference],
  ["allOf", allOf],
  ["anyOf", anyOf],
  ["oneOf", oneOf],
  ["not", not],
  // `then` and `else` belong to `if`; `minContains` and `maxContains` belong to `contains`.
  ["if", condition],
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
]);
