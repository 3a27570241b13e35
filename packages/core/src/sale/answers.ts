/**
 * Every response that a client can get in place of the handler's: status, headers and body.
 *
 * A challenge has the body of the protocol. Every other body has an `error`, a reason of the protocol, and a `message` that
 * says what the client can do.
 *
 * @see `docs/reference/responses.md`
 * @module
 */
import type { Denied } from "../events/hooks.js";
import type { InputProblem } from "../extension.js";
import { NO_STORE, privateCacheControl } from "../http/cache-control.js";
import type { AvailableRoute } from "../pricing/available-offers.js";
import type { ChallengeOccasion, WrittenChallenge } from "../pricing/challenge.js";
import { PAGE_DATA, type PaywallDocument, writePlainPage } from "../pricing/paywall.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import {
  EXTENSION_RESPONSES,
  encodeExtensionResponses,
  encodePaymentResponse,
  PAYMENT_ERROR,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
} from "../protocol/headers.js";
import type { Reason } from "../protocol/reasons.js";
import type { BodyProblem } from "../route/request.js";
import type { StoredAnswer } from "../store/payment-store.js";
import type { Outcome } from "./outcome.js";
import type { Settled } from "./settle.js";

/** A whole response, ready to write. */
export interface GateResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string | readonly string[]])[];
  readonly body: string | Uint8Array;
}

/** Names and values of headers. */
export type Headers = readonly (readonly [name: string, value: string])[];

type Payable = Pick<PricedRoute, "available">;

/** A response that may have to wait, because extensions of the route have a say in it. Never rejects. */
export type AwaitedResponse = GateResponse | Promise<GateResponse>;

/** How soon a client may try again when the facilitator does not say. */
export const RETRY_AFTER_SECONDS = 5;

/** By then a load balancer sends the request to another process. */
const SHUTDOWN_RETRY_SECONDS = 1;

/** A facilitator may have to restart before it supports something else. */
const UNAVAILABLE_RETRY_SECONDS = 30;

// 402, and what else asks for a payment

/**
 * Asks a program to pay. 402; 400 if what came is not a payment; 412 if the payer has to approve a transfer first.
 *
 * @param receipt - Of a payment that was refused.
 */
export function challenge(
  { available }: Payable,
  occasion: ChallengeOccasion,
  { status, receipt }: { readonly status: 400 | 402 | 412; readonly receipt?: SettlementResponse | undefined },
): AwaitedResponse {
  const route = available();
  if (route === undefined) return unavailable(receipt);
  if (status === 402 && receipt === undefined && route.askingChallenge === undefined)
    return challengeAlone(route.challenge(occasion));
  return withChallenge(route, occasion, ({ body, header }) =>
    json(status, body, [[PAYMENT_REQUIRED, header], ...receiptHeaders(receipt)]),
  );
}

/** A route sends one challenge again and again. */
const alone = new WeakMap<WrittenChallenge, GateResponse>();

function challengeAlone(written: WrittenChallenge): GateResponse {
  const known = alone.get(written);
  if (known !== undefined) return known;
  const response = json(402, written.body, [[PAYMENT_REQUIRED, written.header]]);
  alone.set(written, response);
  return response;
}

/** Where a page for browsers is written. */
export type WritePage = (
  route: AvailableRoute,
  written: WrittenChallenge,
) => PaywallDocument | Promise<PaywallDocument>;

/** Asks a person with a browser to pay: 402 with the same header, and a page. Rejects only if the page cannot be written. */
export async function challengePage(
  { available }: Payable,
  occasion: ChallengeOccasion,
  write: WritePage = (route, written) => writePlainPage(route, occasion.url, written),
): Promise<GateResponse> {
  const route = available();
  if (route === undefined) return unavailable();
  const written = await withChallenge(route, occasion, (made) => made);
  const { html, policy } = await write(route, written);
  return pageResponse(HTML, html, [
    ["Content-Security-Policy", policy],
    ["Referrer-Policy", "same-origin"],
    [PAYMENT_REQUIRED, written.header],
  ]);
}

