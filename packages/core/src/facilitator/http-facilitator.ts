/**
 * A facilitator behind HTTP.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import { ConfigError, type ConfigIssue } from "../errors.js";
import { parseBaseUrl } from "../http/base-url.js";
import { readBoundedText } from "../http/bounded-text.js";
import { decodeExtensionResponses, EXTENSION_RESPONSES } from "../http/extension-responses.js";
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
} from "./headers.js";
import { failedToSend, type Operation, refusedStatus, unreadable } from "./http-failures.js";
import { readSettlementResponse, readSupportedResponse, readVerifyResponse } from "./read-response.js";

export type { FacilitatorHeaders } from "./headers.js";

/** Where a facilitator is, and what it wants to be told. */
export interface HttpFacilitatorOptions {
  /** Base URL, e.g. `https://x402.org/facilitator`. */
  readonly url: string | URL;
  /** Most often credentials. Default: none. */
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

  async function call<T extends object>(exchange: Exchange<T>, { signal }: CallOptions = {}): Promise<T> {
    const { operation, body, read, refuses } = exchange;
    const response = await send(operation, `${base}/${operation}`, {
      headers: await headersFor(operation),
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const json = parseJson(await readText(operation, response));
    const answer = json.ok ? read(json.value) : undefined;
    // A refusal of the payment may come with any status, as long as the body says so. Nothing else may.
    const counts = answer !== undefined && (response.ok || refuses(answer));
    if (counts) return withOutcomes(answer, response);
    throw response.ok ? unreadable(operation) : refusedStatus(operation, response);
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

/** What has become of our declarations is in a header; whatever else may be there is no obstacle to a payment. */
function withOutcomes<T extends object>(answer: T, { headers }: Response): T & Outcomes {
  const extensionResponses = decodeExtensionResponses(headers.get(EXTENSION_RESPONSES));
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

async function send(operation: Operation, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    throw failedToSend(operation, cause);
  }
}

async function readText(operation: Operation, response: Response): Promise<string> {
  try {
    return await readBoundedText(response, MAX_BODY_BYTES);
  } catch (cause) {
    throw unreadable(operation, cause);
  }
}
