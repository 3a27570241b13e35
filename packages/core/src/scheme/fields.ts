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
  if (!isJsonObject(value)) return {};
  return isPlain(value) ? value : { ...value };
}

/** As JSON makes them: there is nothing to copy, which takes V8 long for objects of many shapes. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
