/**
 * Headers that a seller gives, most often credentials: checked when they are given, never quoted.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "../protocol/json.js";

/** Headers by name, e.g. `{ authorization: "Bearer …" }`. */
export type HeaderValues = Readonly<Record<string, string>>;

/** What headers have to be, for an error message. */
export const HEADER_VALUES_EXPECTED = "header names with string values";

/** Whether a value is headers of a form that can be sent. Total. */
export function isHeaderValues(value: unknown): value is HeaderValues {
  return isPlain(value) && Object.entries(value).every(([name, text]) => isHeader(name, text));
}

/** An unawaited promise, a `Map` or a `Headers` has no fields of its own: the credentials in it would get lost. */
export function isPlain(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Most often a key from the environment that is not set, or ends up with a line break in the middle. */
export function isHeader(name: string, value: unknown): boolean {
  try {
    return typeof value === "string" && new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
}
