/**
 * A facilitator behind HTTP.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import { ConfigError, type ConfigIssue } from "../errors.js";
import { parseBaseUrl } from "../http/base-url.js";
import { decodeExtensionResponses, EXTENSION_RESPONSES } from "../http/extension-responses.js";
import { createHttpClient, type HttpAnswer } from "../http/http-client.js";
import { type FollowedOutcome, sendFollowing } from "../http/redirects.js";
import type { ExtensionResponses } from "../protocol/extension-responses.js";
import { parseJson } from "../protocol/json.js";
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import {
  createHeaderSource,
  type FacilitatorHeaders,
  HEADERS_EXPECTED,
  type HeaderSource,
  isFacilitatorHeaders,
  OWN_HEADER_NAMES,
} from "./headers.js";
import { failedToSend, type Operation, refusedStatus, unreadable } from "./http-failures.js";
import { readSettlementResponse, readSupportedResponse, readVerifyResponse } from "./read-response.js";

export type { FacilitatorHeaders } from "./headers.js";

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
