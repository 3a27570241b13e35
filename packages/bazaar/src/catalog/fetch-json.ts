/**
 * Gets JSON from a catalog, within bounds of time and length, and from nowhere else.
 *
 * @module
 */
import { DiscoveryError } from "./discovery-error.js";

/** How a catalog is asked. */
export interface FetchBounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

const MAX_REDIRECTS = 3;

/** @throws {@link DiscoveryError} when there is no JSON to be had. */
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

/** Follows a catalog to another path of its own; what is sent may be credentials. */
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
