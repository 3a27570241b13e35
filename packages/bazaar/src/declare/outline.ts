/**
 * A declaration in the form of older documents: `outputSchema: { input, output }` in each way to pay.
 *
 * @see the brief §2.2 to §2.4
 * @module
 */
import { isJsonObject, type JsonObject, type Outline } from "@farebox/core";
import type { BazaarDeclaration } from "../declaration.js";

/** Writes the outline; an endpoint also says where it is. */
export function outlineOf({ info, schema }: BazaarDeclaration, url: string): Outline {
  const input = info.input.type === "mcp" ? info.input : { ...info.input, resource: url };
  return { input, output: outputOf(info.output?.example, schema) };
}

/** The example, which older catalogs show; or else the schema. */
function outputOf(example: unknown, schema: JsonObject): JsonObject | null {
  if (isJsonObject(example)) return example;
  const found = ["properties", "output", "properties", "example"].reduce<unknown>(
    (value, key) => (isJsonObject(value) ? value[key] : undefined),
    schema,
  );
  return isJsonObject(found) && Object.keys(found).length > 0 ? found : null;
}
