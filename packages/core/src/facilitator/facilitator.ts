/**
 * The facilitator as a seller sees it: three calls, whether it lives in this process or behind HTTP.
 *
 * @see x402 v2 §7
 * @module
 */
import type {
  CanonicalPayment,
  PaymentRequirements,
  SettlementResponse,
  SupportedResponse,
  VerifyResponse,
} from "../protocol/documents.js";

/** The body of `POST /verify` and `POST /settle`. */
export interface FacilitatorRequest {
  readonly x402Version: 2;
  readonly paymentPayload: CanonicalPayment;
  readonly paymentRequirements: PaymentRequirements;
}

/** How long a caller is willing to wait. */
export interface CallOptions {
  /** Aborted when the caller has given up; a facilitator that can stop its own work then does. */
  readonly signal?: AbortSignal;
}

/** Verifies and settles payments. Answers are values; a call that yields no answer rejects with a `FacilitatorError`. */
export interface Facilitator {
  /** Whether the payment would settle now. Moves nothing. */
  verify(request: FacilitatorRequest, options?: CallOptions): Promise<VerifyResponse>;
  /** Moves the money. Never resolves with `success: true` twice for one authorization. */
  settle(request: FacilitatorRequest, options?: CallOptions): Promise<SettlementResponse>;
  /** What this facilitator can verify and settle. */
  supported(options?: CallOptions): Promise<SupportedResponse>;
}
