/**
 * The arguments of a tool that is a route: their schema, and the request that they are written to.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import type { ZodSchema } from "./tool-config.js";
import { toZod } from "./tool-schema.js";

/** A route by its key: `GET /weather/:city`. */
export interface CalledRoute {
  readonly method: string;
  /** Literal texts and names of parameters in turn, a text first: `["/weather/", "city", ""]`. */
  readonly parts: readonly string[];
}

const KEY = /^(GET|POST|PUT|PATCH|DELETE) (\/[\w\-.~!$&'()+,;=@%/:]*)$/;

/** Parses a key. `undefined`: it has no method, or a path with wildcards, optional parts or patterns. */
export function parseCalledRoute(key: unknown): CalledRoute | undefined {
  const [, method, path] = (typeof key === "string" && KEY.exec(key)) || [];
  if (method === undefined || path === undefined) return undefined;
  const parts = path.split(/:([A-Za-z_]\w*)/);
  return parts.some((part, index) => index % 2 === 0 && /[:()]/.test(part)) ? undefined : { method, parts };
}

function pathParamsOf({ parts }: CalledRoute): readonly string[] {
  return parts.filter((_, index) => index % 2 === 1);
}

function hasQueryOnly({ method }: CalledRoute): boolean {
  return method === "GET" || method === "DELETE";
}

/** Path and body, or the argument that cannot be written into the path. */
export type WrittenRequest =
  | { readonly ok: true; readonly path: string; readonly body: string | undefined }
  | { readonly ok: false; readonly argument: string };

/** Writes arguments into the path by name; the others into the query, or into the body as JSON. */
export function writeRequest(route: CalledRoute, given: unknown): WrittenRequest {
  const args = new Map(Object.entries(isJsonObject(given) ? given : {}));
  const inPath = pathParamsOf(route);
  const unfit = inPath.find((name) => !isSegment(toText(args.get(name))));
  if (unfit !== undefined) return { ok: false, argument: unfit };
  const path = route.parts
    .map((part, index) => (index % 2 === 0 ? part : encodeURIComponent(toText(args.get(part)))))
    .join("");
  const others = [...args].filter(([name]) => !inPath.includes(name));
  return hasQueryOnly(route)
    ? { ok: true, path: path + writeQuery(others), body: undefined }
    : { ok: true, path, body: JSON.stringify(Object.fromEntries(others)) };
}

/** Routers do not match an empty segment, and resolve `.` and `..`. */
function isSegment(text: string): boolean {
  return text !== "" && text !== "." && text !== "..";
}

function writeQuery(args: readonly (readonly [name: string, value: unknown])[]): string {
  const query = new URLSearchParams();
  for (const [name, given] of args) {
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    for (const value of values) if (value !== undefined) query.append(name, toText(value));
  }
  return query.size === 0 ? "" : `?${query}`;
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * Makes an input schema of the route's declaration for catalogs, `{ info, schema }`. It tells clients which arguments there
 * are; the route itself checks them. `undefined`: the route declares none, and its path has none.
 */
export function declaredInput(route: CalledRoute, declaration: unknown): ZodSchema | undefined {
  const input = objectAt(declaration, "schema", "properties", "input", "properties");
  const others = objectAt(input, hasQueryOnly(route) ? "queryParams" : "body");
  const properties = { ...objectAt(others, "properties"), ...objectAt(input, "pathParams", "properties") };
  const inPath = pathParamsOf(route);
  const required = new Set<unknown>(inPath);
  if (Array.isArray(others["required"])) for (const name of others["required"]) required.add(name);
  const names = new Set([...inPath, ...Object.keys(properties)]);
  if (names.size === 0) return undefined;
  const schema = {
    $schema: JSON_SCHEMA_2020_12,
    type: "object",
    properties: Object.fromEntries([...names].map((name) => [name, toProperty(properties[name])])),
    required: [...names].filter((name) => required.has(name)),
  };
  return toZod({ schema, check: () => undefined });
}

const JSON_SCHEMA_2020_12 = "https://json-schema.org/draft/2020-12/schema";

/** A `$ref` points into the declaration, and would point nowhere in the tool's schema. A path parameter is a string. */
function toProperty(given: unknown): JsonObject {
  const property = isJsonObject(given) ? given : { type: "string" };
  const { description } = property;
  if (!JSON.stringify(property).includes('"$ref"')) return property;
  return typeof description === "string" ? { description } : {};
}

function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  const found = path.reduce<unknown>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), value);
  return isJsonObject(found) ? found : {};
}
