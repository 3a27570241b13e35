/**
 * Parses JSON from clients, facilitators and nodes, with a limit on its depth.
 *
 * @module
 */

/** Enough for a JSON Schema inside an extension, the deepest part of any document. */
const MAX_DEPTH = 32;

/** The parsed value, or a failure. Wrapped, because `null` is a JSON value. */
export type ParsedJson = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

const MALFORMED: ParsedJson = Object.freeze({ ok: false });

/** A plain object of unchecked fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** No valid document contains a NUL, and databases refuse texts with one. */
const NUL = "\\u0000";

/**
 * Parses JSON. Text that is malformed, nested too deeply or has a NUL yields `ok: false`. Never throws.
 *
 * The depth is counted before parsing, in one pass, so a deep document is as cheap to refuse as a flat one, and code that walks the
 * value cannot overflow the stack.
 *
 * @param above - The depth of the text itself in another document. Default 0.
 */
export function parseJson(text: string, above = 0): ParsedJson {
  const deepest = MAX_DEPTH - above;
  // Nearly every document has fewer brackets than that in all, and counting those is faster than skipping strings.
  let brackets = 0;
  for (let at = text.indexOf("{"); at !== -1 && brackets <= deepest; at = text.indexOf("{", at + 1)) brackets++;
  for (let at = text.indexOf("["); at !== -1 && brackets <= deepest; at = text.indexOf("[", at + 1)) brackets++;
  if (brackets > deepest && measureDepth(text, deepest) > deepest) return MALFORMED;
  if (text.includes(NUL)) return MALFORMED;
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return MALFORMED;
  }
}

/** Whether a value is an object with fields: not `null`, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A deep copy of an object by way of JSON; `undefined` if JSON cannot express it. Never throws. */
export function copyJsonObject(value: unknown): JsonObject | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    return isJsonObject(copy) ? copy : undefined;
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The greatest depth. Stops one level above the limit. */
function measureDepth(text: string, limit: number): number {
  let [depth, deepest] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    deepest = Math.max(deepest, depth);
    if (deepest > limit) break;
  }
  return deepest;
}

/** Position of the quote that closes the string at `start`, or past the end of the text. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
