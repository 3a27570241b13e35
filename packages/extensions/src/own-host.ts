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

/** What decides whether a URL is the seller's. */
export interface OwnHosts {
  /** One without a port stands for all its ports. */
  readonly hosts: readonly string[];
  /** Replaces that of the URL. */
  readonly origin: string | undefined;
  /** The framework's request. Its URL may be of this very machine, if its client is on it. */
  readonly native: unknown;
}

/** The URL of a resource under the seller's origin; `undefined`: its host may be anybody's, or its path leads elsewhere. */
export function ownUrl(url: string, { hosts, origin, native }: OwnHosts): string | undefined {
  if (plainPathOf(url) === undefined) return undefined;
  const { host, hostname, pathname, search } = new URL(url);
  if (origin !== undefined) {
    // A path may begin with two slashes, so it is not resolved.
    const rebased = new URL(origin);
    rebased.pathname = pathname;
    rebased.search = search;
    return rebased.href;
  }
  if (hosts.includes(host) || hosts.includes(hostname)) return url;
  return LOOPBACK.test(hostname) && isOnThisMachine(native) ? url : undefined;
}

const LOOPBACK_ADDRESS = /^(?:::ffff:)?127(?:\.\d+){3}$|^::1$/;

/** Headers by which a proxy on this machine says that its client may be elsewhere. */
const FORWARDED = ["x-forwarded-for", "x-forwarded-host", "forwarded", "x-real-ip", "via"];

/** Whether both ends of a request's connection are on this machine. A client elsewhere can send `Host: localhost`, too. */
function isOnThisMachine(native: unknown): boolean {
  const { socket, headers } = (native ?? {}) as { readonly socket?: unknown; readonly headers?: unknown };
  if (typeof socket !== "object" || socket === null || !isJsonObject(headers)) return false;
  const { localAddress, remoteAddress } = socket as {
    readonly localAddress?: unknown;
    readonly remoteAddress?: unknown;
  };
  const isLoopback = (address: unknown) => typeof address === "string" && LOOPBACK_ADDRESS.test(address);
  return (
    isLoopback(localAddress) && isLoopback(remoteAddress) && FORWARDED.every((name) => headers[name] === undefined)
  );
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
function plainPathOf(url: string): string | undefined {
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
