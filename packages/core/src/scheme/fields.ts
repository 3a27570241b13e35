/**
 * Fields of unchecked JSON.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "../protocol/json.js";

/** A JSON object whose fields are unchecked. */
export type Fields = JsonObject;

/** Reads an object, not an array; `{}` in place of anything else. What a prototype lends is none of its fields. */
export function fieldsOf(value: unknown): Fields {
  return isJsonObject(value) ? { ...value } : {};
}
