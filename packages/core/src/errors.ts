/**
 * The errors that Farebox throws. They are for developers: a client's invalid request is a value, never an exception.
 *
 * @module
 */

/** Stable codes, each with a heading in `docs/reference/errors.md`. Adding one is a minor release; renaming or removing one is a major. */
export type FareboxErrorCode =
  | "ERR_FAREBOX_CONFIG"
  | "ERR_FAREBOX_FACILITATOR_UNREACHABLE"
  | "ERR_FAREBOX_FACILITATOR_TIMEOUT"
  | "ERR_FAREBOX_FACILITATOR_STATUS"
  | "ERR_FAREBOX_FACILITATOR_RESPONSE"
  | "ERR_FAREBOX_FACILITATOR_UNAVAILABLE"
  | "ERR_FAREBOX_PAYMENT_ABORTED"
  | "ERR_FAREBOX_AMOUNT"
  | "ERR_FAREBOX_PRICE"
  | "ERR_FAREBOX_STATE"
  | "ERR_FAREBOX_RESPONSE"
  | "ERR_FAREBOX_BODY_NOT_PARSED"
  | "ERR_FAREBOX_SCHEME"
  | "ERR_FAREBOX_RPC"
  | "ERR_FAREBOX_CHAIN"
  | "ERR_FAREBOX_LOCAL_CHAIN"
  | "ERR_FAREBOX_PAYER"
  | "ERR_FAREBOX_STORE"
  | "ERR_FAREBOX_LEDGER"
  | "ERR_FAREBOX_DISCOVERY";

/** Base class of all errors. Branch on {@link FareboxError.code}, not on `message` or `instanceof`. */
export abstract class FareboxError extends Error {
  abstract readonly code: FareboxErrorCode;
}

/** One mistake in a configuration. */
export interface ConfigIssue {
  /** The place in the options, e.g. `routes["GET /weather"].accepts[0].price`. */
  readonly path: string;
  /** A description of valid values, e.g. `a decimal string such as "$0.01"`. */
  readonly expected: string;
  /** The value that was found, in at most 80 characters. Never a secret. */
  readonly received: string;
}

/** An invalid configuration. Thrown at start-up, with every issue at once. */
export class ConfigError extends FareboxError {
  override readonly name = "ConfigError";
  override readonly code = "ERR_FAREBOX_CONFIG";
  readonly issues: readonly ConfigIssue[];

  constructor(issues: readonly ConfigIssue[], options?: ErrorOptions) {
    const lines = issues.map((issue) => `${issue.path}: expected ${issue.expected}, received ${issue.received}`);
    super(lines.join("\n"), options);
    this.issues = issues;
  }
}

/** The codes of failed calls to a facilitator. */
export type FacilitatorErrorCode = Extract<FareboxErrorCode, `ERR_FAREBOX_FACILITATOR_${string}`>;

/** The fields of a {@link FacilitatorError}. */
export interface FacilitatorFailure {
  readonly code: FacilitatorErrorCode;
  readonly operation: "verify" | "settle" | "supported";
  readonly outcome: "none" | "unknown";
  readonly status?: number;
  /** The facilitator's `Retry-After`, 0 to 3600. */
  readonly retryAfterSeconds?: number;
  /** Its name in the pool: the host of its URL, unless the seller named it. */
  readonly facilitator?: string;
  /**
   * What it said about its refusal, or where it redirected to: at most 200 printable ASCII characters, without other URLs, keys, and your
   * headers. For your log, not for clients.
   */
  readonly says?: string;
}

/**
 * A call to a facilitator without a valid response.
 *
 * `outcome` says what happened to the money:
 *
 * - `"none"`: provably nothing. A `settle` was not sent; other calls move no money.
 * - `"unknown"`: it may have moved. Do not settle with another facilitator, and do not tell the payer that it failed.
 */
export class FacilitatorError extends FareboxError {
  override readonly name = "FacilitatorError";
  override readonly code: FacilitatorErrorCode;
  readonly operation: "verify" | "settle" | "supported";
  readonly outcome: "none" | "unknown";
  readonly status: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly facilitator: string | undefined;
  /** As {@link FacilitatorFailure.says}. */
  readonly says: string | undefined;

  constructor(message: string, failure: FacilitatorFailure, options?: ErrorOptions) {
    super(message, options);
    this.code = failure.code;
    this.operation = failure.operation;
    this.outcome = failure.outcome;
    this.status = failure.status;
    this.retryAfterSeconds = failure.retryAfterSeconds;
    this.facilitator = failure.facilitator;
    this.says = failure.says;
  }
}

/**
 * Why a request to a node failed.
 *
 * - `unreachable`, `timeout`: no response, or not in time.
 * - `given_up`: the caller aborted it.
 * - `status`: an HTTP error status.
 * - `too_large`, `unreadable`: the response is too long, or invalid.
 * - `refused`: the node responded with an error.
 */
export type RpcProblem = "unreachable" | "timeout" | "given_up" | "status" | "too_large" | "unreadable" | "refused";

/** A failed request to a node. Quotes neither the URL, which may hold a key, nor the node, and has no `cause`. */
export class RpcError extends FareboxError {
  override readonly name = "RpcError";
  override readonly code = "ERR_FAREBOX_RPC";
  readonly problem: RpcProblem;
  /** The HTTP status if `problem` is `"status"`. */
  readonly status: number | undefined;

