/**
 * The resource's URL: where clients reach it, and what a catalog lists it by.
 *
 * @see x402 v2 §5.1.2, "ResourceInfo Schema"
 * @module
 */
import type { GateRequest } from "../route/request.js";

/** What a seller says about the URLs of the server. */
export interface PublicUrlConfig {
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Lower case, with a port where only that port is meant. Empty: any. */
  readonly allowedHosts: readonly string[];
  readonly includeQuery: boolean;
}

const FALLBACK_ORIGIN = "http://localhost";

/** Writes the URL of the resource a request is for, in ASCII. What the client says only counts where the seller says nothing. */
export function resourceUrl(request: GateRequest, config: PublicUrlConfig): string {
  const { origin } = originFor(request.origin, config);
  const search = config.includeQuery ? request.search : "";
  return origin + encodeUnsafe(request.mountPath + request.path + search);
}

/** Where clients reach the server; for certain if the seller says so, or else by what a request says. */
export function originFor(
  origin: string | undefined,
  config: Pick<PublicUrlConfig, "publicUrl" | "allowedHosts">,
): { readonly origin: string; readonly isCertain: boolean } {
  const { publicUrl } = config;
  if (publicUrl !== undefined) return { origin: publicUrl, isCertain: true };
  return { origin: allowedOrigin({ origin }, config) ?? FALLBACK_ORIGIN, isCertain: false };
}

/** Whether the client reached us by a host that the seller did not name. */
export function isForeignHost(
  { origin }: Pick<GateRequest, "origin">,
  { publicUrl, allowedHosts }: Pick<PublicUrlConfig, "publicUrl" | "allowedHosts">,
): boolean {
  return (
    publicUrl === undefined && allowedHosts.length > 0 && (origin === undefined || !isAllowed(origin, allowedHosts))
  );
}

/** A host that is not allowed is replaced by the first that is. */
function allowedOrigin(
  request: Pick<GateRequest, "origin">,
  config: Pick<PublicUrlConfig, "publicUrl" | "allowedHosts">,
): string | undefined {
  if (!isForeignHost(request, config)) return request.origin;
  const scheme = request.origin?.startsWith("http://") === true ? "http" : "https";
  return `${scheme}://${config.allowedHosts[0]}`;
}

function isAllowed(origin: string, allowedHosts: readonly string[]): boolean {
  const host = origin.slice(origin.indexOf("//") + 2).toLowerCase();
  return allowedHosts.includes(host) || allowedHosts.includes(host.replace(/:\d+$/, ""));
}

const UNSAFE = /[^\w\-.~!$&'()*+,;=:@%/?]/g;

/** Node hands on bytes that have no place in a URL, such as `<` and `"`: whoever shows the URL shall not have to care. */
function encodeUnsafe(text: string): string {
  return text.search(UNSAFE) === -1 ? text : text.replace(UNSAFE, encodeLatin1);
}

/** Node reads the target of a request as Latin-1, one character for each byte. */
function encodeLatin1(character: string): string {
  return `%${(character.charCodeAt(0) & 0xff).toString(16).toUpperCase().padStart(2, "0")}`;
}
