/**
 * Requests to sellers: no redirects, a limit on time and length, and errors that say URL and reason.
 *
 * @module
 */
import { lookup } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { isPublicHost } from "@farebox/bazaar/facilitator";
import { type EndpointRequest, quote } from "./endpoint.js";

/** A longer response is cut. */
const MAX_BYTES = 1024 * 1024;

/** A response, read to its end. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** No response. */
export class NoReplyError extends Error {
  override readonly name = "NoReplyError";
}

/** Sends a request once and reads the response. @throws NoReplyError */
export async function send(
  request: EndpointRequest,
  more: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Reply> {
  try {
    const response = await exchange(request, more, signal);
    const headers = new Headers(
      Object.entries(response.headersDistinct).map(([name, [first = ""] = []]) => [name, first]),
    );
    return { status: response.statusCode ?? 0, headers, text: await readText(response) };
  } catch (error) {
    throw new NoReplyError(`could not reach ${request.url.href}: ${explain(error, signal)}`);
  }
}

function exchange(
  { method, url, headers, body, isPublicOnly = false }: EndpointRequest,
  more: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // The socket makes no DNS query for an address.
    if (isPublicOnly && !isPublicHost(url.hostname)) throw new PrivateHostError();
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = open(url, {
      ...{ method, signal, agent: false, headers: { ...STANDARD, ...headers, ...more } },
      ...(isPublicOnly ? { lookup: lookupPublic } : {}),
    });
    outgoing.on("response", resolve).on("error", reject);
    // After a response it changes nothing. A status of 101 is none.
    outgoing.on("close", () => reject(new Error("no valid response")));
    outgoing.end(body);
  });
}

const STANDARD = { Accept: "*/*", "Accept-Encoding": "identity", "User-Agent": "farebox-mcp-bridge" };

class PrivateHostError extends Error {
  override readonly message = "the host has a private address";
}

/** The socket connects only to addresses that were checked. One private address among others is enough to refuse a host. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const [first] = found ?? [];
    if (error !== null || first === undefined) return callback(error ?? new Error("no address"), "");
    if (!found.every(({ address }) => isPublicHost(address))) return callback(new PrivateHostError(), "");
    if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  });
};

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) return `${Buffer.concat(chunks).toString("utf8", 0, MAX_BYTES)}… (cut after 1 MiB)`;
  }
  return Buffer.concat(chunks).toString("utf8");
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the host's name could not be looked up",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no network",
  ETIMEDOUT: "the host did not accept a connection in time",
  UND_ERR_CONNECT_TIMEOUT: "the host did not accept a connection in time",
  CERT_HAS_EXPIRED: "the certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate is self-signed",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate cannot be verified",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host",
  ECONNRESET: "the connection was closed",
  UND_ERR_SOCKET: "the connection was closed",
  EPIPE: "the connection was closed",
};

/** Why a request failed. */
export function explain(error: unknown, signal?: AbortSignal): string {
  if (signal?.aborted === true) {
    const isTimeout = (signal.reason as Error | undefined)?.name === "TimeoutError";
    return isTimeout ? "no complete response in time" : "the call was cancelled";
  }
  const { cause = error } = error as { cause?: unknown };
  const { code = "", message } = cause as NodeJS.ErrnoException;
  return REASONS[code] ?? (code || (cause instanceof PrivateHostError ? message : quote(message)));
}
