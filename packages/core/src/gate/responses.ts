/**
 * Responses that the gate gives in place of the handler's, challenges first.
 *
 * @see `docs/reference/responses.md`
 *
 * @module
 */
import type { InputProblem } from "../extension.js";
import { NO_STORE, privateCacheControl } from "../http/cache-control.js";
import type { SettlementResponse } from "../protocol/documents.js";
import { encodePaymentResponse, PAYMENT_REQUIRED, PAYMENT_RESPONSE } from "../protocol/headers.js";
import type { Reason } from "../protocol/reasons.js";
import type { StoredAnswer } from "../store/payment-store.js";
import type { OnSale } from "./available-offers.js";
import type { ChallengeOccasion, WrittenChallenge } from "./challenge.js";
import { PAYWALL_POLICY, writePaywall } from "./paywall.js";

/** A whole answer, ready to write. */
export interface GateResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string | readonly string[]])[];
  readonly body: string | Uint8Array;
}

/** 402; 400 where what was sent is no payment at all; 412 where the payer has to allow a transfer first. */
export type ChallengeStatus = 400 | 402 | 412;

/** The challenge, as header and as body. */
function challengeAnswer(
  status: ChallengeStatus,
  challenge: WrittenChallenge,
  receipt?: SettlementResponse,
): GateResponse {
  return jsonAnswer(status, challenge.body, [[PAYMENT_REQUIRED, challenge.header], ...receiptHeaders(receipt)]);
}

/** 402 for a person with a browser: the same challenge in the header, a page as body. */
function pageAnswer(challenge: WrittenChallenge, page: string): GateResponse {
  return {
    status: 402,
    headers: [
      ["Content-Type", "text/html; charset=utf-8"],
      ["Cache-Control", NO_STORE],
      ["Content-Security-Policy", PAYWALL_POLICY],
      ["X-Content-Type-Options", "nosniff"],
      [PAYMENT_REQUIRED, challenge.header],
    ],
    body: page,
  };
}

/** An answer about a payment that is not a challenge: nothing in it invites the client to sign again. */
export function problemAnswer(problem: {
  /** Anything but 402. */
  readonly status: number;
  readonly error: Reason;
  /** What the client can do, in a sentence. */
  readonly message: string;
  readonly retryAfterSeconds?: number;
  readonly receipt?: SettlementResponse | undefined;
}): GateResponse {
  const { status, error, message, retryAfterSeconds, receipt } = problem;
  const headers: [string, string][] =
    retryAfterSeconds === undefined ? [] : [["Retry-After", String(retryAfterSeconds)]];
  return jsonAnswer(status, JSON.stringify({ error, message }), [...headers, ...receiptHeaders(receipt)]);
}

/** 400: nobody knows what this path would cost. */
export function ambiguousAnswer(): GateResponse {
  return problemAnswer({
    status: 400,
    error: "ambiguous_path",
    message:
      "The path may be read in several ways, whose prices differ. Send it without dots, backslashes and encoded separators.",
  });
}

/** Enough to mend a request by; whoever sends more that is wrong hears of the rest next time. */
const MAX_PROBLEMS = 20;
const MAX_TEXT = 200;

/** 400: what was asked for cannot be had, whatever is paid. */
export function invalidInputAnswer(problems: readonly Partial<InputProblem>[]): GateResponse {
  const told = problems.slice(0, MAX_PROBLEMS).map(({ message = "", at, ...where }) => ({
    ...where,
    ...(at === undefined ? {} : { at: at.slice(0, MAX_TEXT) }),
    message: message.slice(0, MAX_TEXT),
  }));
  const message = "The request is not what it has to be. Nothing was charged.";
  return jsonAnswer(400, JSON.stringify({ error: "invalid_input" satisfies Reason, message, problems: told }), []);
}

/**
 * A handler's answer, given again. What was paid for is no more for shared caches than it was the first time.
 *
 * @param added - Goes on it in place of what the handler may have written there.
 */
export function replayAnswer(
  { status, headers, body }: StoredAnswer,
  added: readonly (readonly [string, string])[],
  { paid }: { readonly paid: boolean },
): GateResponse {
  const isNamed = (name: string) => (header: StoredAnswer["headers"][number]) => header[0].toLowerCase() === name;
  const cacheControl = headers.filter(isNamed("cache-control")).flatMap(([, value]) => value);
  const replaced = [
    ...added,
    ...(paid ? [["Cache-Control", privateCacheControl(cacheControl.join(", "))] as const] : []),
  ];
  const kept = headers.filter(([name]) => !replaced.some(([other]) => other.toLowerCase() === name.toLowerCase()));
  return { status, headers: [...kept, ...replaced], body };
}

/** What goes on an answer that was paid for. */
export function receiptHeaders(receipt: SettlementResponse | undefined): readonly (readonly [string, string])[] {
  return receipt === undefined ? [] : [[PAYMENT_RESPONSE, encodePaymentResponse(receipt)]];
}

function jsonAnswer(status: number, body: string, headers: readonly (readonly [string, string])[]): GateResponse {
  return {
    status,
    headers: [
      ["Content-Type", "application/json; charset=utf-8"],
      ["Cache-Control", NO_STORE],
      ["X-Content-Type-Options", "nosniff"],
      ...headers,
    ],
    body,
  };
}

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
): GateResponse {
  const sale = onSale();
  return sale === undefined ? notOnSaleAnswer(receipt) : challengeAnswer(status, sale.challenge(occasion), receipt);
}

/** The challenge, as a page. */
export function askPersonToPay({ onSale }: Sold, occasion: ChallengeOccasion): GateResponse {
  const sale = onSale();
  if (sale === undefined) return notOnSaleAnswer();
  const written = sale.challenge(occasion);
  return pageAnswer(written, writePaywall(sale, occasion.url, written));
}

/** A challenge without a way to pay is none. Nothing is said about money: the request may have had a payment. */
function notOnSaleAnswer(receipt?: SettlementResponse): GateResponse {
  return problemAnswer({
    status: 503,
    error: "unexpected_verify_error",
    message: "No payment can be processed for this right now. Repeat this request later.",
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    receipt,
  });
}
