/**
 * A facilitator behind HTTP.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import { ConfigError, type ConfigIssue } from "../errors.js";
import {
  createHttpClient,
  type FollowedOutcome,
  type HeaderValues,
  type HttpAnswer,
  isHeader,
  isPlain,
  mergeHeaders,
  sendFollowing,
} from "../http/client.js";
import { parseBaseUrl } from "../http/urls.js";
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import { decodeExtensionResponses, EXTENSION_RESPONSES } from "../protocol/headers.js";
import { parseJson } from "../protocol/json.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import {
  failedToSend,
  headersMissing,
  type Operation,
  readSettlementResponse,
  readSupportedResponse,
  readVerifyResponse,
  refusedStatus,
  unreadable,
} from "./http-responses.js";

/** Where a facilitator is, and what it wants to be told. */
export interface HttpFacilitatorOptions {
  /**
   * Base URL.
   *
   * @example "https://x402.org/facilitator"
   */
  readonly url: string | URL;
  /**
   * Usually credentials: an object, or a function that is called per request.
   *
   * @example { Authorization: "Bearer …" }
   * @defaultValue none
   */
  readonly headers?: FacilitatorHeaders;
}

/** An answer is a few hundred bytes, a list of kinds some kilobytes. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * Creates a client for a facilitator. It has no deadline of its own: {@link CallOptions.signal} ends a call.
 *
 * A call without an answer rejects with a `FacilitatorError`, whose `outcome` for `settle` is `"none"` only where the
 * request provably was never acted on.
 *
 * @throws ConfigError when the URL is none to which paths can be appended, or the headers are of no form that can be sent.
 */
