/**
 * Base64 of JSON: the form of every payment header.
 *
 * @see x402 v2, HTTP transport
 * @module
 */
import { type ParsedJson, parseJson } from "../protocol/json.js";

/** Encodes a value as standard base64 of its JSON. */
export function encodeBase64Json(value: unknown): string {
  return encodeBase64(JSON.stringify(value));
}

/** Encodes text as standard base64. */
export function encodeBase64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/**
 * Decodes standard base64 of JSON. Total: anything else yields `ok: false`.
 *
 * @param parse - Does what `parseJson` does, perhaps faster.
 */
export function decodeBase64Json(text: string, parse: (json: string) => ParsedJson = parseJson): ParsedJson {
  const bytes = Buffer.from(text, "base64");
  return isStandard(text, bytes) ? parse(bytes.toString("utf8")) : { ok: false };
}

/**
 * The standard alphabet; its padding may be missing. Clients test for just this, so base64url or line breaks never go out. It
 * is also checked on the way in, because `Buffer` skips what it does not know, among it the `", "` by which Node joins a
 * repeated header: so what it has read is written again.
 */
function isStandard(text: string, bytes: Buffer): boolean {
  const written = bytes.toString("base64");
  return text === written || text === written.replace(/={1,2}$/, "");
}
