/**
 * The `PAYMENT-SIGNATURE` request header: base64 of a JSON PaymentPayload.
 *
 * @see x402 v2, HTTP transport, "Payment Payload Transmission"
 * @module
 */
import { isJsonObject } from "../protocol/json.js";
import type { PaymentPayload } from "../protocol/payment-payload.js";
import type { SpecifiedReason } from "../protocol/reasons.js";
import { isPaymentPayload } from "../protocol/validate.js";
import { decodeBase64Json, encodeBase64Json } from "./base64-json.js";

/** Name of the header that carries the payment. */
export const PAYMENT_SIGNATURE = "PAYMENT-SIGNATURE";

/** Node refuses header blocks over 16 KiB by default, so a longer payment works nowhere else either. */
const MAX_CHARACTERS = 16 * 1024;

/** A header either decodes, is absent, or is unusable; only the first reaches a scheme. */
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
  if (!isJsonObject(json.value)) return malformed("not a JSON object");
  if (json.value["x402Version"] !== 2) {
    return { kind: "malformed", reason: "invalid_x402_version", problem: "not of x402Version 2, which is a number" };
  }
  if (!isPaymentPayload(json.value)) return malformed("not a PaymentPayload: accepted or payload is missing or wrong");
  return { kind: "present", payment: json.value };
}

/** Encodes a payment for the header, as a client does. */
export function encodePaymentSignature(payment: PaymentPayload): string {
  return encodeBase64Json(payment);
}

function malformed(problem: string): DecodedPayment {
  return { kind: "malformed", reason: "invalid_payload", problem };
}
