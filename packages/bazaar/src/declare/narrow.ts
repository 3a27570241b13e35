/**
 * What a request fills in: its method, and where there are parameters in the path, the template and their values.
 *
 * @see the brief §2.5, "Dynamic (parameterized) routes"
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import type { BazaarDeclaration, JsonSchema } from "../declaration.js";

/** The schema of `info.input`. */
export function inputSchemaOf(schema: JsonSchema): JsonObject {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  return isJsonObject(properties["input"]) ? properties["input"] : {};
}

/** The declaration for requests of one method. */
export function narrowToMethod(declaration: BazaarDeclaration, method: string): BazaarDeclaration {
  const { info, schema } = declaration;
  if (info.input.type === "mcp") return declaration;
  return {
    ...declaration,
    info: { ...info, input: { ...info.input, method } },
    schema: withInput(schema, { method: { type: "string", enum: [method] } }, ["method"]),
  };
}

/** Adds properties to the schema of `info.input`, which mostly takes no others than those it names. */
function withInput(schema: JsonSchema, added: JsonObject, alsoRequired: readonly string[]): JsonSchema {
  const input = inputSchemaOf(schema);
  const properties = isJsonObject(input["properties"]) ? input["properties"] : {};
  const required = Array.isArray(input["required"]) ? input["required"] : [];
  const all = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  return {
    ...schema,
    properties: {
      ...all,
      input: {
        ...input,
        properties: { ...properties, ...added },
        required: [...new Set([...required, ...alsoRequired])],
      },
    },
  };
}

/** A declaration that waits for the parameters of a request. */
export type AtPlace = (routeTemplate: string, pathParams: Readonly<Record<string, string>>) => BazaarDeclaration;

/** Prepares a declaration for a path with parameters: only data is left to be filled in. */
export function prepareForPlaces(declaration: BazaarDeclaration): AtPlace {
  const { info, schema } = declaration;
  const declared = inputSchemaOf(schema)["properties"];
  const pathSchema = isJsonObject(declared) ? declared["pathParams"] : undefined;
  const typed = isJsonObject(pathSchema) && isJsonObject(pathSchema["properties"]) ? pathSchema["properties"] : {};
  const open = pathSchema === undefined ? withInput(schema, { pathParams: { type: "object" } }, []) : schema;
  return (routeTemplate, pathParams) => ({
    ...declaration,
    info: { ...info, input: { ...info.input, pathParams: toTypes(pathParams, typed) } as typeof info.input },
    schema: open,
    routeTemplate,
  });
}

/** Paths are text; what the schema calls a number has to be one, or facilitators reject the declaration. */
function toTypes(params: Readonly<Record<string, string>>, types: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, toType(value, types[name])]));
}

function toType(value: string, schema: unknown): unknown {
  const type = isJsonObject(schema) ? schema["type"] : undefined;
  if ((type === "integer" || type === "number") && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value);
  return type === "boolean" && (value === "true" || value === "false") ? value === "true" : value;
}