/** What a page asks for to be up to date. */
export async function challengeData(
  { available }: Payable,
  occasion: ChallengeOccasion,
  write: (route: AvailableRoute, written: WrittenChallenge) => Promise<string>,
): Promise<GateResponse> {
  const route = available();
  if (route === undefined) return unavailable();
  const written = await withChallenge(route, occasion, (made) => made);
  return pageResponse(PAGE_DATA, await write(route, written), [[PAYMENT_REQUIRED, written.header]]);
}

/** The document in which a page shows HTML that was paid for. It sells nothing, and contains nothing. */
export function viewer({ html, policy }: PaywallDocument): GateResponse {
  return pageResponse(HTML, html, [["Content-Security-Policy", policy]]);
}

const HTML = "text/html; charset=utf-8";

/** Which request headers decide what a browser gets. */
const VARY = "Accept, Accept-Language, Cookie, Sec-Fetch-Mode, User-Agent";

function pageResponse(contentType: string, body: string, headers: Headers): GateResponse {
  return {
    status: 402,
    headers: [
      ["Content-Type", contentType],
      ["Cache-Control", NO_STORE],
      ["Vary", VARY],
      ["X-Content-Type-Options", "nosniff"],
      ...headers,
    ],
    body,
  };
}

/** Writes a challenge. It waits only for extensions that have a say in it. */
function withChallenge<T>(
  { challenge, askingChallenge }: AvailableRoute,
  occasion: ChallengeOccasion,
  respond: (written: WrittenChallenge) => T,
): T | Promise<T> {
  const { request } = occasion;
  if (askingChallenge === undefined || request === undefined) return respond(challenge(occasion));
  return askingChallenge(occasion, request).then(respond);
}

/** The same response with another body. */
export function withBody(response: GateResponse, contentType: string, body: GateResponse["body"]): GateResponse {
  const headers = response.headers.map((header) =>
    header[0] === "Content-Type" ? (["Content-Type", contentType] as const) : header,
  );
  return { ...response, headers, body };
}

/** The scheme documents say 412 for this reason: the payer's tokens may not be moved yet, and a new signature does not help. */
const ALLOWANCE_REQUIRED = "permit2_allowance_required";

/** 402 or 412: this payment is refused, and this is how to pay. */
export function refusal(
  route: Payable,
  occasion: Omit<ChallengeOccasion, "error">,
  error: string,
  receipt?: SettlementResponse,
): AwaitedResponse {
  const status = error === ALLOWANCE_REQUIRED ? 412 : 402;
  return challenge(route, { ...occasion, error }, { status, receipt });
}

/** 503: no facilitator supports any of the route's payment options. Says nothing about money: there may be a payment. */
function unavailable(receipt?: SettlementResponse): GateResponse {
  return problem(
    503,
    "unexpected_verify_error",
    "No payment can be processed for this right now. Repeat this request later.",
    {
      retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
      receipt,
    },
  );
}

// 400 to 429

/** 400: routers may read the path in several ways, whose prices differ. */
export function ambiguousPath(): GateResponse {
  return problem(
    400,
    "ambiguous_path",
    "The path may be read in several ways, whose prices differ. Send it without dots, backslashes and encoded separators.",
  );
}

/** 404: the request reached a handler in a way that none of the handler's prices is for. */
export function unnamedRequest(): GateResponse {
  return problem(404, "denied", "This is not for sale by this method and path. You were not charged.");
}

/** 400: the client disconnected before the whole request was here. */
export function incompleteRequest(): GateResponse {
  return problem(400, "invalid_payload", "The request ended before its body did.");
}

/** 400, 408, 413 or 503: the body cannot be told from other bodies, so nothing is sold for it. */
export function unboundBody(reason: BodyProblem): GateResponse {
  switch (reason) {
    case "too_large":
      return problem(
        413,
        "invalid_input",
        "The body is too large for a payment. You were not charged; send a smaller one.",
      );
    case "no_text":
      return problem(
        400,
        "invalid_input",
        "The body is nested too deeply or too long for a payment. You were not charged; send a simpler one.",
      );
    case "not_kept":
      return problem(
        400,
        "invalid_input",
        "The server cannot tell this body from others. You were not charged; send it as JSON, or ask the seller.",
      );
    case "busy":
      return problem(
        503,
        "unexpected_verify_error",
        "Too many bodies are being read. You were not charged; repeat this request with the same payment.",
        { retryAfterSeconds: 1 },
      );
    case "slow":
      return problem(
        408,
        "invalid_input",
        "The body took too long. You were not charged; repeat this request with the same payment.",
      );
    case "unverified":
      return unreachable("unexpected_verify_error", 1);
    default:
      return reason satisfies never;
  }
}

