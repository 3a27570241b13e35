/**
 * The parts of which declarations are made, each checked by itself: schemas, examples, names.
 *
 * @module
 */
import { isJsonObject, issuePath, type JsonObject } from "@farebox/core";
import type { JsonSchema } from "../declaration.js";
import type { Reading } from "./draft.js";
import { compileSchema, findForeignReference } from "./json-schema.js";

/** A value and where it stands, for issues. */
export interface Placed {
  readonly path: string;
  readonly value: unknown;
}

/**
 * Reads a JSON Schema of an object that a seller wrote; `undefined`, with an issue, when it is none.
 *
 * What lists `properties` means an object, whether or not it says so.
 */
export function readSchema({ path, value }: Placed, { issues }: Reading): JsonSchema | undefined {
  if (!isJsonObject(value)) {
    issues.add(path, "a JSON Schema, as an object", value);
    return undefined;
  }
  const astray = Object.keys(value).find((key) => isPropertyAstray(key, value[key]));
  if (astray !== undefined) {
    issues.addText(issuePath(path, astray), 'parameters under "properties" or "queryParams"', "one beside them");
    return undefined;
  }
  const foreign = findForeignReference(value);
  if (foreign !== undefined) {
    issues.add(path, 'references within the schema itself, such as "#/$defs/city"', foreign);
    return undefined;
  }
  const { $schema: _, ...rest } = value;
  const isObject = rest["type"] === undefined && ("properties" in rest || "required" in rest);
  const schema = isObject ? { type: "object", ...rest } : rest;
  const compiled = compileSchema(schema);
  if (compiled.ok) return schema;
  issues.addText(path, "a JSON Schema of draft 2020-12", compiled.problem);
  return undefined;
}

/** Keywords whose value may be an object with a `type`, because it is a schema. */
const SUBSCHEMAS: readonly string[] = [
  ...["additionalProperties", "items", "contains", "propertyNames", "not", "if", "then", "else"],
  ...["unevaluatedItems", "unevaluatedProperties", "contentSchema", "default", "const", "example"],
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "discriminator"],
];

/** `{ city: { type: "string" } }` is no schema, though it looks like one. */
function isPropertyAstray(key: string, value: unknown): boolean {
  return !SUBSCHEMAS.includes(key) && !key.startsWith("x-") && isJsonObject(value) && typeof value["type"] === "string";
}

/** Checks an example against its schema, and notes what does not fit. */
export function checkExample({ path, value }: Placed, schema: JsonSchema | undefined, { issues }: Reading): void {
  if (schema === undefined || value === undefined) return;
  const compiled = compileSchema(schema);
  if (!compiled.ok) return;
  for (const { at, message } of compiled.check(value).slice(0, MAX_PROBLEMS)) {
    issues.addText(path, "an example that its own schema takes", `one that it does not: ${at || "it"} ${message}`);
  }
}

/** Nobody reads more than a few of one kind. */
const MAX_PROBLEMS = 5;

/** Reads an object of the seller's, if it is there; anything else is an issue. */
export function readObject({ path, value }: Placed, { issues }: Reading): JsonObject | undefined {
  if (value === undefined || isJsonObject(value)) return value;
  issues.add(path, "an object", value);
  return undefined;
}

/** Reads one of several words, if it is there; anything else is an issue. */
export function readWord<T extends string>(
  { path, value }: Placed,
  words: readonly T[],
  { issues }: Reading,
): T | undefined {
  const word = words.find((one) => one === value);
  if (word === undefined && value !== undefined) issues.add(path, `one of ${words.join(", ")}`, value);
  return word;
}

/** An example made up from a schema, for want of a better: what has to be there, of the right types. */
export function makeExample(schema: unknown, depth = 0): unknown {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return {};
  const { examples, type } = schema;
  const given = [schema["const"], schema["default"], schema["example"], firstOf(examples), firstOf(schema["enum"])];
  const known = given.find((one) => one !== undefined);
  if (known !== undefined) return known;
  switch (Array.isArray(type) ? type[0] : type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? schema["minimum"] : 1;
    case "boolean":
      return true;
    case "array":
      return [];
    case "null":
      return null;
    default:
      return makeObject(schema, depth);
  }
}

const MAX_DEPTH = 8;

function makeObject({ properties, required }: JsonObject, depth: number): JsonObject {
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const types = isJsonObject(properties) ? properties : {};
  return Object.fromEntries(names.map((name) => [name, makeExample(types[name] ?? { type: "string" }, depth + 1)]));
}

function firstOf(list: unknown): unknown {
  return Array.isArray(list) ? list[0] : undefined;
}
