/**
 * The headers of the protocol and the small functions of `@x402/core/http` and `@x402/core/utils` that hooks call.
 *
 * @module
 */
import type { PaymentPayload, PaymentRequired, SettleResponse } from "../types.js";

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Encodes text. */
export function safeBase64Encode(data: string): string {
  return Buffer.from(data, "utf8").toString("base64");
}

/** Decodes text. */
export function safeBase64Decode(data: string): string {
  return Buffer.from(data, "base64").toString("utf8");
}

function encode(document: unknown): string {
  return safeBase64Encode(JSON.stringify(document));
}

function decode(header: string, name: string): unknown {
  if (!BASE64.test(header)) throw new SyntaxError(`Invalid ${name} header`);
  return JSON.parse(safeBase64Decode(header));
}

/** Writes `PAYMENT-SIGNATURE`. */
export function encodePaymentSignatureHeader(paymentPayload: PaymentPayload): string {
  return encode(paymentPayload);
}

/**
 * Reads `PAYMENT-SIGNATURE`. It comes from a client: nothing about it is checked but that it is JSON.
 *
 * @throws SyntaxError when it is not base64 of JSON
 */
export function decodePaymentSignatureHeader(header: string): PaymentPayload {
  return decode(header, "payment signature") as PaymentPayload;
}

/** Writes `PAYMENT-REQUIRED`. */
export function encodePaymentRequiredHeader(paymentRequired: PaymentRequired): string {
  return encode(paymentRequired);
}

/** Reads `PAYMENT-REQUIRED`. @throws SyntaxError when it is not base64 of JSON */
export function decodePaymentRequiredHeader(header: string): PaymentRequired {
  return decode(header, "payment required") as PaymentRequired;
}

/** Writes `PAYMENT-RESPONSE`. */
export function encodePaymentResponseHeader(paymentResponse: SettleResponse): string {
  return encode(paymentResponse);
}

/** Reads `PAYMENT-RESPONSE`. @throws SyntaxError when it is not base64 of JSON */
export function decodePaymentResponseHeader(header: string): SettleResponse {
  return decode(header, "payment response") as SettleResponse;
}