/** A client that sends more mistakes than this learns of the rest next time. */
const MAX_PROBLEMS = 20;
const MAX_TEXT = 200;

/** 400: the request is invalid, and no payment changes that. */
export function invalidInput(problems: readonly Partial<InputProblem>[]): GateResponse {
  const listed = problems.slice(0, MAX_PROBLEMS).map(({ message = "", at, ...where }) => ({
    ...where,
    ...(at === undefined ? {} : { at: at.slice(0, MAX_TEXT) }),
    message: message.slice(0, MAX_TEXT),
  }));
  const error: Reason = "invalid_input";
  const message = "The request is invalid. You were not charged.";
  return json(400, JSON.stringify({ error, message, problems: listed }), []);
}

/**
 * 400 to 499: a hook of the seller denied. 402 asks for payment.
 *
 * @param receipt - Says that nothing was charged, after the handler has run. Only a 402 has one.
 */
export async function denied(
  { status, message, body }: Denied,
  {
    route,
    occasion,
    receipt,
  }: {
    readonly route: Payable;
    readonly occasion: Omit<ChallengeOccasion, "error">;
    readonly receipt?: SettlementResponse | undefined;
  },
): Promise<GateResponse> {
  const response =
    status === 402
      ? await challenge(route, { ...occasion, error: message }, { status, receipt })
      : problem(status, "denied", message);
  // Not the 503 of a route that nobody can pay for right now.
  if (body === undefined || response.status !== status) return response;
  return withBody(response, body.contentType, body.body);
}

/**
 * 409: another request works on this payment.
 *
 * @param proof - Of a client that is the payer: the header of its retry token.
 */
export function inProgress(proof: Headers = []): GateResponse {
  return problem(
    409,
    "payment_in_progress",
    "This payment is being served right now. Repeat this request with the same payment.",
    { retryAfterSeconds: 1, proof },
  );
}

/** 409: another payment of this payer has the same identifier. */
export function identifierConflict(): GateResponse {
  return problem(
    409,
    "payment_identifier_conflict",
    "Another payment of this payer has this payment-identifier. This one was not charged; give it an identifier of its own.",
  );
}

/** 409: the payer proved to be the payer, but there is no kept response. */
export function responseNotKept(receipt: SettlementResponse | undefined): GateResponse {
  return problem(409, "answer_not_kept", "This payment was settled. Its response is not available.", { receipt });
}

/** 429: one payment has bought enough copies of its response for now. */
export function tooManyCopies(retryAfterSeconds: number): GateResponse {
  return problem(
    429,
    "too_many_copies",
    "The response of this payment was sent too often. Repeat this request later with the same payment; do not sign a new payment.",
    { retryAfterSeconds },
  );
}

/** 429: too many runs of this payer or payment are not charged, or the balance does not suffice for one more. */
export function tooManyPayments(retryAfterSeconds: number): GateResponse {
  return problem(
    429,
    "too_many_payments",
    "Too many payments of this payer are being served, or were abandoned. Repeat this request with the same payment.",
    { retryAfterSeconds },
  );
}

/** 429: this payer's metered responses are not paid for, up to the seller's limit. */
export function tooMuchExposure(): GateResponse {
  return problem(
    429,
    "too_many_payments",
    "Responses of this payer are not settled yet, up to the limit. You were not charged; repeat this request with the same payment.",
    { retryAfterSeconds: 1 },
  );
}

/** 429: the client disconnected too often, and the payment cannot settle before the handler runs. */
export function abandonedTooOften(): GateResponse {
  return problem(
    429,
    "too_many_payments",
    "This payment was abandoned too often: you disconnected before the response. You were not charged; sign a new payment.",
  );
}

// 500 to 504

/** 500: a body parser is missing, so that the request cannot be checked or priced. The seller's mistake. */
export function uncheckedInput(): GateResponse {
  return problem(
    500,
    "unexpected_verify_error",
    "The server cannot read this request's body. You were not charged; check its Content-Type.",
  );
}

