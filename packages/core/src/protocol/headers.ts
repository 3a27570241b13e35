/**
 * The payment headers: base64 of JSON, with one codec for each.
 *
 * @see x402 v2, HTTP transport; MCP transport, "Payment Payload Transmission"
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
  return Buffer.from(JSON.stringify(value)).toString("base64");
}

/** Encodes text as standard base64. */
export function encodeBase64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/**
 * The characters in which the last group may end, by its length. All others have bits that no byte takes up. A whole group (0) may end in
 * any character; a single character is no byte.
 */
const LAST_CHARACTERS = [undefined, "", "AQgw", "AEIMQUYcgkosw048"] as const;

/**
 * Decodes standard base64 of JSON, with or without padding. Any other text yields `ok: false`. Never throws.
 *
 * `Buffer` alone skips unknown characters, among them the `", "` with which Node joins a repeated header, and bits that are too many.
 * A pattern for the characters would take twice as long as the decoding.
 */
export function decodeBase64Json(text: string): ParsedJson {
  const size = text.endsWith("==") ? text.length - 2 : text.endsWith("=") ? text.length - 1 : text.length;
  if (size < text.length && text.length % 4 !== 0) return { ok: false };
  const last = LAST_CHARACTERS[size % 4];
  if (last !== undefined && !last.includes(text.charAt(size - 1))) return { ok: false };
  const bytes = Buffer.from(text, "base64");
  // It skips what is no base64 in ASCII, reads other characters by half, and takes the two of base64url for those of base64.
  const isWhole = bytes.length === Math.floor((size * 3) / 4) && Buffer.byteLength(text) === text.length;
  if (!isWhole || text.includes("-") || text.includes("_")) return { ok: false };
  return parseJson(bytes.toString("utf8"));
}

/** Name of the header that carries the challenge. */
export const PAYMENT_REQUIRED = "PAYMENT-REQUIRED";

/** Encodes a challenge for the header. */
export function encodePaymentRequired(challenge: PaymentRequired): string {
  return encodeBase64Json(challenge);
}

/** Reads a challenge from a header value; `undefined` if it is invalid. Never throws. */
export function decodePaymentRequired(value: string): PaymentRequired | undefined {
  const json = decodeBase64Json(value);
  return json.ok && isPaymentRequired(json.value) ? json.value : undefined;
}

/** Name of the header that carries the payment. */
export const PAYMENT_SIGNATURE = "PAYMENT-SIGNATURE";

/** Node refuses header blocks over 16 KiB by default. */
const MAX_CHARACTERS = 16 * 1024;

/** The bytes that fit into a header of that length. */
const MAX_BYTES = (MAX_CHARACTERS / 4) * 3;

/** A decoded payment, none, or an invalid one. Only the first reaches a scheme. */
export type DecodedPayment =
  | { readonly kind: "absent" }
  | { readonly kind: "malformed"; readonly reason: SpecifiedReason; readonly problem: string }
  | { readonly kind: "present"; readonly payment: PaymentPayload };

/**
 * Reads a payment from a header value. Never throws, and takes time linear in the length of the text.
 *
 * @param value - The value of the header, or `undefined`.
 */
export function decodePaymentSignature(value: string | undefined): DecodedPayment {
  if (value === undefined) return { kind: "absent" };
  if (value.length > MAX_CHARACTERS) return malformed(`longer than ${MAX_CHARACTERS} characters`);

  const json = decodeBase64Json(value);
  if (!json.ok) return malformed("not standard base64 of JSON, or nested too deeply");
  return readPayload(json.value);
}

/**
 * Reads a payment from a value that a transport has parsed, with the limits of the header. Never throws.
 *
 * @param value - The value in the payment's place, or `undefined`.
 */
