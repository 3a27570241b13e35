/**
 * The schemas of a tool: Zod or JSON Schema, for the SDK and for catalogs.
 *
 * @module
 */
import { type ReadToolSchema, readToolSchema } from "@farebox/bazaar";
import type { JsonObject } from "@farebox/core";
import type { Issues } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import { normalizeObjectSchema } from "@modelcontextprotocol/sdk/server/zod-compat.js";
import { toJsonSchemaCompat } from "@modelcontextprotocol/sdk/server/zod-json-schema-compat.js";
import { z } from "zod/v4";
import type { ZodSchema } from "./tool-config.js";

/** A schema of a tool, read. */
export interface ReadSchema {
  /** As the SDK takes it. */
  readonly registered: ZodSchema;
  /** As catalogs take it: JSON Schema 2020-12. */
  readonly declared: JsonObject;
}

/** What a schema describes: arguments before they are parsed, or a result after it was. */
export type SchemaSide = "input" | "output";

/** Reads a schema. `undefined`: none was given, or the one that was has issues. */
export function readSchemaOf(side: SchemaSide, path: string, given: unknown, issues: Issues): ReadSchema | undefined {
  if (given === undefined) return undefined;
  if (isJsonObject(given) && !isZod(given) && !Object.values(given).some(isZod)) {
    const read = readToolSchema(path, given, issues);
    return read === undefined ? undefined : { registered: toZod(read), declared: read.schema };
  }
  try {
    const object = normalizeObjectSchema(given as ZodSchema);
    if (object !== undefined) {
      const declared = toJsonSchemaCompat(object, { target: "draft-2020-12", strictUnions: true, pipeStrategy: side });
      return { registered: given as ZodSchema, declared };
    }
  } catch {
    // JSON Schema cannot express it: an issue, as below.
  }
  issues.add(path, "a JSON Schema of an object, or a Zod object or its fields that can be written as one", given);
  return undefined;
}

function isZod(value: unknown): boolean {
  return isJsonObject(value) && ("_zod" in value || "_def" in value);
}

/** The SDK takes Zod only: an object that is checked by a JSON Schema, and shown as that schema. */
export function toZod({ schema, check }: ReadToolSchema): z.ZodObject {
  const any = z.looseObject({});
  const matches = z.check<JsonObject>(({ value, issues }) => {
    const problem = check(value);
    if (problem === undefined) return;
    issues.push({ code: "custom", input: value, message: `${problem.at || "the whole"} ${problem.message}` });
  });
  const checked = any.clone({ ...any.def, checks: [matches] });
  // The SDK's converter changes what it gets.
  checked._zod.toJSONSchema = () => structuredClone(schema);
  return checked;
}
