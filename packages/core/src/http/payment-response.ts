/**
 * The `PAYMENT-RESPONSE` response header: base64 of a JSON SettlementResponse, the receipt.
 *
 * @see x402 v2, HTTP transport, "Settlement Response Delivery"
 * @module
 */
import type { SettlementResponse } from "../protocol/settlement-response.js";
import { isSettlementResponse } from "../protocol/validate.js";
import { decodeBase64Json, encodeBase64Json } from "./base64-json.js";

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
