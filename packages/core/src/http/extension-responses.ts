/**
 * The `EXTENSION-RESPONSES` header: base64 of JSON, from facilitator to seller, and from there to the client.
 *
 * @see the brief §6, "Events"
 * @module
 */
import { type ExtensionResponses, readExtensionResponses } from "../protocol/extension-responses.js";
import { decodeBase64Json, encodeBase64Json } from "./base64-json.js";

/** Name of the header. */
export const EXTENSION_RESPONSES = "EXTENSION-RESPONSES";

/** A longer one holds more than is read of it. */
const MAX_HEADER = 8 * 1024;

/** Writes outcomes for the header. */
export function encodeExtensionResponses(responses: ExtensionResponses): string {
  return encodeBase64Json(responses);
}

/** Reads outcomes from a header value; `undefined` for one that has none. Total. */
export function decodeExtensionResponses(value: string | null | undefined): ExtensionResponses | undefined {
  if (typeof value !== "string" || value.length > MAX_HEADER) return undefined;
  const json = decodeBase64Json(value);
  return json.ok ? readExtensionResponses(json.value) : undefined;
}
