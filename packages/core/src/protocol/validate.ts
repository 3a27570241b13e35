/**
 * Type guards for the protocol's documents. They never throw, and take time linear in the size of the value.
 *
 * They are compiled from the schemas in `schema/` at build time.
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

/** Whether a value is a complete offer. */
export function isPaymentRequirements(value: unknown): value is PaymentRequirements {
  return validators.paymentRequirements(value);
}

/** Whether a value has the outer form of a payment. The scheme checks its `payload`. */
export function isPaymentPayload(value: unknown): value is PaymentPayload {
  return validators.paymentPayload(value);
}

/** Whether a value is a receipt. */
export function isSettlementResponse(value: unknown): value is SettlementResponse {
  return validators.settlementResponse(value);
}

/** Whether a value is a response to `verify`. */
export function isVerifyResponse(value: unknown): value is VerifyResponse {
  return validators.verifyResponse(value);
}

/** Whether a value is a response to `supported`. */
export function isSupportedResponse(value: unknown): value is SupportedResponse {
  return validators.supportedResponse(value);
}
