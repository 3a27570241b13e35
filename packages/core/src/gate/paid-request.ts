/**
 * A request that carries a readable payment for one of our offers: what every later step works on.
 *
 * @module
 */
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { Reason } from "../protocol/reasons.js";
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { Offer } from "../scheme/offer.js";
import type { ClaimRequest } from "../store/payment-store.js";
import { type Answer, problemAnswer } from "./answer.js";
import { askToPay } from "./ask-to-pay.js";
import type { PricedRoute } from "./parse-routes.js";
import type { Place } from "./place.js";
import type { Settlement } from "./settlement.js";

/** One payment in one request. */
export interface PaidRequest {
  readonly route: PricedRoute;
  readonly offer: Offer;
  readonly payer: string;
  readonly place: Place;
  readonly claim: ClaimRequest;
  /** Absolute URL and method, for challenges. */
  readonly url: string;
  readonly method: string;
  /** What the facilitator is sent, at verification and at settlement. */
  readonly facilitatorRequest: FacilitatorRequest;
}

/** 402: this payment will not do; here is what would. */
export function refusal(paid: PaidRequest, error: string, receipt?: SettlementResponse): Answer {
  const { route, url, method } = paid;
  return askToPay(route, { url, method, error }, { status: 402, receipt });
}

/** What the payer sees when settlement did not end well. */
export function unsettledAnswer(paid: PaidRequest, settlement: Exclude<Settlement, { kind: "settled" }>): Answer {
  if (settlement.kind === "rejected") {
    return refusal(paid, settlement.receipt.errorReason ?? "unexpected_settle_error", settlement.receipt);
  }
  if (settlement.kind === "unsent") return unreachableAnswer("unexpected_settle_error", settlement.retryAfterSeconds);
  return problemAnswer({
    status: 503,
    error: "settlement_pending",
    message:
      "It is not yet known whether the payment was made. Repeat this request with the same PAYMENT-SIGNATURE; do not sign a new payment.",
    retryAfterSeconds: settlement.retryAfterSeconds,
  });
}

/** The facilitator cannot be asked right now. */
export function unreachableAnswer(error: Reason, retryAfterSeconds: number): Answer {
  return problemAnswer({
    status: 503,
    error,
    message:
      "The payment could not be processed right now. Nothing was charged; repeat this request with the same PAYMENT-SIGNATURE.",
    retryAfterSeconds,
  });
}

/** Something failed here, perhaps the memory of what became of this payment before: nothing is said about the money. */
export function undecidedAnswer(retryAfterSeconds: number): Answer {
  return problemAnswer({
    status: 503,
    error: "unexpected_verify_error",
    message:
      "The payment could not be processed right now. Repeat this request with the same PAYMENT-SIGNATURE; do not sign a new payment.",
    retryAfterSeconds,
  });
}

/** Another run has this payment in hand. */
export function inProgressAnswer(): Answer {
  return problemAnswer({
    status: 409,
    error: "payment_in_progress",
    message: "This payment is being served right now. Repeat this request with the same PAYMENT-SIGNATURE.",
    retryAfterSeconds: 1,
  });
}
