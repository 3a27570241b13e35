/**
 * The `PAYMENT-REQUIRED` response header: base64 of a JSON PaymentRequired.
 *
 * @see x402 v2, HTTP transport, "Payment Required Signaling"
 * @module
 */
import type { PaymentRequired } from "../protocol/payment-required.js";
import { isPaymentRequired } from "../protocol/validate.js";
import { decodeBase64Json, encodeBase64Json } from "./base64-json.js";

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
