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

type Guard<T> = (value: unknown) => value is T;

/** Whether a value is a challenge with at least one offer. */
export const isPaymentRequired: Guard<PaymentRequired> = validators.paymentRequired as Guard<PaymentRequired>;

/** Whether a value is a complete offer. */
export const isPaymentRequirements: Guard<PaymentRequirements> =
  validators.paymentRequirements as Guard<PaymentRequirements>;

/** Whether a value has the outer form of a payment. The scheme checks its `payload`. */
export const isPaymentPayload: Guard<PaymentPayload> = validators.paymentPayload as Guard<PaymentPayload>;

/** Whether a value is a receipt. */
export const isSettlementResponse: Guard<SettlementResponse> =
  validators.settlementResponse as Guard<SettlementResponse>;

/** Whether a value is a response to `verify`. */
export const isVerifyResponse: Guard<VerifyResponse> = validators.verifyResponse as Guard<VerifyResponse>;

/** Whether a value is a response to `supported`. */
export const isSupportedResponse: Guard<SupportedResponse> = validators.supportedResponse as Guard<SupportedResponse>;