  constructor(message: string, problem: RpcProblem, status?: number) {
    super(message);
    this.problem = problem;
    this.status = status;
  }
}

/**
 * Why a handler should stop.
 *
 * - `client_gone`: its client disconnected.
 * - `expired`: its payment can no longer settle.
 * - `limit`: a metered response has used up what the payer authorized.
 * - `unrecorded`: what a metered response costs cannot be recorded, because the store fails, another process has taken over, or the handler
 *   asked for what is no amount.
 * - `exposure`: streams that are not paid for come to what the option `exposure` allows.
 */
export type PaymentAbortReason = "client_gone" | "expired" | "limit" | "unrecorded" | "exposure";

const ABORT_MESSAGES: Readonly<Record<PaymentAbortReason, string>> = {
  client_gone: "the client disconnected before the response was delivered",
  expired: "the payment expired before the response was complete",
  limit: "what the payer authorized is used up, and the response ends here",
  unrecorded: "what the response costs cannot be recorded, and the response ends here",
  exposure: "as much is unpaid as the seller allows, and the response ends here",
};

/** The reason of `req.payment.signal`. Nothing has failed, but the handler's work is no longer needed. */
export class PaymentAbortedError extends FareboxError {
  override readonly name = "PaymentAbortedError";
  override readonly code = "ERR_FAREBOX_PAYMENT_ABORTED";
  readonly reason: PaymentAbortReason;

  constructor(reason: PaymentAbortReason) {
    super(ABORT_MESSAGES[reason]);
    this.reason = reason;
  }
}

/** The amount that a handler passes is invalid, or more than authorized. If the error is not caught, nothing is charged. */
export class AmountError extends FareboxError {
  override readonly name = "AmountError";
  override readonly code = "ERR_FAREBOX_AMOUNT";

  constructor(received: unknown, expected: string) {
    super(`amount: expected ${expected}, received ${describeValue(received)}`);
  }
}

/** A price that cannot be sold, or cannot be computed exactly. Clients get 503, and nothing is charged. */
export class PriceError extends FareboxError {
  override readonly name = "PriceError";
  override readonly code = "ERR_FAREBOX_PRICE";

  constructor(received: unknown, expected: string, what = "price") {
    super(`${what}: expected ${expected}, received ${describeValue(received)}`);
  }
}

/** A call in the wrong order, e.g. `settle` on a payment that has ended. A mistake in the calling code. */
export class StateError extends FareboxError {
  override readonly name = "StateError";
  override readonly code = "ERR_FAREBOX_STATE";
}

/** A response that cannot be sent, passed to `settle` of a sale by hand. Nothing is charged, and the payment was released. */
export class ResponseError extends FareboxError {
  override readonly name = "ResponseError";
  override readonly code = "ERR_FAREBOX_RESPONSE";

  constructor(path: string, expected: string, received: unknown, options?: ErrorOptions) {
    super(`${path}: expected ${expected}, received ${describeValue(received)}`, options);
  }
}

/**
 * A store that cannot be used, or that breaks the contract of `PaymentStore`. The message says what to do. It quotes no payment; `cause`
 * is there only if it quotes none either.
 */
export class StoreError extends FareboxError {
  override readonly name = "StoreError";
  override readonly code = "ERR_FAREBOX_STORE";
}

/**
 * Why the ledger refuses.
 *
 * - `unknown`: there is no such entry.
 * - `amount`: all refunds together would be more than was paid.
 * - `conflict`: the transaction is marked with another amount.
 */
export type LedgerProblem = "unknown" | "amount" | "conflict";

/** A refund that cannot be marked. Nothing was changed. */
export class LedgerError extends FareboxError {
  override readonly name = "LedgerError";
  override readonly code = "ERR_FAREBOX_LEDGER";
  readonly problem: LedgerProblem;

  constructor(message: string, problem: LedgerProblem) {
    super(message);
    this.problem = problem;
  }
}

/** A price or recipient function read `body`, and no body parser had read the body that the client sent. */
export class BodyNotParsedError extends FareboxError {
  override readonly name = "BodyNotParsedError";
  override readonly code = "ERR_FAREBOX_BODY_NOT_PARSED";

  constructor(route: string) {
    super(
      `${route}: its price depends on the body, which no parser has read. Mount express.json() before the payments`,
    );
  }
}

/** A scheme of the seller's own breaks the contract of `Scheme`. Clients get 503, and nothing is charged. The message quotes no payment. */
export class SchemeError extends FareboxError {
  override readonly name = "SchemeError";
  override readonly code = "ERR_FAREBOX_SCHEME";
}

/** An address has up to 58 characters. A longer text may be a misplaced key and is not quoted. */
const MAX_QUOTED = 60;

/** Describes a value for an error message, in at most 80 characters: `"$1"`, `a function`. Never throws, for any value. */
export function describeValue(value: unknown): string {
  const text = typeof value === "string" ? describeText(value) : describeOther(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function describeText(text: string): string {
  return isLong(text) ? `a text of ${text.length} characters` : JSON.stringify(text);
}

function isLong(value: unknown): value is string {
  return typeof value === "string" && value.length > MAX_QUOTED;
}

function describeOther(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "function") return "a function";
  if (typeof value !== "object") return String(value);
  try {
    return JSON.stringify(value, (_, field) => (isLong(field) ? "…" : field)) ?? "an object";
  } catch {
    return "an object";
  }
}
