/**
 * Errors thrown here. They are for developers: a stranger's bad request is never an exception, it is a value.
 *
 * @module
 */

/** Stable codes. Adding one is a minor release, renaming or removing one a major. Each has a heading in `docs/reference/errors.md`. */
export type FareboxErrorCode =
  | "ERR_FAREBOX_CONFIG"
  | "ERR_FAREBOX_FACILITATOR_UNREACHABLE"
  | "ERR_FAREBOX_FACILITATOR_TIMEOUT"
  | "ERR_FAREBOX_FACILITATOR_STATUS"
  | "ERR_FAREBOX_FACILITATOR_RESPONSE"
  | "ERR_FAREBOX_FACILITATOR_UNAVAILABLE"
  | "ERR_FAREBOX_PAYMENT_ABORTED"
  | "ERR_FAREBOX_AMOUNT"
  | "ERR_FAREBOX_STATE"
  | "ERR_FAREBOX_RPC"
  | "ERR_FAREBOX_CHAIN"
  | "ERR_FAREBOX_LOCAL_CHAIN"
  | "ERR_FAREBOX_PAYER"
  | "ERR_FAREBOX_STORE"
  | "ERR_FAREBOX_DISCOVERY";

/** Base of every error thrown here. Branch on {@link FareboxError.code}, not on `message` or `instanceof`. */
export abstract class FareboxError extends Error {
  abstract readonly code: FareboxErrorCode;
}

/** One thing that is wrong with a configuration. */
export interface ConfigIssue {
  /** Where, as a path into what was passed, e.g. `routes["GET /weather"].accepts[0].price`. */
  readonly path: string;
  /** What would be right, e.g. `a decimal string such as "$0.01"`. */
  readonly expected: string;
  /** What was found, shortened to 80 characters. Secrets are never put here. */
  readonly received: string;
}

/** A configuration that cannot work. Thrown at start-up, with every issue at once. */
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

/** The codes of calls to a facilitator that yielded no answer. */
export type FacilitatorErrorCode = Extract<FareboxErrorCode, `ERR_FAREBOX_FACILITATOR_${string}`>;

/** What is known about a failed facilitator call, besides its message. */
export interface FacilitatorFailure {
  readonly code: FacilitatorErrorCode;
  readonly operation: "verify" | "settle" | "supported";
  readonly outcome: "none" | "unknown";
  readonly status?: number;
  /** How long the facilitator asked to be left alone. */
  readonly retryAfterSeconds?: number;
}

/**
 * A facilitator call that did not yield an answer.
 *
 * `outcome` is what a seller may conclude about the money. `"none"`: provably nothing happened, because the request
 * never left or was refused. `"unknown"`: the transfer may have been broadcast, so the call must not be repeated
 * elsewhere and the payer must not be told that it failed.
 */
export class FacilitatorError extends FareboxError {
  override readonly name = "FacilitatorError";
  override readonly code: FacilitatorErrorCode;
  readonly operation: "verify" | "settle" | "supported";
  readonly outcome: "none" | "unknown";
  readonly status: number | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, failure: FacilitatorFailure, options?: ErrorOptions) {
    super(message, options);
    this.code = failure.code;
    this.operation = failure.operation;
    this.outcome = failure.outcome;
    this.status = failure.status;
    this.retryAfterSeconds = failure.retryAfterSeconds;
  }
}

/**
 * Why a question to a node has no answer. `refused`: the node says so itself. `status`: HTTP says so. `too_large`: there
 * is more of the answer than is read. `given_up`: whoever asked does not wait any longer.
 */
export type RpcProblem = "unreachable" | "timeout" | "given_up" | "status" | "too_large" | "unreadable" | "refused";

/**
 * A question to a node that yielded no answer, or none that is one. Says nothing of the URL, which may hold a key, and
 * nothing of what the node wrote; so there is no `cause` either.
 */
export class RpcError extends FareboxError {
  override readonly name = "RpcError";
  override readonly code = "ERR_FAREBOX_RPC";
  readonly problem: RpcProblem;
  /** The HTTP status, where that is the problem. */
  readonly status: number | undefined;

  constructor(message: string, problem: RpcProblem, status?: number) {
    super(message);
    this.problem = problem;
    this.status = status;
  }
}

/** Why a handler is told to stop: its client has left, or its payment cannot be settled any more. */
export type PaymentAbortReason = "client_gone" | "expired";

const ABORT_MESSAGES: Readonly<Record<PaymentAbortReason, string>> = {
  client_gone: "the client left before the answer was delivered",
  expired: "the payment ran out before the answer was ready; it is not charged",
};

/** The reason of `req.payment.signal`: nothing has failed, but there is no point in going on. */
export class PaymentAbortedError extends FareboxError {
  override readonly name = "PaymentAbortedError";
  override readonly code = "ERR_FAREBOX_PAYMENT_ABORTED";
  readonly reason: PaymentAbortReason;

  constructor(reason: PaymentAbortReason) {
    super(ABORT_MESSAGES[reason]);
    this.reason = reason;
  }
}

/** A handler says how much is to be taken, and it is no amount, or too much. Nothing is charged if it is not caught. */
export class AmountError extends FareboxError {
  override readonly name = "AmountError";
  override readonly code = "ERR_FAREBOX_AMOUNT";

  constructor(received: unknown, expected: string) {
    super(`amount: expected ${expected}, received ${describeValue(received)}`);
  }
}

/** Something was called out of order, e.g. `settle` on a payment that has ended. A fault of the calling code. */
export class StateError extends FareboxError {
  override readonly name = "StateError";
  override readonly code = "ERR_FAREBOX_STATE";
}

/** An address has up to 58 characters; whatever is longer may be a key in the wrong place, and is not quoted. */
const MAX_QUOTED = 60;

/** Quotes a value for an error message, if it is short; never throws, whatever it is given. */
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
