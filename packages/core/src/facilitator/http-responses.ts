/**
 * Reads facilitators' responses, and makes a `FacilitatorError` of a call without a valid one.
 *
 * Real facilitators send `snake_case` reasons, missing fields and nulls. A response is valid if it says clearly how the call ended.
 *
 * @see `docs/background/protocol-notes.md`, "The wire"; RFC 9110 §10.2.3 for `Retry-After`
 * @module
 */
import type { IncomingHttpHeaders } from "node:http";
import { FacilitatorError } from "../errors.js";
import { legible } from "../events/logger.js";
import { causeCode } from "../http/client.js";
import {
  type ExtensionResponses,
  readExtensionResponses,
  type SettlementResponse,
  type SupportedKind,
  type SupportedResponse,
  type VerifyResponse,
} from "../protocol/documents.js";
import { isJsonObject, type JsonObject, parseJson } from "../protocol/json.js";

/** A response while it is read. */
type Reading<T> = { -readonly [field in keyof T]: T[field] };

/** Reads a response to `verify`; `undefined` if it is invalid. Never throws. */
export function readVerifyResponse(value: unknown): VerifyResponse | undefined {
  if (!isJsonObject(value)) return undefined;
  const isValid = value["isValid"] ?? value["is_valid"];
  if (typeof isValid !== "boolean") return undefined;
  const read: Reading<VerifyResponse> = { isValid };
  const { invalidReason, invalidMessage, payer, extensionResponses, extensions } = value;
  const reason = typeof invalidReason === "string" ? invalidReason : value["invalid_reason"];
  if (typeof reason === "string") read.invalidReason = reason;
  const message = typeof invalidMessage === "string" ? invalidMessage : value["invalid_message"];
  if (typeof message === "string") read.invalidMessage = message;
  if (typeof payer === "string") read.payer = NAME.test(payer) ? payer : "";
  if (extensionResponses !== undefined || extensions !== undefined) addOutcomes(read, extensionResponses, extensions);
  return read;
}

/**
 * Reads a response to `settle`; `undefined` if it is invalid. Never throws.
 *
 * @param network - Used if the response has no network, or an empty one.
 */
export function readSettlementResponse(value: unknown, network: string): SettlementResponse | undefined {
  if (!isJsonObject(value)) return undefined;
  const { success, errorReason, errorMessage, transaction, network: named, payer, amount, extra } = value;
  if (typeof success !== "boolean") return undefined;
  const read: Reading<SettlementResponse> = {
    success,
    transaction: typeof transaction === "string" && NAME.test(transaction) ? transaction : "",
    network: (typeof named === "string" && named.slice(0, MAX_NAME)) || network,
  };
  const reason = typeof errorReason === "string" ? errorReason : value["error_reason"];
  if (typeof reason === "string") read.errorReason = reason;
  const message = typeof errorMessage === "string" ? errorMessage : value["error_message"];
  if (typeof message === "string") read.errorMessage = message;
  // Whether money has moved does not depend on the transaction, or there must be a real one.
  const isSure = success || reason === "payment_already_settled";
  if (read.transaction === "" && !isSure) read.transaction = traceOf(transaction);
  if (typeof payer === "string") read.payer = NAME.test(payer) ? payer : "";
  // Some write a number.
  if (typeof amount === "string" || Number.isSafeInteger(amount)) read.amount = String(amount);
  const small = success && extra !== undefined ? smallObject(extra) : undefined;
  if (small !== undefined) read.extra = small;
  const { extensionResponses, extensions } = value;
  if (extensionResponses !== undefined || extensions !== undefined) addOutcomes(read, extensionResponses, extensions);
  return read;
}

/** It goes to the client in a header. */
const MAX_EXTRA = 2048;

