/**
 * The arguments of a tool by what its route declares for catalogs, so that they are written once.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import { z } from "zod/v4";
import type { CalledRoute } from "./route-request.js";
import type { ToolSchema } from "./tool-config.js";

/**
 * Makes a schema of a declaration, which is `{ info, schema }` as it goes out. Clients are told what is declared; what they
 * send is checked by the route, not here. `undefined`: there is nothing to tell.
 */
export function declaredInput({ method, parts }: CalledRoute, declared: unknown): ToolSchema {
  const input = at(declared, "schema", "properties", "input", "properties");
  const inPath = parts.filter((_, at) => at % 2 === 1);
  const beside = at(input, method === "GET" || method === "DELETE" ? "queryParams" : "body");
  const described = { ...at(beside, "properties"), ...at(input, "pathParams", "properties") };
  const required = new Set<unknown>([...inPath, ...listOf(beside["required"])]);
  const names = new Set([...inPath, ...Object.keys(described)]);
  if (names.size === 0) return undefined;
  const fields = [...names].map((name) => [name, field(described[name], required.has(name))] as const);
  return z.looseObject(Object.fromEntries(fields));
}

/** Anything, that is told to clients as what is declared of it. */
function field(declared: unknown, isRequired: boolean): z.ZodType {
  const described = z.any().meta(tellable(declared));
  return isRequired ? described : described.optional();
}

/** A place of the path is a text. What refers to other parts of the declaration would refer to nothing here. */
function tellable(declared: unknown): JsonObject {
  const { id: _, ...told } = isJsonObject(declared) ? declared : { type: "string" };
  const { description } = told;
  if (!JSON.stringify(told).includes('"$ref"')) return told;
  return typeof description === "string" ? { description } : {};
}

function at(value: unknown, ...path: readonly string[]): JsonObject {
  const found = path.reduce<unknown>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), value);
  return isJsonObject(found) ? found : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
