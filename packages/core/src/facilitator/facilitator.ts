/**
 * The interface of a facilitator: three calls, in this process or over HTTP.
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

/** The options of each call. */
export interface CallOptions {
  /** Aborted when the caller gives up. A facilitator that can stop its work should stop then. */
  readonly signal?: AbortSignal;
}

/** Verifies and settles payments. A refusal is a response; a call without a valid response rejects with a `FacilitatorError`. */
export interface Facilitator {
  /** Checks whether the payment would settle now. Moves no money. */
  verify(request: FacilitatorRequest, options?: CallOptions): Promise<VerifyResponse>;
  /** Moves the money. Never resolves with `success: true` twice for one authorization. */
  settle(request: FacilitatorRequest, options?: CallOptions): Promise<SettlementResponse>;
  /** Lists the schemes and networks that this facilitator can verify and settle. */
  supported(options?: CallOptions): Promise<SupportedResponse>;
}
