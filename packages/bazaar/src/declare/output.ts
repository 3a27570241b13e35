/**
 * What comes out of a route or a tool, as it is declared.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import type { DiscoveryInfo, JsonSchema } from "../declaration.js";
import type { Reading } from "./draft.js";
import { moveSchema } from "./json-schema.js";
import { checkExample, readSchema } from "./parts.js";

/** The output block of `info`, and of its schema; neither where nothing was declared. */
export interface DeclaredOutput {
  readonly info: Pick<DiscoveryInfo, "output">;
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

const NONE: DeclaredOutput = Object.freeze({ info: {}, properties: {} });

/** Reads `outputSchema` and `output: { example, schema }`. */
export function readOutput(form: JsonObject, reading: Reading): DeclaredOutput {
  const { output } = form;
  const { path, issues, route } = reading;
  if (output !== undefined && !issues.checkKeys(`${path}.output`, output, ["example", "schema"])) return NONE;
  const { example, schema: other } = isJsonObject(output) ? output : {};
  const schema = readOutputSchema(form["outputSchema"], other, reading);
  if (schema === undefined && example === undefined) return NONE;
  checkExample({ path: `${path}.output.example`, value: example }, schema, reading);
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

/** It may be said in either way, but not in both. */
function readOutputSchema(outputSchema: unknown, other: unknown, reading: Reading): JsonSchema | undefined {
  const { path, issues } = reading;
  if (outputSchema !== undefined && other !== undefined) {
    issues.add(`${path}.output.schema`, "nothing beside outputSchema", other);
  }
  if (outputSchema !== undefined) return readSchema({ path: `${path}.outputSchema`, value: outputSchema }, reading);
  return other === undefined ? undefined : readSchema({ path: `${path}.output.schema`, value: other }, reading);
}

/** What catalogs call the kind of an answer. */
function typeOf(mimeType: string): string {
  if (mimeType === "" || /[/+]json(?:;|$)/i.test(mimeType)) return "json";
  return mimeType.startsWith("text/") ? "text" : mimeType;
}
