/**
 * Requests to sellers: no redirects, a limit on time and length, and errors that say URL and reason.
 *
 * @module
 */
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

/** Sends a request and reads the response. @throws NoReplyError */
export async function send(
  { method, url, headers, body }: EndpointRequest,
  more: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Reply> {
  const init = { method, headers: { ...headers, ...more }, signal, redirect: "manual" } as const;
  try {
    const response = await fetch(url, body === undefined ? init : { ...init, body });
    return { status: response.status, headers: response.headers, text: await readText(response) };
  } catch (error) {
    throw new NoReplyError(`could not reach ${url.href}: ${explain(error, signal)}`);
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
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
  const { cause } = error as { cause?: { code?: unknown; message?: unknown } };
  const code = String(cause?.code ?? "");
  return REASONS[code] ?? (code || quote(cause?.message ?? "no valid response"));
}