/** A copy of a JSON object; `undefined` if it is none, is empty, or is longer than {@link MAX_EXTRA} characters. */
function smallObject(value: unknown): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  try {
    // A facilitator in this process may have written anything.
    const written = JSON.stringify(value);
    if (written.length > MAX_EXTRA || written === "{}") return undefined;
    const copy: unknown = JSON.parse(written);
    return isJsonObject(copy) ? copy : undefined;
  } catch {
    return undefined;
  }
}

/** Adds outcomes of extensions in the body. A facilitator in this process has no headers, and some others write them here, too. */
function addOutcomes(read: { extensionResponses?: ExtensionResponses }, outcomes: unknown, elsewhere: unknown): void {
  const known = readExtensionResponses(outcomes) ?? readExtensionResponses(elsewhere);
  if (known !== undefined) read.extensionResponses = known;
}

/** Reads a response to `supported`; `undefined` if it is invalid. Invalid kinds are left out. Never throws. */
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

/** Longer ones than any chain has. They go to the client in a header, and into the store. */
const MAX_NAME = 200;

/** The id of a transaction, or an address, of at most as many characters. A text that can be neither names nothing. */
const NAME = /^[^\p{Cc}\p{Cs}\s]{0,200}$/u;

/** A transaction that cannot be an id, short and legible. A refusal with one is not final: something may have been broadcast. */
function traceOf(value: unknown): string {
  return value === undefined || value === null
    ? ""
    : legible(typeof value === "string" ? value : `no text: ${typeof value}`);
}

/** The three calls to a facilitator. */
export type Operation = "verify" | "settle" | "supported";

