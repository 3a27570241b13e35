/**
 * JSON Schema 2020-12, compiled by ajv. Loading ajv takes a tenth of a second, so the first declaration loads it.
 *
 * @module
 */
import { createContext, Script } from "node:vm";
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import type { Ajv2020, ErrorObject, FuncKeywordDefinition, Options, ValidateFunction } from "ajv/dist/2020.js";
import type { JsonSchema } from "../declaration.js";
import { loadAjv } from "./load-ajv.js";

/** `format` is an annotation, as it is for facilitators. Unknown keywords are allowed. */
const SETTINGS = { strict: false, allErrors: true, validateFormats: false, logger: false } as const;

/** A mismatch between a value and its schema. */
export interface SchemaProblem {
  /** JSON pointer: `/city`; `""` for the value itself. */
  readonly at: string;
  /** `must be string`. */
  readonly message: string;
}

/** A compiled schema: returns every mismatch of a value. */
export type SchemaCheck = (value: unknown) => readonly SchemaProblem[];

/** A compiled schema, or why it cannot be compiled. */
export type CompiledSchema =
  | { readonly ok: true; readonly check: SchemaCheck }
  | { readonly ok: false; readonly problem: string };

/**
 * `text`: strings stand for numbers, booleans and lists, as in a query. `first`: only the first mismatch is found, so a long
 * value costs no more than its own length.
 */
export type ValueForm = "json" | "text" | "first";

const FORMS: Readonly<Record<ValueForm, Options>> = {
  json: SETTINGS,
  text: { ...SETTINGS, coerceTypes: "array" },
  first: { ...SETTINGS, allErrors: false },
};

/** Compiles a schema. References must stay within the schema. Never throws. */
export function compileSchema(schema: JsonSchema, form: ValueForm = "json"): CompiledSchema {
  try {
    const ajv = ajvFor(form);
    if (ajv.validateSchema(schema) !== true) return { ok: false, problem: describe(ajv.errors?.[0]) };
    const validate = ajv.compile(schema);
    // In a schema's text, `patternProperties` is one as well.
    const hasPattern = JSON.stringify(schema).includes('"pattern');
    return { ok: true, check: (value) => check(validate, value, hasPattern) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message.slice(0, 200) : "it cannot be compiled" };
  }
}

const loaded = new Map<ValueForm, Ajv2020>();

function ajvFor(form: ValueForm): Ajv2020 {
  const known = loaded.get(form);
  if (known !== undefined) return known;
  const { Ajv2020: Ajv } = loadAjv();
  const ajv = new Ajv(FORMS[form]);
  ajv.removeKeyword("uniqueItems").addKeyword(UNIQUE_ITEMS);
  loaded.set(form, ajv);
  return ajv;
}

/** Ajv compares each item with each other one: ten seconds for a list of 20,000 objects. This takes as long as reading them. */
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (isDemanded: boolean, items: readonly unknown[]) =>
    !isDemanded || new Set(items.map(writeSorted)).size === items.length,
  error: { message: "must NOT have duplicate items" },
};

/** Equal values have equal texts, in any order of their keys. */
function writeSorted(value: unknown): string | undefined {
  return JSON.stringify(value, (_, inner: unknown) =>
    isJsonObject(inner)
      ? Object.fromEntries(
          Object.keys(inner)
            .sort()
            .map((key) => [key, inner[key]]),
        )
      : inner,
  );
}

function check(validate: ValidateFunction, value: unknown, hasPattern: boolean): readonly SchemaProblem[] {
  try {
    if (hasPattern ? inTime(() => validate(value)) : validate(value)) return [];
  } catch (error) {
    if (isTimeout(error)) return [{ at: "", message: `must not take more than ${PATTERN_MS} ms to check` }];
    // A value of a recursive schema may be nested more deeply than the stack is.
    if (error instanceof RangeError) return [{ at: "", message: "must not be nested so deeply" }];
    throw error;
  }
  return (validate.errors ?? []).map(({ instancePath, message = "does not fit" }) => ({ at: instancePath, message }));
}