/** 500: the seller's `chargeable` failed. The seller's mistake. */
export function notDecided(): GateResponse {
  return problem(
    500,
    "unexpected_settle_error",
    "The server did not say whether this is charged. You were not charged.",
  );
}

/** 500: the handler had to set an amount and did not. The seller's mistake. */
export function amountNotSet(): GateResponse {
  return problem(500, "unexpected_settle_error", "The server did not say what this costs. You were not charged.");
}

/** 500: the handler asked for an amount that cannot be charged, and responded all the same. The seller's mistake. */
export function amountRefused(): GateResponse {
  return problem(
    500,
    "unexpected_settle_error",
    "The server asked for an amount that cannot be charged. You were not charged.",
  );
}

/** 500: a header of the handler's response asks for another amount than the one that would be charged. The seller's mistake. */
export function amountContradicted(): GateResponse {
  return problem(
    500,
    "unexpected_settle_error",
    "The server said in two ways what this costs, and they differ. You were not charged.",
  );
}

/** 500: the handler's response has a shorter body than its head says. Nothing was charged. */
export function cutShort(): GateResponse {
  return problem(500, "unexpected_settle_error", "The response was not complete. You were not charged.");
}

/** 503: the payment could not be verified or settled. Nothing was charged. */
export function unreachable(error: Reason, retryAfterSeconds: number): GateResponse {
  return problem(
    503,
    error,
    "The payment could not be processed right now. You were not charged; repeat this request with the same payment.",
    { retryAfterSeconds },
  );
}

/**
 * 503: something failed here, perhaps the store or a price function. Says nothing about money: an earlier request may have
 * settled.
 */
