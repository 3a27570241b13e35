/**
 * The three headers of a payment, read and written as any client would. Written apart from the seller's own codecs, so
 * that a fault in those does not cancel itself out in a test.
 *
 * @see x402 v2, HTTP transport
 * @module
 */
import type { PaymentPayload, PaymentRequired, SettlementResponse } from "@farebox/core";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Reads the challenge of an answer; `undefined` when there is none that can be read. */
export function readChallenge(headers: Headers): PaymentRequired | undefined {
  const document = decode(headers["payment-required"]);
  return isChallenge(document) ? document : undefined;
}

/** Reads the receipt of an answer; `undefined` when there is none that can be read. */
export function readReceipt(headers: Headers): SettlementResponse | undefined {
  const document = decode(headers["payment-response"]);
  return isReceipt(document) ? document : undefined;
}

/** Writes the value of `PAYMENT-SIGNATURE`. */
export function writePayment(payment: PaymentPayload): string {
  return Buffer.from(JSON.stringify(payment), "utf8").toString("base64");
}

function decode(value: string | string[] | undefined): unknown {
  if (typeof value !== "string") return undefined;
  try {
    return JSON.parse(Buffer.from(value, "base64").toString("utf8"));
  } catch {
    return undefined;
  }
}

function isChallenge(value: unknown): value is PaymentRequired {
  return isRecord(value) && value["x402Version"] === 2 && isRecordArray(value["accepts"]);
}

function isReceipt(value: unknown): value is SettlementResponse {
  return isRecord(value) && typeof value["success"] === "boolean" && typeof value["network"] === "string";
}

function isRecordArray(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRecord);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
