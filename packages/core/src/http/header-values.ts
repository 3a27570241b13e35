/**
 * Headers that a seller gives, most often credentials: checked when they are given, never quoted.
 *
 * @module
 */
import { validateHeaderName, validateHeaderValue } from "node:http";
import { isJsonObject, type JsonObject } from "../protocol/json.js";

/** Headers by name, e.g. `{ authorization: "Bearer …" }`. */
export type HeaderValues = Readonly<Record<string, string>>;

/** What headers have to be, for an error message. */
export const HEADER_VALUES_EXPECTED =
  "header names with string values, without Content-Length and what else frames a message";

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
  if (typeof value !== "string" || FRAMING.includes(name.toLowerCase())) return false;
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value.trim());
    return true;
  } catch {
    return false;
  }
}

/** They frame a message, and follow from what is sent. */
const FRAMING: readonly string[] = ["connection", "content-length", "expect", "transfer-encoding", "upgrade"];

/** Puts headers over others: names in lower case, each once, and values without the line break that a file ends with. */
export function mergeHeaders(own: HeaderValues, given: HeaderValues): HeaderValues {
  const lowered = [own, given].flatMap((headers) => Object.entries(headers)).map(lower);
  return Object.fromEntries(lowered);
}

function lower([name, value]: readonly [string, string]): [string, string] {
  return [name.toLowerCase(), value.trim()];
}
