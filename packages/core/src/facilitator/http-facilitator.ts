/**
 * A facilitator behind HTTP.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import { parseJson } from "../protocol/json.js";
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
 */
export function createHttpFacilitator({ url, headers = {} }: HttpFacilitatorOptions): Facilitator {
  const base = String(url).replace(/\/+$/, "");

  async function call<T>(exchange: Exchange<T>, options: CallOptions = {}): Promise<T> {
    const { operation, body, read } = exchange;
    const response = await send(operation, `${base}/${operation}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        accept: "application/json",
        "content-type": "application/json",
        ...(await headersFor(operation, headers)),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const text = await readText(operation, response);
    // A refusal of the payment may come with any status, as long as the body says so.
    const json = parseJson(text);
    const answer = json.ok ? read(json.value) : undefined;
    if (answer !== undefined) return answer;
    throw response.ok ? unreadable(operation) : refusedStatus(operation, response);
  }

  return {
    verify: (request, options) => call({ operation: "verify", body: request, read: readVerifyResponse }, options),
    settle: (request, options) => {
      const { network } = request.paymentRequirements;
      return call(
        { operation: "settle", body: request, read: (json) => readSettlementResponse(json, network) },
        options,
      );
    },
    supported: (options) => call({ operation: "supported", body: undefined, read: readSupportedResponse }, options),
  };
}

interface Exchange<T> {
  readonly operation: Operation;
  readonly body: FacilitatorRequest | undefined;
  readonly read: (json: unknown) => T | undefined;
}

async function headersFor(
  operation: Operation,
  headers: FacilitatorHeaders,
): Promise<Readonly<Record<string, string>>> {
  if (typeof headers !== "function") return headers;
  try {
    return await headers(operation);
  } catch (cause) {
    throw failedToSend(operation, cause, "none");
  }
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
      if (bytes > MAX_BODY_BYTES) throw unreadable(operation);
      chunks.push(chunk);
    }
  } catch (cause) {
    throw unreadable(operation, cause);
  }
  return Buffer.concat(chunks).toString("utf8");
}
