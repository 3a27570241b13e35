/**
 * A facilitator behind HTTP.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import { ConfigError } from "../errors.js";
import { parseBaseUrl } from "../http/base-url.js";
import { parseJson } from "../protocol/json.js";
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import { failedToSend, type Operation, refusedStatus, unreadable } from "./http-failures.js";
import { readSettlementResponse, readSupportedResponse, readVerifyResponse } from "./read-response.js";

/** Headers to send along, e.g. `{ authorization: "Bearer …" }`; a function is asked before each call. */
export type FacilitatorHeaders =
  | Readonly<Record<string, string>>
  | ((operation: Operation) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** Where a facilitator is, and what it wants to be told. */
export interface HttpFacilitatorOptions {
  /** Base URL, e.g. `https://x402.org/facilitator`. */
  readonly url: string | URL;
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
 * @throws ConfigError when the URL is none to which paths can be appended.
 */
export function createHttpFacilitator({ url, headers = {} }: HttpFacilitatorOptions): Facilitator {
  const base = parseBaseUrl(url);
  if (base === undefined) throw new ConfigError([{ path: "url", expected: BASE_URL_EXPECTED, received: "another" }]);

  async function call<T>(exchange: Exchange<T>, { signal }: CallOptions = {}): Promise<T> {
    const { operation, body, read, refuses } = exchange;
    const response = await send(operation, `${base}/${operation}`, {
      headers: withDefaults(operation, await askFor(operation, headers)),
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const json = parseJson(await readText(operation, response));
    const answer = json.ok ? read(json.value) : undefined;
    // A refusal of the payment may come with any status, as long as the body says so. Nothing else may.
    const counts = answer !== undefined && (response.ok || refuses(answer));
    if (counts) return answer;
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

/** What a URL of a facilitator has to be, for an error message. */
export const BASE_URL_EXPECTED =
  'a base URL such as "https://x402.org/facilitator", without credentials, query and fragment';

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

type GivenHeaders = Readonly<Record<string, string>>;

async function askFor(operation: Operation, headers: FacilitatorHeaders): Promise<GivenHeaders> {
  if (typeof headers !== "function") return headers;
  try {
    return await headers(operation);
  } catch (cause) {
    throw failedToSend(operation, cause, "none");
  }
}

/** The seller's headers win over ours, in whatever case they are written. */
function withDefaults(operation: Operation, given: GivenHeaders): Headers {
  const headers = new Headers({ accept: "application/json", "content-type": "application/json" });
  try {
    for (const [name, value] of Object.entries(given)) headers.set(name, value);
  } catch {
    // The cause would quote the value, which may be a secret.
    throw failedToSend(operation, new TypeError("invalid header"), "none");
  }
  return headers;
}

async function send(operation: Operation, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    throw failedToSend(operation, cause);
  }
}

/** Reads the body, but not more of it than an answer can have. */
async function readText(operation: Operation, response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > MAX_BODY_BYTES) throw new RangeError(`longer than ${MAX_BODY_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (cause) {
    throw unreadable(operation, cause);
  }
  return Buffer.concat(chunks).toString("utf8");
}