export function createHttpFacilitator({ url, headers = {} }: HttpFacilitatorOptions): Facilitator {
  const { base, headersFor } = check(url, headers);
  const client = createHttpClient({ maxBodyBytes: MAX_BODY_BYTES });
  const urlOf = (operation: Operation) => new URL(`${base}/${operation}`);
  const urls = { verify: urlOf("verify"), settle: urlOf("settle"), supported: urlOf("supported") };

  async function call<T extends object>(exchange: Exchange<T>, { signal }: CallOptions = {}): Promise<T> {
    const { operation, body } = exchange;
    const request = {
      url: urls[operation],
      headers: await headersFor(operation),
      signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    return readAnswer(exchange, await sendFollowing(client, request, OWN_HEADER_NAMES));
  }

  return {
    verify: (request, options) =>
      call(
        { operation: "verify", body: request, read: readVerifyResponse, refuses: ({ isValid }) => !isValid },
        options,
      ),
    settle: (request, options) => {
      const { network } = request.paymentRequirements;
      const read = (json: unknown) => readSettlementResponse(json, network);
      return call({ operation: "settle", body: request, read, refuses: saysWhyNot }, options);
    },
    supported: (options) =>
      call({ operation: "supported", body: undefined, read: readSupportedResponse, refuses: () => false }, options),
  };
}

function readAnswer<T extends object>(exchange: Exchange<T>, { outcome, isRedirected }: FollowedOutcome): T {
  const { operation, read, refuses } = exchange;
  if (outcome.kind === "unanswered") throw failedToSend(operation, { ...outcome, sent: outcome.sent || isRedirected });
  if (outcome.kind === "broken") throw unreadable(operation, outcome.cause);
  const json = parseJson(outcome.text);
  const answer = json.ok ? read(json.value) : undefined;
  const isOk = outcome.status >= 200 && outcome.status < 300;
  // A refusal of the payment may come with any status, as long as the body says so. Nothing else may.
  const counts = answer !== undefined && (isOk || refuses(answer));
  if (counts) return withOutcomes(answer, outcome);
  throw isOk ? unreadable(operation) : refusedStatus(operation, { ...outcome, isRedirected });
}

/** What has become of our declarations is in a header; whatever else may be there is no obstacle to a payment. */
function withOutcomes<T extends object>(answer: T, { headers }: HttpAnswer): T & Outcomes {
  const value = headers[EXTENSION_RESPONSES.toLowerCase()];
  const extensionResponses = decodeExtensionResponses(typeof value === "string" ? value : undefined);
  return extensionResponses === undefined ? answer : { ...answer, extensionResponses };
}

interface Outcomes {
  readonly extensionResponses?: ExtensionResponses;
}

/** What a URL of a facilitator has to be, for an error message. */
export const BASE_URL_EXPECTED =
  'a base URL such as "https://x402.org/facilitator", without credentials, query and fragment';

/** Neither is quoted: both may hold secrets. */
function check(
  url: unknown,
  headers: FacilitatorHeaders,
): { readonly base: string; readonly headersFor: HeaderSource } {
  const base = parseBaseUrl(url);
  const issues: ConfigIssue[] = [];
  if (base === undefined) issues.push({ path: "url", expected: BASE_URL_EXPECTED, received: "another" });
  if (!isFacilitatorHeaders(headers)) issues.push({ path: "headers", expected: HEADERS_EXPECTED, received: "others" });
  if (base === undefined || issues.length > 0) throw new ConfigError(issues);
  return { base, headersFor: createHeaderSource(headers) };
}

interface Exchange<T> {
  readonly operation: Operation;
  readonly body: FacilitatorRequest | undefined;
  readonly read: (json: unknown) => T | undefined;
  /** Whether an answer refuses the payment, rather than the call. */
  readonly refuses: (answer: T) => boolean;
}

/** `{ "success": false, "error": "…" }` is also what many a server says that could not do its work. */
function saysWhyNot({ success, errorReason }: SettlementResponse): boolean {
  return !success && errorReason !== undefined;
}

/** Headers of each call, for credentials that are only good for one: `{ verify: { authorization: "…" }, settle: … }`. */
export type HeadersByOperation = { readonly [operation in Operation]?: HeaderValues | undefined };

/** Headers to send along with every call, or by call; a function is asked before each and may return either. */
export type FacilitatorHeaders =
  | HeaderValues
  | HeadersByOperation
  | ((operation: Operation) => HeaderValues | HeadersByOperation | Promise<HeaderValues | HeadersByOperation>);

/** What headers have to be, for an error message. */
export const HEADERS_EXPECTED =
  "header names with string values, the same by call ({ verify, settle, supported }), or a function that returns either";

/** Yields the headers of one call. Rejects with a `FacilitatorError` of outcome `"none"` when there are none to be had. */
export type HeaderSource = (operation: Operation) => Promise<HeaderValues>;

const OPERATIONS: readonly Operation[] = ["verify", "settle", "supported"];

/** Whether headers are of a form that can be sent; what a function returns is seen when it is asked. */
export function isFacilitatorHeaders(value: unknown): value is FacilitatorHeaders {
  if (typeof value === "function") return true;
  return isPlain(value) && (isFlat(value) || (isByOperation(value) && Object.keys(value).every(isOperation)));
}

/** Prepares headers; those that are given once are read once. */
export function createHeaderSource(headers: FacilitatorHeaders): HeaderSource {
  if (typeof headers === "function") return (operation) => ask(headers, operation);
  const prepared = new Map(OPERATIONS.map((operation) => [operation, complete(headers, operation)]));
  return async (operation) => prepared.get(operation) ?? complete({}, operation);
}

async function ask(
  headers: Extract<FacilitatorHeaders, (...operation: never) => unknown>,
  operation: Operation,
): Promise<HeaderValues> {
  let given: unknown;
  try {
    given = await headers(operation);
    if (isPlain(given) && (isFlat(given) || isByOperation(given))) return complete(given, operation);
  } catch (error) {
    throw headersMissing(operation, error);
  }
  throw headersMissing(operation, new TypeError("not headers"));
}

/** The seller's headers win over ours, in whatever case they are written. */
function complete(given: HeaderValues | HeadersByOperation, operation: Operation): HeaderValues {
  return mergeHeaders(OWN_HEADERS, isFlat(given) ? given : (given[operation] ?? {}));
}

const OWN_HEADERS: HeaderValues = { accept: "application/json", "content-type": "application/json" };

/** Names of the headers that are not the seller's. */
const OWN_HEADER_NAMES: readonly string[] = Object.keys(OWN_HEADERS);

/** `{ verify: "Bearer …" }` is more likely a mistake than a header of that name. */
function isFlat(value: object): value is HeaderValues {
  return Object.entries(value).every(([name, text]) => !isOperation(name) && isHeader(name, text));
}

/** Functions written for other libraries also return credentials for calls that are not made here. */
function isByOperation(value: object): value is HeadersByOperation {
  const sets: readonly unknown[] = Object.values(value);
  const wellFormed = sets.every((set) => set === undefined || (isPlain(set) && Object.entries(set).every(isEntry)));
  return wellFormed && Object.keys(value).some(isOperation);
}

function isOperation(name: string): boolean {
  return OPERATIONS.some((operation) => operation === name);
}

function isEntry([name, value]: readonly [string, unknown]): boolean {
  return isHeader(name, value);
}
