/**
 * The keywords of JSON Schema that are evaluated. Every other one is taken for an annotation, as the specification has it.
 *
 * @see JSON Schema Draft 2020-12, "Validation" and "Applicator" vocabularies
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import type { KeywordCheck, Verdict } from "./schema-evaluation.js";
import { LOGIC_KEYWORDS } from "./schema-logic.js";
import { PARTS_KEYWORDS } from "./schema-parts.js";

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === "string",
  array: (value) => Array.isArray(value),
  object: (value) => isJsonObject(value),
};

const type: KeywordCheck = (argument, place, evaluation) => {
  const names = Array.isArray(argument) ? argument : [argument];
  const tests = names.map((name) => (typeof name === "string" && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined));
  if (tests.includes(undefined)) return evaluation.malformed("type");
  return tests.some((test) => test?.(place.value)) ? "valid" : evaluation.fail(place, `must be ${names.join(" or ")}`);
};

const oneOfValues: KeywordCheck = (argument, place, evaluation) => {
  if (!Array.isArray(argument)) return evaluation.malformed("enum");
  const value = canonical(place.value);
  if (argument.some((allowed) => canonical(allowed) === value)) return "valid";
  return evaluation.fail(place, "must be one of the values of its enum");
};

const constant: KeywordCheck = (argument, place, evaluation) => {
  if (canonical(argument) === canonical(place.value)) return "valid";
  return evaluation.fail(place, "must be the constant of the schema");
};

const written = new WeakMap<object, string>();

/** The same text for the same value, in whatever order its keys are written. An object is written once. */
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

const uniqueItems: KeywordCheck = (argument, place, evaluation) => {
  if (argument !== true || !Array.isArray(place.value)) return "valid";
  const isUnique = new Set(place.value.map(canonical)).size === place.value.length;
  return isUnique ? "valid" : evaluation.fail(place, "must not have the same item twice");
};

/** A bound of a number: `measure` is what is compared, `undefined` where the keyword does not apply. */
function bound(
  keyword: string,
  measure: (value: unknown) => number | undefined,
  isWithin: (measured: number, limit: number) => boolean,
): readonly [string, KeywordCheck] {
  return [
    keyword,
    (argument, place, evaluation) => {
      if (typeof argument !== "number") return evaluation.malformed(keyword);
      const measured = measure(place.value);
      if (measured === undefined || isWithin(measured, argument)) return "valid";
      return evaluation.fail(place, `must respect ${keyword} ${argument}`);
    },
  ];
}

const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const length = (value: unknown): number | undefined => (typeof value === "string" ? [...value].length : undefined);
const items = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined);
const fields = (value: unknown): number | undefined => (isJsonObject(value) ? Object.keys(value).length : undefined);
const atLeast = (measured: number, limit: number): boolean => measured >= limit;
const atMost = (measured: number, limit: number): boolean => measured <= limit;

/** What is not evaluated, where it would have something to say. */
const undecided =
  (applies: (value: unknown) => boolean): KeywordCheck =>
  (_argument, { value }): Verdict =>
    applies(value) ? "unknown" : "valid";

/** Each evaluated keyword. A map, because a stranger's keyword may be called `toString`. */
export const KEYWORDS: ReadonlyMap<string, KeywordCheck> = new Map<string, KeywordCheck>([
  ["type", type],
  ["enum", oneOfValues],
  ["const", constant],
  ["uniqueItems", uniqueItems],
  bound("minimum", number, atLeast),
  bound("maximum", number, atMost),
  bound("exclusiveMinimum", number, (measured, limit) => measured > limit),
  bound("exclusiveMaximum", number, (measured, limit) => measured < limit),
  bound("multipleOf", number, (measured, divisor) => Number.isInteger(measured / divisor)),
  bound("minLength", length, atLeast),
  bound("maxLength", length, atMost),
  bound("minItems", items, atLeast),
  bound("maxItems", items, atMost),
  bound("minProperties", fields, atLeast),
  bound("maxProperties", fields, atMost),
  ["pattern", undecided((value) => typeof value === "string")],
  ["unevaluatedProperties", undecided(isJsonObject)],
  ["unevaluatedItems", undecided(Array.isArray)],
  ["dependencies", undecided(isJsonObject)],
  ...LOGIC_KEYWORDS,
  ...PARTS_KEYWORDS,
]);
