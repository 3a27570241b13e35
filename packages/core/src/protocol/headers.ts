/**
 * The payment headers: base64 of JSON, one codec for each.
 *
 * @see x402 v2, HTTP transport; MCP transport, "Payment Payload Transmission"
 *
 * @module
 */

import {
  type ExtensionResponses,
  type PaymentPayload,
  type PaymentRequired,
  readExtensionResponses,
  type SettlementResponse,
} from "./documents.js";
import { isJsonObject, type ParsedJson, parseJson } from "./json.js";
import type { SpecifiedReason } from "./reasons.js";
import { isPaymentPayload, isPaymentRequired, isSettlementResponse } from "./validate.js";

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
  const bytes = Buffer.from(text, "base64");
  return isStandard(text, bytes) ? parseJson(bytes.toString("utf8")) : { ok: false };
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

/** Name of the header that carries the challenge. */
export const PAYMENT_REQUIRED = "PAYMENT-REQUIRED";

/** Encodes a challenge for the header. */
export function encodePaymentRequired(challenge: PaymentRequired): string {
  return encodeBase64Json(challenge);
}

/** Reads a challenge from a header value; `undefined` when it is not one. Total. */
export function decodePaymentRequired(value: string): PaymentRequired | undefined {
  const json = decodeBase64Json(value);
  return json.ok && isPaymentRequired(json.value) ? json.value : undefined;
}

/** Name of the header that carries the payment. */
export const PAYMENT_SIGNATURE = "PAYMENT-SIGNATURE";

/** Node refuses header blocks over 16 KiB by default, so a longer payment works nowhere else either. */
const MAX_CHARACTERS = 16 * 1024;

/** As many bytes as a header of that length has room for. */
const MAX_BYTES = (MAX_CHARACTERS / 4) * 3;

/** A payment either decodes, is absent, or is unusable; only the first reaches a scheme. */
export type DecodedPayment =
  | { readonly kind: "absent" }
  | { readonly kind: "malformed"; readonly reason: SpecifiedReason; readonly problem: string }
  | { readonly kind: "present"; readonly payment: PaymentPayload };

/**
 * Reads a payment from a header value. Total: any input yields a {@link DecodedPayment}, none throws, and the work is
 * linear in the length of the text.
 *
 * @param value - The header's text, `undefined` when the request has none.
 */
export function decodePaymentSignature(value: string | undefined): DecodedPayment {
  if (value === undefined) return { kind: "absent" };
  if (value.length > MAX_CHARACTERS) return malformed(`longer than ${MAX_CHARACTERS} characters`);

  const json = decodeBase64Json(value);
  if (!json.ok) return malformed("not standard base64 of JSON, or nested too deeply");
  return readPayload(json.value);
}

/**
 * Reads a payment from a value that a transport has parsed. Total, and with the limits that a header has.
 *
 * @param value - What stands where the payment belongs, `undefined` when there is nothing.
 */
export function decodePayment(value: unknown): DecodedPayment {
  if (value === undefined) return { kind: "absent" };
  const text = toJson(value);
  if (text === undefined) return malformed("not JSON, or nested too deeply");
  if (Buffer.byteLength(text) > MAX_BYTES) return malformed(`longer than ${MAX_BYTES} bytes`);
  const json = parseJson(text);
  return json.ok ? readPayload(json.value) : malformed("nested too deeply, or has a NUL in it");
}

/** What is nested so deeply that it cannot be written is no payment either. */
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function readPayload(value: unknown): DecodedPayment {
  if (!isJsonObject(value)) return malformed("not a JSON object");
  if (value["x402Version"] !== 2) {
    return { kind: "malformed", reason: "invalid_x402_version", problem: "not of x402Version 2, which is a number" };
  }
  if (!isPaymentPayload(value)) return malformed("not a PaymentPayload: accepted or payload is missing or wrong");
  return { kind: "present", payment: value };
}

/** Encodes a payment for the header, as a client does. */
export function encodePaymentSignature(payment: PaymentPayload): string {
  return encodeBase64Json(payment);
}

function malformed(problem: string): DecodedPayment {
  return { kind: "malformed", reason: "invalid_payload", problem };
}

/** Name of the header that carries the receipt. */
export const PAYMENT_RESPONSE = "PAYMENT-RESPONSE";

/** Encodes a receipt for the header. */
export function encodePaymentResponse(receipt: SettlementResponse): string {
  return encodeBase64Json(receipt);
}

/** Reads a receipt from a header value; `undefined` when it is not one. Total. */
export function decodePaymentResponse(value: string): SettlementResponse | undefined {
  const json = decodeBase64Json(value);
  return json.ok && isSettlementResponse(json.value) ? json.value : undefined;
}

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

/** Name of the header. */
export const EXPOSE_HEADERS = "Access-Control-Expose-Headers";

const OURS = [PAYMENT_REQUIRED, PAYMENT_RESPONSE, EXTENSION_RESPONSES];
const OURS_ALONE = OURS.join(", ");

/** Appends our headers to those already exposed; a `*` already exposes them, unless the request has credentials. */
export function exposeHeaders(current: string | undefined): string {
  if (current === undefined || current.trim() === "") return OURS_ALONE;
  const names = current.split(",").map((name) => name.trim().toUpperCase());
  const missing = OURS.filter((name) => !names.includes(name));
  return missing.length === 0 ? current : `${current}, ${missing.join(", ")}`;
}

/** Whether a header is that one. */
export function isSettlementOverrides(name: string): boolean {
  return name.toLowerCase() === "settlement-overrides";
}
