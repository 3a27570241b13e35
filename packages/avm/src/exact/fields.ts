/**
 * Fields of unchecked JSON.
 *
 * @module
 */

/** A JSON object whose fields are unchecked. */
export type Fields = Readonly<Record<string, unknown>>;

/** Reads an object, not an array; `{}` in place of anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