/** The request could not be sent, or got no response. The message names the cause's code, never a URL or a header. */
export function failedToSend(operation: Operation, { sent, cause }: NoResponse): FacilitatorError {
  return new FacilitatorError(
    `facilitator could not be reached for ${operation} (${causeCode(cause)})`,
    { code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE", operation, outcome: sent ? lostOutcome(operation) : "none" },
    { cause },
  );
}

interface NoResponse {
  /** Whether a server may have read the request. */
  readonly sent: boolean;
  readonly cause: Error;
}

/** The seller's headers are missing or invalid, so nothing was sent. Has no `cause`, which may quote a secret. */
export function headersMissing(operation: Operation, error: unknown): FacilitatorError {
  return new FacilitatorError(`headers for ${operation} are missing, so nothing was sent (${causeCode(error)})`, {
    code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
    operation,
    outcome: "none",
  });
}

/** No facilitator was asked. */
export function unavailable(operation: Operation, why: string, retryAfterSeconds?: number): FacilitatorError {
  return new FacilitatorError(`no facilitator was asked to ${operation}: ${why}`, {
    code: "ERR_FAREBOX_FACILITATOR_UNAVAILABLE",
    operation,
    outcome: "none",
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/**
 * The status is an error, and the body says nothing clear about the payment. No status proves that nothing was done: a gateway
 * may have sent the request more than once.
 */
export function refusedStatus(
  operation: Operation,
  refusal: Refusal,
  secrets: readonly string[] = [],
): FacilitatorError {
  const { status, headers } = refusal;
  const retryAfterSeconds = readRetryAfter(headers["retry-after"]);
  const says = whatIsSaid(refusal, secrets);
  return new FacilitatorError(`facilitator responded to ${operation} with status ${status}`, {
    code: "ERR_FAREBOX_FACILITATOR_STATUS",
    operation,
    outcome: lostOutcome(operation),
    status,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(says === "" ? {} : { says }),
  });
}

/** After a redirect that is not followed, or a refusal by these statuses, the same call will fail for as long as nobody changes something. */
function isForGood(status = 0): boolean {
  return status >= 300 && status < 500 && ![408, 409, 425, 429].includes(status);
}

/** By then somebody may have changed something. */
const FOR_GOOD_SECONDS = 60;

/** How soon a client may repeat a call that failed; `undefined`: as soon as usual. */
export function secondsToWait(error: unknown): number | undefined {
  if (!(error instanceof FacilitatorError)) return undefined;
  return error.retryAfterSeconds ?? (isForGood(error.status) ? FOR_GOOD_SECONDS : undefined);
}

/** Longer pages say nothing more. */
const MAX_READ = 4_000;

/** The fields in which servers say what is wrong, in the order in which they are joined. */
const SAYING: readonly string[] = [
  "error",
  "code",
  "title",
  "message",
  "detail",
  "errorReason",
  "errorMessage",
  "invalidReason",
];

/**
 * What a server said about its refusal, for the log: one line of at most 200 printable ASCII characters.
 *
 * @param secrets - Left out wherever they are repeated.
 */
function whatIsSaid(refusal: Refusal, secrets: readonly string[]): string {
  const { status, headers, text: body, redirectedTo } = refusal;
  const { location } = headers;
  const isUnfollowed = status < 400 && location !== undefined && URL.canParse(location);
  const target = isUnfollowed ? new URL(location) : redirectedTo;
  // Without its query, which may hold a token.
  const redirect = target && `redirects to ${target.host}${target.pathname}`;
  const parsed = parseJson(body);
  const fields = parsed.ok ? fieldsOf(parsed.value) : "";
  const said = fields === "" ? body.slice(0, MAX_READ).replaceAll(/<[^<>]*>/g, " ") : fields;
  let whole = `${redirect ?? ""} ${said.slice(0, MAX_READ)}`;
  for (const secret of secrets) whole = whole.replaceAll(secret, "(your header)");
  const line = whole.replaceAll(/[^\x21-\x7e]+/g, " ").trim();
  return legible(line.replaceAll(/[\w+/=-]{64,}/g, "(data)")).trim();
}

function fieldsOf(value: unknown, depth = 0): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return fieldsOf(value[0], depth);
  if (!isJsonObject(value) || depth > 2) return "";
  return SAYING.map((field) => fieldsOf(value[field], depth + 1))
    .filter((said) => said !== "")
    .join(": ");
}

interface Refusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The URL that responded, if it is another one. */
  readonly redirectedTo?: URL | undefined;
}

/** It refuses to settle, and names no reason of the protocol's that may be the payment's. */
export function refusedAll(
  facilitator: string,
  { errorReason = "", errorMessage = "" }: SettlementResponse,
): FacilitatorError {
  return new FacilitatorError("facilitator refused to settle, and named no reason of the payment", {
    code: "ERR_FAREBOX_FACILITATOR_RESPONSE",
    operation: "settle",
    outcome: "unknown",
    facilitator,
    says: legible(`${errorReason} ${errorMessage}`.trim()),
  });
}

/** The status is fine, but the body is invalid or incomplete. */
export function unreadable(operation: Operation, cause?: unknown): FacilitatorError {
  return new FacilitatorError(
    `facilitator sent an invalid response to ${operation}`,
    { code: "ERR_FAREBOX_FACILITATOR_RESPONSE", operation, outcome: lostOutcome(operation) },
    cause === undefined ? undefined : { cause },
  );
}

/** Only a settlement moves money. If another call fails, nothing happened. */
function lostOutcome(operation: Operation): "none" | "unknown" {
  return operation === "settle" ? "unknown" : "none";
}

const LONGEST_SECONDS = 3600;

/** `Sun, 06 Nov 1994 08:49:37 GMT`. Checked, because `Date.parse` accepts nearly anything. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Reads `Retry-After`, in seconds or as an HTTP date. At most an hour; `undefined` if it is neither. */
export function readRetryAfter(value: string | undefined, nowMs: number = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const seconds = readSeconds(value, nowMs);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), LONGEST_SECONDS);
}

function readSeconds(value: string, nowMs: number): number {
  if (/^\d+$/.test(value)) return Number(value);
  return HTTP_DATE.test(value) ? Math.ceil((Date.parse(value) - nowMs) / 1000) : Number.NaN;
}
