/**
 * PaymentPayload: the payment, sent by the client with the repeated request.
 *
 * @see x402 v2 §5.2
 * @module
 */
import type { AcceptedRequirements, PaymentRequirements } from "./payment-requirements.js";
import type { ResourceInfo } from "./resource-info.js";

/** A payment as a client sends it. Everything in it is a stranger's word. */
export interface PaymentPayload {
  readonly x402Version: 2;
  readonly accepted: AcceptedRequirements;
  /** What the scheme makes of it; only the scheme knows its shape. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** The client's echo of the challenge's resource. Never trusted, never passed on. */
  readonly resource?: unknown;
  /** The client's echo of the challenge's extensions, with its additions. */
  readonly extensions?: Readonly<Record<string, unknown>> | null;
}

/** A payment as a facilitator gets it: the scheme's payload is the client's, everything else is ours. */
export interface CanonicalPayment {
  readonly x402Version: 2;
  readonly accepted: PaymentRequirements;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly resource?: ResourceInfo;
  readonly extensions?: Readonly<Record<string, unknown>>;
}
