/**
 * Responses of facilitators: those that count, and what a missing one says about the money.
 *
 * Real facilitators send `snake_case` reasons, missing fields and nulls. A response that does not say clearly how the call ended
 * does not count.
 *
 * @see `docs/background/protocol-notes.md`, "The wire"; RFC 9110 §10.2.3 for `Retry-After`
 *
 * @module
 */

import type { IncomingHttpHeaders } from "node:http";
import { FacilitatorError } from "../errors.js";
import { causeCode } from "../http/client.js";
import {
  type ExtensionResponses,
  readExtensionResponses,
  type SettlementResponse,
  type SupportedKind,
  type SupportedResponse,
  type VerifyResponse,
} from "../protocol/documents.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";

/** Reads an answer to `verify`; `undefined` when it is none. Total. */
export function readVerifyResponse(value: unknown): VerifyResponse | undefined {
  if (!isJsonObject(value)) return undefined;
  const isValid = value["isValid"] ?? value["is_valid"];
  if (typeof isValid !== "boolean") return undefined;
  const invalidReason = text(value["invalidReason"]) ?? text(value["invalid_reason"]);
  const invalidMessage = text(value["invalidMessage"]) ?? text(value["invalid_message"]);
  const payer = text(value["payer"]);
  const extensionResponses = outcomes(value);
  return {
    isValid,
    ...(invalidReason !== undefined && { invalidReason }),
    ...(invalidMessage !== undefined && { invalidMessage }),
    ...(payer !== undefined && { payer }),
    ...(extensionResponses !== undefined && { extensionResponses }),
  };
}

/**
 * Reads an answer to `settle`; `undefined` when it is none. Total.
 *
 * @param network - Filled in where the answer leaves it out or empty.
 */
export function readSettlementResponse(value: unknown, network: string): SettlementResponse | undefined {
  if (!isJsonObject(value)) return undefined;
  const { success } = value;
  if (typeof success !== "boolean") return undefined;
  const errorReason = text(value["errorReason"]) ?? text(value["error_reason"]);
  const errorMessage = text(value["errorMessage"]) ?? text(value["error_message"]);
  const payer = text(value["payer"]);
  const amount = text(value["amount"]);
  const extensionResponses = outcomes(value);
  return {
    success,
    transaction: text(value["transaction"]) ?? "",
    network: text(value["network"]) || network,
    ...(errorReason !== undefined && { errorReason }),
    ...(errorMessage !== undefined && { errorMessage }),
    ...(payer !== undefined && { payer }),
    ...(amount !== undefined && { amount }),
    ...(extensionResponses !== undefined && { extensionResponses }),
  };
}

/** A facilitator in this process says it here; some say it in their documents, too. */
function outcomes(value: JsonObject): ExtensionResponses | undefined {
  return readExtensionResponses(value["extensionResponses"]) ?? readExtensionResponses(value["extensions"]);
}

/** Reads an answer to `supported`; kinds that are not of the protocol's form are left out. Total. */
export function readSupportedResponse(value: unknown): SupportedResponse | undefined {
  if (!isJsonObject(value) || !Array.isArray(value["kinds"])) return undefined;
  const { extensions, signers } = value;
  return {
    kinds: value["kinds"].flatMap(readKind),
    extensions: texts(extensions),
    signers: isJsonObject(signers)
      ? Object.fromEntries(Object.entries(signers).map(([pattern, addresses]) => [pattern, texts(addresses)]))
      : {},
  };
}

function readKind(kind: unknown): SupportedKind[] {
  if (!isJsonObject(kind)) return [];
  const { x402Version, scheme, network, extra } = kind;
  if (typeof x402Version !== "number" || typeof scheme !== "string" || typeof network !== "string") return [];
  return [{ x402Version, scheme, network, ...(isJsonObject(extra) ? { extra } : {}) }];
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

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

const LONGEST_SECONDS = 3600;

/** `Sun, 06 Nov 1994 08:49:37 GMT`. Checked because `Date.parse` makes a date of nearly anything. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Reads the header: seconds or an HTTP date, at most an hour; `undefined` when it is neither. */
export function readRetryAfter(value: string | undefined, nowMs: number = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const seconds = readSeconds(value, nowMs);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), LONGEST_SECONDS);
}

function readSeconds(value: string, nowMs: number): number {
  if (/^\d+$/.test(value)) return Number(value);
  return HTTP_DATE.test(value) ? Math.ceil((Date.parse(value) - nowMs) / 1000) : Number.NaN;
}
