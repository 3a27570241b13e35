/**
 * Fetches text from a server that nobody vouches for: with limits on time, length and redirects.
 *
 * @module
 */
import { CliError } from "../frame/cli-error.js";
import type { Clock } from "../frame/clock.js";

/** A response, read to its end. */
export interface FetchedText {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Limits of a request. */
export interface FetchLimits {
  /** Default 1 MiB. */
  readonly maxBytes?: number;
  /** Default 10,000 ms, for all of it. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
  readonly init?: RequestInit;
}

const MAX_REDIRECTS = 5;

/** Fetches a URL, and follows its redirects. @throws CliError if there is no response, or if it is too long */
export async function fetchText(
  url: URL,
  { maxBytes = 1024 * 1024, timeoutMs = 10_000, clock, init }: FetchLimits,
): Promise<FetchedText> {
  const signal = clock.deadline(timeoutMs);
  let target = url;
  try {
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const response = await fetch(target, { ...init, redirect: "manual", signal });
      const { status, headers } = response;
      const location = headers.get("location");
      if (status < 300 || status > 399 || location === null) {
        return { url: target.href, status, headers, body: await readText(response, maxBytes) };
      }
      await response.body?.cancel();
      if (!URL.canParse(location, target.href)) throw failed(url, "redirects to what is no URL");
      target = new URL(location, target);
    }
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw failed(
      url,
      signal.aborted ? `did not respond within ${timeoutMs} ms` : `cannot be reached: ${reasonOf(cause)}`,
      cause,
    );
  }
  throw failed(url, `redirects more than ${MAX_REDIRECTS} times`);
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw failed(new URL(response.url), `responded with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function failed({ href }: URL, what: string, cause?: unknown): CliError {
  return new CliError("FAREBOX_CLI_UNREACHABLE", `${href} ${what}`, "Check the URL, and that the server runs", {
    cause,
  });
}

/** Why `fetch` failed. Its own message says only that it did. */
function reasonOf(error: unknown): string {
  const { cause } = Object(error) as { readonly cause?: { readonly code?: unknown; readonly message?: unknown } };
  return String(cause?.code ?? cause?.message ?? (error as Error).message);
}
