/**
 * Predicates for the protocol's documents. Each is total and linear in the size of what it is given.
 *
 * The schemas beside this file are compiled when they change, not when the process starts.
 *
 * @module
 */
import type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  SettlementResponse,
  SupportedResponse,
  VerifyResponse,
} from "./documents.js";
import { validators } from "./schema/validators.generated.js";

/** Whether a value is a challenge with at least one offer. */
export function isPaymentRequired(value: unknown): value is PaymentRequired {
  return validators.paymentRequired(value);
}

/** Whether a value is one complete way to pay. */
export function isPaymentRequirements(value: unknown): value is PaymentRequirements {
  return validators.paymentRequirements(value);
}

/** Whether a value has the outer form of a payment; what is in its `payload` only the scheme can tell. */
export function isPaymentPayload(value: unknown): value is PaymentPayload {
  return validators.paymentPayload(value);
}

/** Whether a value is a receipt. */
export function isSettlementResponse(value: unknown): value is SettlementResponse {
  return validators.settlementResponse(value);
}

/** Whether a value is an answer to `verify`. */
export function isVerifyResponse(value: unknown): value is VerifyResponse {
  return validators.verifyResponse(value);
}

/** Whether a value is an answer to `supported`. */
export function isSupportedResponse(value: unknown): value is SupportedResponse {
  return validators.supportedResponse(value);
}