/** A pattern may take exponential time for a short text. */
const PATTERN_MS = 100;

type Timer = (act: () => unknown) => unknown;
let timer: Timer | undefined;

/** Calls a function, and stops it when the time is up: only `vm` can interrupt a regular expression. */
function inTime(act: () => unknown): unknown {
  timer ??= createTimer();
  return timer(act);
}

function createTimer(): Timer {
  const sandbox: { act?: unknown } = createContext({});
  const script = new Script("act()");
  return (act) => {
    sandbox.act = act;
    return script.runInContext(sandbox, { timeout: PATTERN_MS });
  };
}

function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}

function describe(error: ErrorObject | null | undefined): string {
  return error == null
    ? "it is not a schema"
    : `${error.instancePath || "the schema"} ${error.message ?? "does not fit"}`;
}

/** Keywords whose values are data and hold no references. */
const DATA: readonly string[] = ["const", "enum", "default", "example", "examples"];

/** Keywords that refer to another schema, or name this one. */
const POINTERS: readonly string[] = ["$ref", "$dynamicRef", "$id"];

/** The first reference that leaves the schema, if any. Facilitators refuse such schemas. */
export function findForeignReference(schema: unknown): string | undefined {
  if (Array.isArray(schema)) return firstOf(schema, findForeignReference);
  if (!isJsonObject(schema)) return undefined;
  return firstOf(Object.entries(schema), ([key, value]) => {
    if (POINTERS.includes(key) && typeof value === "string" && !value.startsWith("#")) return `${key}: ${value}`;
    return DATA.includes(key) ? undefined : findForeignReference(value);
  });
}

function firstOf<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Moves a schema into another one, and adjusts its references to the new place.
 *
 * @param pointer - JSON pointer of the new place: `#/properties/input`.
 */
export function moveSchema(schema: JsonSchema, pointer: string): JsonSchema {
  const { $schema: _, ...rest } = moveReferences(schema, pointer) as JsonObject;
  return rest;
}

function moveReferences(schema: unknown, pointer: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => moveReferences(item, pointer));
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === "$ref" && typeof value === "string") return [key, moveReference(value, pointer)];
      return [key, DATA.includes(key) ? value : moveReferences(value, pointer)];
    }),
  );
}

function moveReference(reference: string, pointer: string): string {
  return reference === "#" || reference.startsWith("#/") ? pointer + reference.slice(1) : reference;
}

/** Keywords whose values are schemas by name. */
const MAPS: readonly string[] = ["properties", "patternProperties", "dependentSchemas"];

/** Keywords of definitions, which are in the schema only to be referred to. */
const DEFINITIONS: readonly string[] = ["$defs", "definitions"];

/**
 * Takes the definitions out of a schema.
 *
 * @param lift - Returns the new reference of a definition by its old one, which is a JSON pointer.
 */
export function liftDefinitions(schema: unknown, lift: (reference: string) => string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => liftDefinitions(item, lift));
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([key]) => !DEFINITIONS.includes(key) && key !== "$schema");
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (key === "$ref" && typeof value === "string" && /^#(?:\/|$)/.test(value)) return [key, lift(value)];
      if (MAPS.includes(key) && isJsonObject(value)) {
        return [
          key,
          Object.fromEntries(Object.entries(value).map(([name, one]) => [name, liftDefinitions(one, lift)])),
        ];
      }
      return [key, DATA.includes(key) ? value : liftDefinitions(value, lift)];
    }),
  );
}

/** The part of a schema that a reference leads to. */
export function resolveReference(schema: JsonSchema, reference: string): unknown {
  const names = decodeURIComponent(reference).split("/").slice(1);
  return names.reduce<unknown>((found, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    return isJsonObject(found) || Array.isArray(found) ? (found as JsonObject)[key] : undefined;
  }, schema);
}
