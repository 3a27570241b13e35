/**
 * A draft: the content of a declaration in any form, before a request fills in the rest. Also the readers for the parts that
 * the forms share: schemas, examples, words and the output.
 *
 * Each reader adds an issue for a wrong value and returns `undefined`.
 *
 * @module
 */
import type { DeclarationContext, DeclarationNotice, JsonObject, RouteFacts } from "@farebox/core";
import { issuePath } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import type { BazaarDeclaration, BodyType, DiscoveryInfo, JsonSchema } from "../declaration.js";
import { compileSchema, findForeignReference, moveSchema } from "./json-schema.js";

/** A declaration for some methods. */
export interface Draft {
  /** Without the method, the route template and the path parameters of a request. */
  readonly declaration: BazaarDeclaration;
  /** The methods that it describes; `undefined` for an MCP tool, which has none. */
  readonly methods: readonly string[] | undefined;
  readonly checks: InputSchemas;
}

/** Schemas by which requests are checked. Each is complete in itself. */
export interface InputSchemas {
  readonly query?: JsonSchema | undefined;
  readonly body?: JsonSchema | undefined;
  readonly path?: JsonSchema | undefined;
  readonly bodyType?: BodyType | undefined;
}

/** Where a declaration is read: its path, its route, and who takes its issues and notices. */
export interface FormContext extends DeclarationContext {
  /** Notes a declaration that is valid, and looks wrong. */
  note(code: DeclarationNotice["code"], message: string): void;
}

/** Methods whose input is in the query. */
export const QUERY_METHODS: readonly string[] = ["GET", "HEAD", "DELETE"];

/** Methods whose input is in the body. */
export const BODY_METHODS: readonly string[] = ["POST", "PUT", "PATCH"];

/** Methods of a route, as Express serves it. */
export function methodsOf({ method }: RouteFacts): readonly string[] {
  if (method === undefined) return [...QUERY_METHODS, ...BODY_METHODS];
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

/** Known facilitators refuse payments with a longer description. */
export const MAX_DESCRIPTION = 500;

/** Reads a JSON Schema. A schema with `properties` describes an object, even without a `type`. */
export function readSchema(
  path: string,
  value: unknown,
  { issues }: Pick<FormContext, "issues">,
): JsonSchema | undefined {
  if (!isJsonObject(value)) {
    issues.add(path, "a JSON Schema, as an object", value);
    return undefined;
  }
  const misplaced = Object.keys(value).find((key) => isMisplacedProperty(key, value[key]));
  if (misplaced !== undefined) {
    issues.addText(issuePath(path, misplaced), 'parameters under "properties" or "queryParams"', "one beside them");
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

/** Sellers write `{ city: { type: "string" } }` and mean `{ properties: { city: … } }`. */
function isMisplacedProperty(key: string, value: unknown): boolean {
  return !SUBSCHEMAS.includes(key) && !key.startsWith("x-") && isJsonObject(value) && typeof value["type"] === "string";
}

/** Checks an example against its schema. */
export function checkExample(
  path: string,
  value: unknown,
  schema: JsonSchema | undefined,
  { issues }: FormContext,
): void {
  if (schema === undefined || value === undefined) return;
  const compiled = compileSchema(schema);
  if (!compiled.ok) return;
  for (const { at, message } of compiled.check(value).slice(0, MAX_PROBLEMS)) {
    issues.addText(path, "an example that matches its own schema", `one that does not: ${at || "it"} ${message}`);
  }
}

const MAX_PROBLEMS = 5;

/** Reads an optional object. */
export function readObject(path: string, value: unknown, { issues }: FormContext): JsonObject | undefined {
  if (value === undefined || isJsonObject(value)) return value;
  issues.add(path, "an object", value);
  return undefined;
}

/** Reads an optional text that must be one of several words. */
export function readWord<T extends string>(
  path: string,
  value: unknown,
  words: readonly T[],
  { issues }: FormContext,
): T | undefined {
  const word = words.find((one) => one === value);
  if (word === undefined && value !== undefined) issues.add(path, `one of ${words.join(", ")}`, value);
  return word;
}

/** Makes a minimal example from a schema: the required properties, with values of the right type. */
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

/** The `output` of the info, and the property of the schema that describes it. Both are empty without a declared output. */
export interface DeclaredOutput {
  readonly info: Pick<DiscoveryInfo, "output">;
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

const NONE: DeclaredOutput = Object.freeze({ info: {}, properties: {} });

/** Reads `outputSchema` and `output: { example, schema }`. */
export function readOutput(form: JsonObject, context: FormContext): DeclaredOutput {
  const { output } = form;
  const { path, issues, route } = context;
  if (output !== undefined && !issues.checkKeys(`${path}.output`, output, ["example", "schema"])) return NONE;
  const { example, schema: other } = isJsonObject(output) ? output : {};
  const schema = readOutputSchema(form["outputSchema"], other, context);
  if (schema === undefined && example === undefined) return NONE;
  checkExample(`${path}.output.example`, example, schema, context);
  return {
    info: { output: { type: typeOf(route.mimeType), ...(example === undefined ? {} : { example }) } },
    properties: {
      output: {
        type: "object",
        properties: {
          type: { type: "string" },
          example: moveSchema(schema ?? {}, "#/properties/output/properties/example"),
        },
        required: ["type"],
      },
    },
  };
}

/** The schema may stand in either field, but not in both. */
function readOutputSchema(outputSchema: unknown, other: unknown, context: FormContext): JsonSchema | undefined {
  const { path, issues } = context;
  if (outputSchema !== undefined && other !== undefined) {
    issues.add(`${path}.output.schema`, "nothing beside outputSchema", other);
  }
  if (outputSchema !== undefined) return readSchema(`${path}.outputSchema`, outputSchema, context);
  return other === undefined ? undefined : readSchema(`${path}.output.schema`, other, context);
}

/** The name by which catalogs know a media type. */
function typeOf(mimeType: string): string {
  if (mimeType === "" || /[/+]json(?:;|$)/i.test(mimeType)) return "json";
  return mimeType.startsWith("text/") ? "text" : mimeType;
}
