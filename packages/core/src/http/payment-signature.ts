/**
 * A payment as it comes: over HTTP in the `PAYMENT-SIGNATURE` request header, as base64 of a JSON PaymentPayload; elsewhere,
 * as over MCP, as the PaymentPayload itself.
 *
 * @see x402 v2, HTTP transport, "Payment Payload Transmission"; MCP transport, "Payment Payload Transmission"
 * @module
 */
import { isJsonObject, type ParsedJson, parseJson } from "../protocol/json.js";
import type { PaymentPayload } from "../protocol/payment-payload.js";
import type { SpecifiedReason } from "../protocol/reasons.js";
import { isPaymentPayload } from "../protocol/validate.js";
import { decodeBase64Json, encodeBase64Json } from "./base64-json.js";

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
  return decodePaymentHeader(value, parseJson);
}

/**
 * Does what {@link decodePaymentSignature} does.
 *
 * @param parse - Does what `parseJson` does, perhaps faster.
 */
export function decodePaymentHeader(value: string | undefined, parse: (text: string) => ParsedJson): DecodedPayment {
  if (value === undefined) return { kind: "absent" };
  if (value.length > MAX_CHARACTERS) return malformed(`longer than ${MAX_CHARACTERS} characters`);

  const json = decodeBase64Json(value, parse);
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
