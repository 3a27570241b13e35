/**
 * The fields of a declaration that each request fills in: its method, and for a path with parameters the route template and
 * the values.
 *
 * @see x402 v2 extension `bazaar`, "Dynamic routes"
 * @module
 */
import type { JsonObject, RoutePath } from "@farebox/core";
import { isJsonObject, piecesOf, problemOfTemplate } from "@farebox/core/protocol";
import { type BazaarDeclaration, inputSchemaOf, type JsonSchema } from "../declaration.js";
import { problemOfKey, problemOfText } from "../document-limits.js";
import type { FormContext } from "./draft.js";

/** The declaration for requests with one method. */
export function narrowToMethod(declaration: BazaarDeclaration, method: string): BazaarDeclaration {
  const { info, schema } = declaration;
  if (info.input.type === "mcp") return declaration;
  return {
    ...declaration,
    info: { ...info, input: { ...info.input, method } },
    schema: withInput(schema, { method: { type: "string", enum: [method] } }, ["method"]),
  };
}

/** Adds properties to the schema of `info.input`, which usually allows only the properties that it names. */
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

/** Fills the route template and the path parameters of a request into a declaration. */
export type FillPath = (routeTemplate: string, pathParams: Readonly<Record<string, string>>) => BazaarDeclaration;

/** Prepares a declaration for a path with parameters, so that a request only fills in data. */
export function preparePathFields(declaration: BazaarDeclaration): FillPath {
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

/** Path parameters are texts. Facilitators reject a text where the schema declares a number. */
function toTypes(params: Readonly<Record<string, string>>, types: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, toType(value, types[name])]));
}

function toType(value: string, schema: unknown): unknown {
  const type = isJsonObject(schema) ? schema["type"] : undefined;
  if ((type === "integer" || type === "number") && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value);
  return type === "boolean" && (value === "true" || value === "false") ? value === "true" : value;
}

/** The template of `/*`. Many routes have it, so it identifies none of them. */
const ANY_PATH = "/:var1";

/** Whether a route is meant to be listed by its template, and not by each path. */
function hasTemplate({ template, params }: RoutePath): boolean {
  return params.length > 0 && template !== ANY_PATH;
}

/** Why facilitators do not accept a template, as the end of a sentence. */
function problemOf({ template, params }: RoutePath): string | undefined {
  const names = new Set(piecesOf(template).flatMap((piece) => (piece.kind === "param" ? [piece.name] : [])));
  const isReadable = names.size === params.length && params.every((name) => names.has(name));
  return (
    problemOfTemplate(template) ??
    (isReadable ? undefined : "does not separate a name from the text behind it") ??
    params.map(problemOfKey).find((problem) => problem !== undefined)
  );
}

/** Whether catalogs list a route by its template, and not by each path. */
export function isListedByTemplate(path: RoutePath): boolean {
  return hasTemplate(path) && problemOf(path) === undefined;
}

/** Whether catalogs reject a request of a route that they list: its URL leads to another path than its own, or a value is no text. */
export function isRejected(pathParams: Readonly<Record<string, string>>): boolean {
  return Object.values(pathParams).some((value) => leavesItsPath(value) || problemOfText(value) !== undefined);
}

/** URL parsers resolve `.` and `..`. */
function leavesItsPath(value: string): boolean {
  return value.split("/").some((part) => part === "." || part === "..");
}

/** Notes templates that facilitators do not accept. */
export function noteTemplates({ route: { paths = [] }, publicPath, note }: FormContext): void {
  for (const { template, params } of paths) {
    const path = { template: publicPath + template, params };
    const problem = hasTemplate(path) ? problemOf(path) : undefined;
    if (problem === undefined) continue;
    note(
      "FAREBOX_TEMPLATE_NOT_LISTABLE",
      `Facilitators do not accept the template ${path.template}, which ${problem}, so they list each of its paths separately`,
    );
  }
}
