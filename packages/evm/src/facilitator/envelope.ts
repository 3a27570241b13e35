/**
 * The body of `verify` and `settle`, as far as it is the same for every scheme.
 *
 * @see x402 v2 §7.1
 * @module
 */
import { accept, type Fields, type Reading, refuse } from "@farebox/core/scheme";
import { readAddress, readFields } from "./wire-fields.js";

/** The objects in a request. */
export interface Envelope {
  readonly accepted: Fields;
  readonly payload: Fields;
  readonly requirements: Fields;
  /** What the client says about extensions; empty when nothing. */
  readonly extensions: Fields;
}

/** Reads the body. Total: any JSON yields a reading. */
export function readEnvelope(request: unknown): Reading<Envelope> {
  const body = readFields(request);
  if (body === undefined) return refuse("invalid_payload", "the request is not an object");
  if (body["x402Version"] !== 2) return refuse("invalid_x402_version", "x402Version of the request is not 2");
  const payment = readFields(body["paymentPayload"]);
  if (payment === undefined) return refuse("invalid_payload", "paymentPayload is not an object");
  if (payment["x402Version"] !== 2) return refuse("invalid_x402_version", "x402Version of the payment is not 2");
  const requirements = readFields(body["paymentRequirements"]);
  if (requirements === undefined) return refuse("invalid_payment_requirements", "paymentRequirements is not an object");
  const accepted = readFields(payment["accepted"]);
  if (accepted === undefined) return refuse("invalid_payload", "accepted is not an object");
  const payload = readFields(payment["payload"]);
  if (payload === undefined) return refuse("invalid_payload", "payload is not an object");
  return accept({ accepted, payload, requirements, extensions: readFields(payment["extensions"]) ?? {} });
}

/** The payer, as the client wrote it: the `from` of an authorization. */
export function readPayer(authorization: unknown): string | undefined {
  const from = readFields(authorization)?.["from"];
  return typeof from === "string" && readAddress(from) !== undefined ? from : undefined;
}