export function undecided(failed: "request" | "price", hasPayment: boolean): GateResponse {
  const thing = hasPayment ? "payment" : "request";
  const problemText = failed === "price" ? "The price could not be determined" : `The ${thing} could not be processed`;
  const advice = hasPayment
    ? "Repeat this request with the same payment; do not sign a new payment."
    : "Repeat this request later.";
  return problem(503, "unexpected_verify_error", `${problemText} right now. ${advice}`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** 503: this process ends. Another one, or the next, takes the payment. Says nothing about money: an earlier request may have settled. */
export function shuttingDown(): GateResponse {
  return problem(
    503,
    "unexpected_verify_error",
    "The server is shutting down. Repeat this request with the same payment; do not sign a new payment.",
    { retryAfterSeconds: SHUTDOWN_RETRY_SECONDS },
  );
}

/**
 * 503: the money may have moved.
 *
 * @param proof - Of a client that is the payer: the header of its retry token.
 */
export function settlementPending(retryAfterSeconds: number, proof: Headers = []): GateResponse {
  return problem(
    503,
    "settlement_pending",
    "It is not yet known whether the payment settled. Repeat this request with the same payment; do not sign a new payment.",
    { retryAfterSeconds, proof },
  );
}

/** 504: the handler took too long, and the payment can no longer settle. */
export function expired(): GateResponse {
  return problem(
    504,
    "payment_expired",
    "The payment expired before the response was ready. You were not charged; sign a new payment to try again.",
  );
}

/**
 * What a client gets when its payment did not settle.
 *
 * @param proof - Of a client that is the payer: the header of its retry token.
 */
export function notSettled(
  route: Payable,
  occasion: Omit<ChallengeOccasion, "error">,
  settled: Exclude<Settled, { kind: "settled" }>,
  proof: Headers,
): AwaitedResponse {
  switch (settled.kind) {
    case "lost":
    case "overtaken":
      return inProgress(proof);
    case "rejected":
    case "due":
      return refusal(route, occasion, settled.receipt.errorReason ?? "unexpected_settle_error", settled.receipt);
    case "unsent":
      return unreachable("unexpected_settle_error", settled.retryAfterSeconds);
    default:
      return settlementPending((settled satisfies Extract<Outcome, { kind: "unknown" }>).retryAfterSeconds, proof);
  }
}

// The receipt of a metered response, by its URL

/** 200: what was settled, or 402 if that failed. */
export function receiptOf(receipt: SettlementResponse): GateResponse {
  return json(receipt.success ? 200 : 402, JSON.stringify(receipt), receiptHeaders(receipt));
}

/** 202: the response streams, or its settlement is under way. */
export function receiptPending(): GateResponse {
  const message = "It is not yet known what was settled. Ask again.";
  return json(202, JSON.stringify({ error: "settlement_pending", message }), [["Retry-After", "1"]]);
}

/** 404: there is no such receipt, or it was forgotten. */
export function receiptUnknown(): GateResponse {
  return json(404, JSON.stringify({ error: "not_found", message: "There is no such receipt, or no longer." }), []);
}

/** The trailers of a metered response. @param error - Why it ended early. Default: it did not. */
export function streamTrailers(receipt: SettlementResponse | undefined, error?: Reason | undefined): Headers {
  return [...receiptHeaders(receipt), ...(error === undefined ? [] : [[PAYMENT_ERROR, error] as const])];
}

// The handler's response, and its headers

/**
 * A handler's response, given again. Shared caches keep it no more than the first time.
 *
 * @param added - Replaces headers of the handler's that have the same names.
 */
export function replayed(
  { status, headers, body }: StoredAnswer,
  added: Headers,
  { isPaid }: { readonly isPaid: boolean },
): GateResponse {
  const isNamed = (name: string) => (header: StoredAnswer["headers"][number]) => header[0].toLowerCase() === name;
  const cacheControl = headers.filter(isNamed("cache-control")).flatMap(([, value]) => value);
  const replaced = [
    ...added,
    ...(isPaid ? [["Cache-Control", privateCacheControl(cacheControl.join(", "))] as const] : []),
  ];
  const kept = headers.filter(([name]) => !replaced.some(([other]) => other.toLowerCase() === name.toLowerCase()));
  return { status, headers: [...kept, ...replaced], body };
}

/**
 * The headers of a paid response: the receipt, and what a facilitator said about listing the route. A header for all paid
 * responses is added here.
 *
 * @param added - Of the hook `onPaid`.
 */
export function paidHeaders(
  receipt: SettlementResponse,
  listing?: ExtensionResponses | undefined,
  added: Headers = [],
): Headers {
  return [
    ...added,
    [PAYMENT_RESPONSE, encodePaymentResponse(receipt)],
    ...(listing === undefined ? [] : [[EXTENSION_RESPONSES, encodeExtensionResponses(listing)] as const]),
  ];
}

/** A receipt. Refusals have one, too. */
function receiptHeaders(receipt: SettlementResponse | undefined): Headers {
  return receipt === undefined ? [] : [[PAYMENT_RESPONSE, encodePaymentResponse(receipt)]];
}

/** The receipt of a response that is not charged. */
export function notChargedHeaders(payer: string, network: string): Headers {
  return receiptHeaders(notChargedReceipt(payer, network));
}

/** The receipt itself. */
export function notChargedReceipt(payer: string, network: string): SettlementResponse {
  return { success: false, errorReason: "not_charged", payer, transaction: "", network };
}

/** The receipt of a payment that a hook refused to settle. */
export function deniedReceipt({ message, receiptMessage }: Denied, payer: string, network: string): SettlementResponse {
  const errorReason = printable(message);
  const errorMessage = receiptMessage === undefined ? {} : { errorMessage: printable(receiptMessage) };
  return { success: false, errorReason, ...errorMessage, payer, transaction: "", network };
}

/** Clients may log it, or show it on a terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\x21-\x7e]+/g, " ");
}

/** A response about a payment that is not a challenge. */
function problem(
  status: number,
  error: Reason,
  message: string,
  more: {
    readonly retryAfterSeconds?: number;
    readonly receipt?: SettlementResponse | undefined;
    readonly proof?: Headers;
  } = {},
): GateResponse {
  const { retryAfterSeconds, receipt, proof = [] } = more;
  const retryAfter: Headers = retryAfterSeconds === undefined ? [] : [["Retry-After", String(retryAfterSeconds)]];
  return json(status, JSON.stringify({ error, message }), [...retryAfter, ...receiptHeaders(receipt), ...proof]);
}

function json(status: number, body: string, headers: Headers): GateResponse {
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
