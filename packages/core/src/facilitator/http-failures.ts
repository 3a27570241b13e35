/**
 * What may be concluded about the money when a facilitator behind HTTP gives no answer.
 *
 * @module
 */
import type { IncomingHttpHeaders } from "node:http";
import { FacilitatorError } from "../errors.js";
import { causeCode } from "../http/cause-code.js";
import { readRetryAfter } from "./retry-after.js";

/** The three calls. */
export type Operation = "verify" | "settle" | "supported";

/** By these statuses a server refuses a request before it acts on it. */
const REFUSED_UNREAD: readonly number[] = [401, 403, 404, 405, 413, 415, 429];

/** A request that could not be sent, or got no response. The message names the cause's code, never a URL or a header. */
export function failedToSend(operation: Operation, { sent, cause }: Unanswered): FacilitatorError {
  return new FacilitatorError(
    `facilitator could not be reached for ${operation} (${causeCode(cause)})`,
    { code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE", operation, outcome: sent ? lostOutcome(operation) : "none" },
    { cause },
  );
}

interface Unanswered {
  /** Whether somebody may have read the request. */
  readonly sent: boolean;
  readonly cause: Error;
}

/** Headers that could not be had, so that nothing was sent. Without a `cause`: it may quote what is secret. */
export function headersMissing(operation: Operation, error: unknown): FacilitatorError {
  return new FacilitatorError(`headers for ${operation} could not be had, so nothing was sent (${causeCode(error)})`, {
    code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
    operation,
    outcome: "none",
  });
}

/** Nobody was asked. */
export function unavailable(operation: Operation, why: string, retryAfterSeconds?: number): FacilitatorError {
  return new FacilitatorError(`nobody was asked to ${operation}: ${why}`, {
    code: "ERR_FAREBOX_FACILITATOR_UNAVAILABLE",
    operation,
    outcome: "none",
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** A status that is no answer. */
export function refusedStatus(operation: Operation, { status, headers, isRedirected }: Refusal): FacilitatorError {
  const retryAfterSeconds = readRetryAfter(headers["retry-after"]);
  return new FacilitatorError(`facilitator answered ${operation} with status ${status}`, {
    code: "ERR_FAREBOX_FACILITATOR_STATUS",
    operation,
    // Whoever answers after a redirect cannot speak for the one who redirected.
    outcome: REFUSED_UNREAD.includes(status) && !isRedirected ? "none" : lostOutcome(operation),
    status,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

interface Refusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly isRedirected: boolean;
}

/** A response of a good status that says nothing we understand, or breaks off. */
export function unreadable(operation: Operation, cause?: unknown): FacilitatorError {
  return new FacilitatorError(
    `facilitator's answer to ${operation} is not one`,
    { code: "ERR_FAREBOX_FACILITATOR_RESPONSE", operation, outcome: lostOutcome(operation) },
    cause === undefined ? undefined : { cause },
  );
}

/** Only a settlement moves money; a lost answer to anything else loses nothing. */
function lostOutcome(operation: Operation): "none" | "unknown" {
  return operation === "settle" ? "unknown" : "none";
}
