/**
 * Hosts that are the seller's. A client names the host of its request, so a URL of an unchecked host is neither signed nor believed.
 *
 * @module
 */
import type { Issues } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";

/** Checks an option that is an origin. */
export function readOrigin(path: string, origin: unknown, issues: Issues): string | undefined {
  if (origin === undefined) return undefined;
  if (typeof origin === "string" && URL.canParse(origin)) {
    const url = new URL(origin);
    const isHttp = url.protocol === "https:" || url.protocol === "http:";
    if (isHttp && (origin === url.origin || origin === `${url.origin}/`)) return url.origin;
  }
  issues.add(path, "an http or https URL without path, such as https://api.example.com", origin);
  return undefined;
}

/** The host in `did:web:api.example.com#key-1`. A port is written `%3A4021`. */
export function hostOfKey(kid: unknown): readonly string[] {
  const host = typeof kid === "string" ? /^did:web:([^:#?/]+)/.exec(kid)?.[1] : undefined;
  if (host === undefined) return [];
  try {
    return [decodeURIComponent(host).toLowerCase()];
  } catch {
    return [];
  }
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/**
 * The URL of a resource under the seller's origin; `undefined`: its host may be anybody's, or its path leads elsewhere.
 *
 * @param hosts - The seller's; one without a port stands for all its ports. This very machine is always one.
 * @param origin - Replaces that of the URL.
 */
export function ownUrl(url: string, hosts: readonly string[], origin: string | undefined): string | undefined {
  if (plainPathOf(url) === undefined) return undefined;
  const { host, hostname, pathname, search } = new URL(url);
  if (origin !== undefined) {
    // A path may begin with two slashes, so it is not resolved.
    const rebased = new URL(origin);
    rebased.pathname = pathname;
    rebased.search = search;
    return rebased.href;
  }
  return hosts.includes(host) || hosts.includes(hostname) || LOOPBACK.test(hostname) ? url : undefined;
}

/**
 * Whether a request for the host of a URL came from this very machine, if that host is this machine. A client far away can name it, too,
 * also through a proxy that stands here.
 *
 * @param native - The framework's request.
 */
export function isFromHere(url: string, native: unknown): boolean {
  if (!LOOPBACK.test(new URL(url).hostname)) return true;
  const { socket, headers } = Object(native);
  const { remoteAddress, localAddress } = Object(socket);
  const isProxied = ["forwarded", "x-forwarded-for", "x-real-ip", "via"].some((name) =>
    Object.hasOwn(Object(headers), name),
  );
  return !isProxied && isLoopback(remoteAddress) && isLoopback(localAddress);
}

function isLoopback(address: unknown): boolean {
  return typeof address === "string" && /^(?:::1|(?:::ffff:)?127(?:\.\d+){3})$/.test(address);
}

/** The URL of the resource in a payment that the facilitator got: the seller's. */
export function urlOf(resource: unknown): string | undefined {
  const url = isJsonObject(resource) ? resource["url"] : undefined;
  return typeof url === "string" ? url : undefined;
}

/**
 * The path of a URL as it was requested. `undefined` for one that is read differently by different readers, such as
 * `/cheap/../expensive`.
 */
export function plainPathOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { pathname } = new URL(url);
  const [, written = ""] = /^[a-z][a-z0-9+.-]*:\/\/[^/\\?#]*([^?#]*)/i.exec(url) ?? [];
  return (written || "/") === pathname ? pathname : undefined;
}

/** The finding of an extension that needs a host of the seller's, and has none. */
export const HOST_UNKNOWN = {
  code: "FAREBOX_SIGNED_HOST_UNKNOWN",
  message: "It declares an extension that signs or checks URLs, and only the client names the host of its URL",
} as const;
