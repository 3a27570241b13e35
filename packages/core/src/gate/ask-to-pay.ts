/**
 * What a request gets that has to pay, or to pay again: the challenge, as long as there is a way to pay.
 *
 * @module
 */
import type { SettlementResponse } from "../protocol/documents.js";
import { type Answer, type ChallengeStatus, challengeAnswer, pageAnswer, problemAnswer } from "./answer.js";
import type { ChallengeOccasion } from "./challenge.js";
import type { OnSale } from "./on-sale.js";
import { writePaywall } from "./paywall.js";

/** A route, as far as it can be paid for. */
interface Sold {
  readonly onSale: () => OnSale | undefined;
}

/** How soon a facilitator may support something else: a restart of it, say. */
const RETRY_AFTER_SECONDS = 30;

/** The challenge, for programs. */
export function askToPay(
  { onSale }: Sold,
  occasion: ChallengeOccasion,
  { status, receipt }: { readonly status: ChallengeStatus; readonly receipt?: SettlementResponse | undefined },
): Answer {
  const sale = onSale();
  return sale === undefined ? notOnSaleAnswer(receipt) : challengeAnswer(status, sale.challenge(occasion), receipt);
}

/** The challenge, as a page. */
export function askPersonToPay({ onSale }: Sold, occasion: ChallengeOccasion): Answer {
  const sale = onSale();
  if (sale === undefined) return notOnSaleAnswer();
  const written = sale.challenge(occasion);
  return pageAnswer(written, writePaywall(sale, occasion.url, written));
}

/** A challenge without a way to pay is none. Nothing is said about money: the request may have had a payment. */
function notOnSaleAnswer(receipt?: SettlementResponse): Answer {
  return problemAnswer({
    status: 503,
    error: "unexpected_verify_error",
    message: "No payment can be processed for this right now. Repeat this request later.",
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    receipt,
  });
}
