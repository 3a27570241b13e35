/**
 * A request that carries a readable payment for one of our offers: what every later step works on.
 *
 * @module
 */
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import type { Reason } from "../protocol/reasons.js";
import type { Offer } from "../scheme/offer.js";
import type { Settlement, UnsettledPayment } from "./outcome.js";
import type { PricedRoute } from "./parse-routes.js";
import type { Place } from "./resource.js";
import { askToPay, type GateResponse, problemAnswer } from "./responses.js";

/** One payment in one request. */
export interface PaidRequest extends UnsettledPayment {
  readonly route: PricedRoute;
  readonly offer: Offer;
  readonly place: Place;
  /** What the facilitator said of our declarations when it verified. */
  readonly said?: ExtensionResponses | undefined;
  /** Absolute URL and method, for challenges. */
  readonly url: string;
  readonly method: string;
  /** The client's address, if it is known for certain. */
  readonly client: string | undefined;
}

/** The payer's tokens are not allowed to be moved yet; another signature would not help. As the scheme documents have it: 412. */
const ALLOWANCE_REQUIRED = "permit2_allowance_required";

/** 402: this payment will not do; here is what would. */
export function refusal(paid: PaidRequest, error: string, receipt?: SettlementResponse): GateResponse {
  const { route, url, method, place } = paid;
  return askToPay(
    route,
    { url, method, error, locate: () => place },
    { status: error === ALLOWANCE_REQUIRED ? 412 : 402, receipt },
  );
}

/** What the payer sees when settlement did not end well. */
export function unsettledAnswer(paid: PaidRequest, settlement: Exclude<Settlement, { kind: "settled" }>): GateResponse {
  if (settlement.kind === "rejected") {
    return refusal(paid, settlement.receipt.errorReason ?? "unexpected_settle_error", settlement.receipt);
  }
  if (settlement.kind === "unsent") return unreachableAnswer("unexpected_settle_error", settlement.retryAfterSeconds);
  return problemAnswer({
    status: 503,
    error: "settlement_pending",
    message:
      "It is not yet known whether the payment was made. Repeat this request with the same payment; do not sign a new payment.",
    retryAfterSeconds: settlement.retryAfterSeconds,
  });
}

/** The facilitator cannot be asked right now. */
export function unreachableAnswer(error: Reason, retryAfterSeconds: number): GateResponse {
  return problemAnswer({
    status: 503,
    error,
    message:
      "The payment could not be processed right now. Nothing was charged; repeat this request with the same payment.",
    retryAfterSeconds,
  });
}

/** Something failed here, perhaps the memory of what became of this payment before: nothing is said about the money. */
export function undecidedAnswer(retryAfterSeconds: number): GateResponse {
  return problemAnswer({
    status: 503,
    error: "unexpected_verify_error",
    message:
      "The payment could not be processed right now. Repeat this request with the same payment; do not sign a new payment.",
    retryAfterSeconds,
  });
}

/** Another payment came with the id of this one. */
export function identifierTakenAnswer(): GateResponse {
  return problemAnswer({
    status: 409,
    error: "payment_identifier_conflict",
    message: "Another payment has this payment-identifier. Nothing was charged for this one; give it an id of its own.",
  });
}

/** The payer can prove to be the payer, but the answer is gone. */
export function answerNotKeptAnswer(receipt: SettlementResponse | undefined): GateResponse {
  return problemAnswer({
    status: 409,
    error: "answer_not_kept",
    message:
      "This payment was made and answered before. Its answer was too large to keep, or has been kept long enough.",
    receipt,
  });
}

/** A payer has as many handlers at work as are allowed. */
export function tooManyRunsAnswer(): GateResponse {
  return problemAnswer({
    status: 429,
    error: "too_many_payments",
    message: "Too many payments of this payer are being served. Repeat this request with the same payment.",
    retryAfterSeconds: 1,
  });
}

/** The client left before its request was here. Nobody reads this. */
export function incompleteRequestAnswer(): GateResponse {
  return problemAnswer({ status: 400, error: "invalid_payload", message: "The request ended before its body did." });
}

/** Another run has this payment in hand. */
export function inProgressAnswer(): GateResponse {
  return problemAnswer({
    status: 409,
    error: "payment_in_progress",
    message: "This payment is being served right now. Repeat this request with the same payment.",
    retryAfterSeconds: 1,
  });
}
