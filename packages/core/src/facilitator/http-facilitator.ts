/**
 * A client for a facilitator's HTTP interface.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import { ConfigError, type ConfigIssue } from "../errors.js";
import {
  createHttpClient,
  type FollowedOutcome,
  type HeaderValues,
  type HttpResponse,
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

/** The options of {@link createHttpFacilitator}. */
export interface HttpFacilitatorOptions {
  /**
   * Base URL, `http:` or `https:`, without credentials, query and fragment.
   *
   * @example "https://x402.org/facilitator"
   */
  readonly url: string | URL;
  /**
   * Headers to send, usually credentials: an object, or a function that is called before each request.
   *
   * @example { Authorization: "Bearer …" }
   * @defaultValue none
   */
  readonly headers?: FacilitatorHeaders;
}

/** Headers by call, for credentials that are valid for one call: `{ verify: { authorization: "…" }, settle: { … } }`. */
export type HeadersByOperation = { readonly [operation in Operation]?: HeaderValues | undefined };

/** Headers for every call, or by call. A function is called before each request with the name of the call, and may return either. */
export type FacilitatorHeaders =
  | HeaderValues
  | HeadersByOperation
  | ((operation: Operation) => HeaderValues | HeadersByOperation | Promise<HeaderValues | HeadersByOperation>);

/** A response has a few hundred bytes, a list of kinds a few kilobytes. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * Creates a client for a facilitator. It has no deadline of its own: {@link CallOptions.signal} ends a call.
 *
 * A call without a valid response rejects with a `FacilitatorError`. For `settle`, its `outcome` is `"none"` only if nothing was
 * sent.
 *
 * @throws {@link ConfigError} when `url` is not a base URL, or `headers` cannot be sent
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
    return readResponse(exchange, await sendFollowing(client, request, OWN_HEADER_NAMES), request.headers);
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

interface Exchange<T> {
  readonly operation: Operation;
  readonly body: FacilitatorRequest | undefined;
  readonly read: (json: unknown) => T | undefined;
  /** Whether a response refuses the payment, and not just the call. */
  readonly refuses: (response: T) => boolean;
}

/** @param headers - That were sent. */
function readResponse<T extends object>(exchange: Exchange<T>, followed: FollowedOutcome, headers: HeaderValues): T {
  const { operation, read, refuses } = exchange;
  const { outcome, redirectedTo, lostBody } = followed;
  if (outcome.kind === "no-response")
    throw failedToSend(operation, { ...outcome, sent: outcome.sent || redirectedTo !== undefined });
  if (outcome.kind === "broken") throw unreadable(operation, outcome.cause);
  const json = parseJson(outcome.text);
  const response = json.ok ? read(json.value) : undefined;
  const isOk = outcome.status >= 200 && outcome.status < 300;
  // A refusal of the payment may have any status if the body is clear. Every other response needs a 2xx status.
  // A server that did not get the payment says nothing about it.
  const counts =
    response !== undefined && !lostBody && (isOk || refuses(response)) && !(redirectedTo && isOwnDoing(response));
  if (counts) return withReports(response, outcome);
  throw isOk ? unreadable(operation) : refusedStatus(operation, { ...outcome, redirectedTo }, secretsIn(headers));
}

/** Whether a settlement may have been used up by our own request: the server that redirected it may have carried it out. */
function isOwnDoing(response: object): boolean {
  return Reflect.get(response, "errorReason") === "payment_already_settled";
}

/** Shorter parts of a header, such as `Bearer`, are no secrets. */
const SHORTEST_SECRET = 8;

/** What a server must not make a log repeat: the seller's headers, and their parts. */
function secretsIn(headers: HeaderValues): readonly string[] {
  const values = Object.entries(headers).flatMap(([name, value]) => (OWN_HEADER_NAMES.includes(name) ? [] : [value]));
  const parts = values.flatMap((value) => [value, ...value.split(/[\s,;=:]+/)]);
  return parts.filter(({ length }) => length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length);
}

/** Adds the outcomes of our declared extensions, which are in a header. An invalid header is ignored: it must not stop a payment. */
function withReports<T extends object>(response: T, { headers }: HttpResponse): T & Reports {
  const value = headers[EXTENSION_RESPONSES.toLowerCase()];
  const extensionResponses = decodeExtensionResponses(typeof value === "string" ? value : undefined);
  return extensionResponses === undefined ? response : { ...response, extensionResponses };
}

interface Reports {
  readonly extensionResponses?: ExtensionResponses;
}

/** Describes a valid base URL, for error messages. */
export const BASE_URL_EXPECTED =
  'a base URL such as "https://x402.org/facilitator", without credentials, query and fragment';

/** Neither value is quoted: both may hold secrets. */
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

/** Without a reason, `{ "success": false, "error": "…" }` may also be the error page of a broken server. */
function saysWhyNot({ success, errorReason }: SettlementResponse): boolean {
  return !success && errorReason !== undefined;
}

/** Describes valid headers, for error messages. */
export const HEADERS_EXPECTED =
  "header names with string values, the same by call ({ verify, settle, supported }), or a function that returns either";

/** Returns the headers of one call. Rejects with a `FacilitatorError` of outcome `"none"` if the seller's function fails. */
export type HeaderSource = (operation: Operation) => Promise<HeaderValues>;

const OPERATIONS: readonly Operation[] = ["verify", "settle", "supported"];

/** Whether headers can be sent. The result of a function is checked when it is called. */
export function isFacilitatorHeaders(value: unknown): value is FacilitatorHeaders {
  if (typeof value === "function") return true;
  return isPlain(value) && (isFlat(value) || (isByOperation(value) && Object.keys(value).every(isOperation)));
}

/** Prepares headers. An object is read once, here. */
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

/** The seller's headers replace ours, in any case of letters. */
function complete(given: HeaderValues | HeadersByOperation, operation: Operation): HeaderValues {
  return mergeHeaders(OWN_HEADERS, isFlat(given) ? given : (given[operation] ?? {}));
}

const OWN_HEADERS: HeaderValues = { accept: "application/json", "content-type": "application/json" };

/** Names of the headers that Farebox sets. */
const OWN_HEADER_NAMES: readonly string[] = Object.keys(OWN_HEADERS);

/** `{ verify: "Bearer …" }` is more likely a mistake than a header with that name. */
function isFlat(value: object): value is HeaderValues {
  return Object.entries(value).every(([name, text]) => !isOperation(name) && isHeader(name, text));
}

/** Functions written for other libraries may also return credentials for calls that Farebox does not make. */
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
