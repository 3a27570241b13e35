/**
 * JSON Schemas of MCP tools, for adapters that check arguments and results by them.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { type Issues, issuePath } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import { JSON_SCHEMA_2020_12, type JsonSchema } from "../declaration.js";
import { readSchema } from "./draft.js";
import { compileSchema, type SchemaProblem } from "./json-schema.js";

/** A JSON Schema of a tool, and its check. */
export interface ReadToolSchema {
  /** As MCP shows it: of an object, with its dialect. A copy. */
  readonly schema: JsonSchema;
  /** The first mismatch of a value; `undefined` if the value matches. */
  readonly check: (value: unknown) => SchemaProblem | undefined;
}

const EXPECTED = "a JSON Schema of an object, with its properties as objects";

/** Reads the schema of a tool's arguments or of its structured content. Adds an issue for any other value. */
export function readToolSchema(path: string, value: unknown, issues: Issues): ReadToolSchema | undefined {
  const copy = copyOf(value);
  const isSchema = copy !== undefined && ("type" in copy || "properties" in copy || Object.keys(copy).length === 0);
  if (!isSchema) {
    issues.add(path, EXPECTED, value);
    return undefined;
  }
  const known = issues.found.length;
  const schema = readSchema(path, { type: "object", ...copy }, { issues });
  if (schema === undefined) return undefined;
  if (schema["type"] !== "object") issues.add(issuePath(path, "type"), '"object"', schema["type"]);
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    // Clients refuse the whole list of tools for the sake of one such property.
    if (!isJsonObject(property)) issues.add(issuePath(`${path}.properties`, name), "an object", property);
  }
  if (issues.found.length > known) return undefined;
  const compiled = compileSchema(schema, "first");
  if (!compiled.ok) {
    issues.addText(path, "a JSON Schema of draft 2020-12", compiled.problem);
    return undefined;
  }
  return {
    schema: { $schema: JSON_SCHEMA_2020_12, ...schema },
    check: (given) => compiled.check(given)[0],
  };
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {};
}

/** Later changes by the seller change nothing. */
function copyOf(value: unknown): JsonObject | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    return isJsonObject(copy) ? copy : undefined;
  } catch {
    return undefined;
  }
}