export function decodePayment(value: unknown): DecodedPayment {
  if (value === undefined) return { kind: "absent" };
  const text = toJson(value);
  if (text === undefined) return malformed("not JSON, or nested too deeply");
  if (Buffer.byteLength(text) > MAX_BYTES) return malformed(`longer than ${MAX_BYTES} bytes`);
  const json = parseJson(text);
  return json.ok ? readPayload(json.value) : malformed("nested too deeply, or has a NUL in it");
}

/** `undefined` for a value that JSON cannot express, or that is nested too deeply. */
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
  return Buffer.from(JSON.stringify(receipt)).toString("base64");
}

/** Reads a receipt from a header value; `undefined` if it is invalid. Never throws. */
export function decodePaymentResponse(value: string): SettlementResponse | undefined {
  const json = decodeBase64Json(value);
  return json.ok && isSettlementResponse(json.value) ? json.value : undefined;
}

/** Name of the header that carries a facilitator's reports on extensions. */
export const EXTENSION_RESPONSES = "EXTENSION-RESPONSES";

/** A longer header is ignored. */
const MAX_HEADER = 8 * 1024;

/** Encodes reports for the header. */
export function encodeExtensionResponses(responses: ExtensionResponses): string {
  return encodeBase64Json(responses);
}

/** Reads reports from a header value; `undefined` if there is no valid one. Never throws. */
export function decodeExtensionResponses(value: string | null | undefined): ExtensionResponses | undefined {
  if (typeof value !== "string" || value.length > MAX_HEADER) return undefined;
  const json = decodeBase64Json(value);
  return json.ok ? readExtensionResponses(json.value) : undefined;
}

/**
 * Name of the header by which a payer proves that it repeats its own payment: it sends the value back that came with an earlier
 * response. Not part of the protocol.
 */
export const PAYMENT_RETRY_TOKEN = "PAYMENT-RETRY-TOKEN";

/** Name of the header with the URL of the receipt of a metered response. Not part of the protocol. */
export const PAYMENT_RECEIPT_URL = "PAYMENT-RECEIPT-URL";

/** Name of the trailer that says why a metered response ends early: `payment_limit`. Not part of the protocol. */
export const PAYMENT_ERROR = "PAYMENT-ERROR";

/** Name of the header that lets scripts in browsers read other headers. */
export const EXPOSE_HEADERS = "Access-Control-Expose-Headers";

const OURS = [PAYMENT_REQUIRED, PAYMENT_RESPONSE, EXTENSION_RESPONSES, PAYMENT_RETRY_TOKEN];
/** What scripts of other origins may read where nothing is exposed yet. */
export const EXPOSED_HEADERS: string = OURS.join(", ");

/** Appends our headers to those already exposed. A `*` does not expose them for requests with credentials. */
export function exposeHeaders(current: string): string {
  if (current.trim() === "") return EXPOSED_HEADERS;
  const names = current.split(",").map((name) => name.trim().toUpperCase());
  const missing = OURS.filter((name) => !names.includes(name));
  return missing.length === 0 ? current : `${current}, ${missing.join(", ")}`;
}

/** In every spelling that clients of either version know; and the amount, which no client is told in this way. */
const OF_PAYMENTS: ReadonlySet<string> = new Set([
  ...[...OURS, PAYMENT_SIGNATURE, PAYMENT_RECEIPT_URL, PAYMENT_ERROR].map((name) => name.toLowerCase()),
  ...["x-payment", "x-payment-required", "x-payment-response", "settlement-overrides"],
]);

/** Whether a header of a handler's response says something about a payment. On a priced route only the gate says it. */
export function isOfPayments(name: string): boolean {
  return OF_PAYMENTS.has(name.toLowerCase());
}

/** Whether one of the headers of a response does. */
export function mentionsPayments(headers: readonly (readonly [name: string, value: unknown])[]): boolean {
  for (const [name] of headers) if (OF_PAYMENTS.has(name.toLowerCase())) return true;
  return false;
}

/** Whether a header is `Settlement-Overrides`. */
export function isSettlementOverrides(name: string): boolean {
  return name.toLowerCase() === "settlement-overrides";
}
