/**
 * One request to a server that nobody vouches for. It never throws, follows no redirect, and reads no endless body.
 *
 * @module
 */
import type { Clock } from "../frame/clock.js";

/** A request. */
export interface ProbeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What came of it. */
export type Probed =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly headers: Headers;
      /** At most {@link MAX_BODY} bytes of it. */
      readonly body: string;
      readonly tookMs: number;
    }
  | {
      readonly kind: "failed";
      /** Of Node, undici or OpenSSL, e.g. `ECONNREFUSED`, or `TIMEOUT`. */
      readonly code: string;
      readonly reason: string;
    };

const MAX_BODY = 1024 * 1024;

/** Sends requests, each within a time limit. */
export type Probe = (request: ProbeRequest) => Promise<Probed>;

/** Creates a probe. */
export function createProbe(timeoutMs: number, clock: Clock): Probe {
  return async ({ method, url, headers = {}, body }) => {
    const signal = clock.deadline(timeoutMs);
    const startedMs = clock.elapsed();
    try {
      const response = await fetch(url, {
        method,
        headers: { accept: "application/json", "user-agent": "farebox-doctor", ...headers },
        redirect: "manual",
        signal,
        ...(body === undefined ? {} : { body }),
      });
      const text = await readSome(response);
      const tookMs = clock.elapsed() - startedMs;
      return { kind: "response", status: response.status, headers: response.headers, body: text, tookMs };
    } catch (error) {
      if (signal.aborted) return { kind: "failed", code: "TIMEOUT", reason: `no response within ${timeoutMs} ms` };
      return failureOf(error);
    }
  };
}

/** The beginning of a body. What follows is not waited for. */
async function readSome(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (reader !== undefined && bytes < MAX_BODY) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    bytes += value.byteLength;
  }
  // A response that breaks off here is not the one that is asked about.
  await reader?.cancel().catch(() => {});
  return Buffer.concat(chunks).subarray(0, MAX_BODY).toString("utf8");
}

function failureOf(error: unknown): Probed {
  const { cause, message } = Object(error) as { readonly cause?: unknown; readonly message?: string };
  const { code, message: why } = Object(cause) as { readonly code?: unknown; readonly message?: unknown };
  const named = typeof code === "string" ? code : "FAILED";
  return { kind: "failed", code: named, reason: String(why ?? message ?? error) };
}

/** Whether a request failed because of the server's certificate. */
export function isCertificateProblem(code: string): boolean {
  return /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|HOSTNAME_MISMATCH)/.test(code);
}

/** Whether a request failed because the headers of the response are too long. */
export function isHeaderOverflow(code: string): boolean {
  return code === "UND_ERR_HEADERS_OVERFLOW" || code === "HPE_HEADER_OVERFLOW";
}
