/**
 * Fetches JSON from a catalog, with a limit on time and length, and never from another origin.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";

/** Limits of one call. */
export interface FetchBounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

const MAX_REDIRECTS = 3;

/** Fetches JSON. @throws {@link DiscoveryError} when the catalog does not respond with JSON. */
export async function fetchJson(
  url: URL,
  headers: Readonly<Record<string, string>>,
  bounds: FetchBounds,
): Promise<unknown> {
  const signal = AbortSignal.timeout(bounds.timeoutMs);
  try {
    const response = await follow(url, {
      headers: { accept: "application/json", ...headers },
      signal,
      redirect: "manual",
    });
    const text = await readText(response, bounds.maxBytes);
    if (!response.ok) throw new DiscoveryError("status", { status: response.status });
    return parse(text);
  } catch (cause) {
    if (cause instanceof DiscoveryError) throw cause;
    throw new DiscoveryError(signal.aborted ? "timeout" : "unreachable", { cause });
  }
}

/** Follows redirects within the origin of the catalog: the headers may hold credentials. */
async function follow(url: URL, init: RequestInit): Promise<Response> {
  let target = url;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const response = await fetch(target, init);
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    if (!URL.canParse(location, target.href)) break;
    target = new URL(location, target);
    if (target.origin !== url.origin) break;
  }
  throw new DiscoveryError("redirect");
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new DiscoveryError("response");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DiscoveryError("response", { cause });
  }
}

/**
 * Why a call to a catalog failed. `unreachable`: no connection, or the connection broke. `timeout`: the call took too long.
 * `redirect`: the catalog redirects to another origin, which is not followed. `status`: the catalog responded with an error
 * status. `response`: the response is not a page of a catalog, or too long.
 */
export type DiscoveryProblem = "unreachable" | "timeout" | "redirect" | "status" | "response";

const MESSAGES: Readonly<Record<DiscoveryProblem, string>> = {
  unreachable: "the catalog cannot be reached",
  timeout: "the catalog did not respond in time",
  redirect: "the catalog redirects to another origin",
  status: "the catalog responded with an error status",
  response: "the response is not a page of a catalog",
};

/** A failed call to a catalog. Holds no text of the catalog and no request header. */
export class DiscoveryError extends FareboxError {
  override readonly name = "DiscoveryError";
  override readonly code = "ERR_FAREBOX_DISCOVERY";
  readonly problem: DiscoveryProblem;
  /** The HTTP status, for the problem `status`. */
  readonly status: number | undefined;

  constructor(problem: DiscoveryProblem, detail: { readonly status?: number; readonly cause?: unknown } = {}) {
    const { status, cause } = detail;
    super(`${MESSAGES[problem]}${status === undefined ? "" : ` (${status})`}`, cause === undefined ? {} : { cause });
    this.problem = problem;
    this.status = status;
  }
}
