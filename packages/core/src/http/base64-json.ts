/**
 * Base64 of JSON: the form of every payment header.
 *
 * @see x402 v2, HTTP transport
 * @module
 */
import { type ParsedJson, parseJson } from "../protocol/json.js";

/**
 * The standard alphabet with padding; clients test for just this, so base64url or line breaks never go out. It is also
 * checked on the way in, because `Buffer` skips what it does not know, among it the `", "` by which Node joins a
 * repeated header.
 */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Encodes a value as standard base64 of its JSON. */
export function encodeBase64Json(value: unknown): string {
  return encodeBase64(JSON.stringify(value));
}

/** Encodes text as standard base64. */
export function encodeBase64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** Decodes standard base64 of JSON. Total: anything else yields `ok: false`. */
export function decodeBase64Json(text: string): ParsedJson {
  if (!BASE64.test(text)) return { ok: false };
  return parseJson(Buffer.from(text, "base64").toString("utf8"));
}
