/**
 * The resource of a request: its URL, its route template and its path parameters.
 *
 * @see x402 v2 §5.1.2, "ResourceInfo Schema"
 *
 * @module
 */

import { isIP } from "node:net";
import { encodeTemplate } from "../protocol/route-template.js";
import { compileRegistered } from "../route/path.js";
import { collapseSlashes } from "../route/path-form.js";
import type { GateRequest } from "../route/request.js";
import type { RouteCandidate } from "../route/route-table.js";

/** The seller's settings for the URLs of the server. */
export interface PublicUrlSettings {
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Lower case. A host with a port allows only that port. An empty list allows any host. */
  readonly allowedHosts: readonly string[];
  readonly includeQuery: boolean;
}

const FALLBACK_ORIGIN = "http://localhost";

/** The URL of the requested resource, in ASCII. The client's host only counts if the seller set none. */
export function resourceUrl(request: GateRequest, config: PublicUrlSettings): string {
  const { publicUrl, allowedHosts } = config;
  const origin =
    publicUrl ??
    (allowedHosts.length === 0 ? request.origin : allowedOrigin(request.origin, config)) ??
    FALLBACK_ORIGIN;
  const search = config.includeQuery ? request.search : "";
  const { mountPath, path } = request;
  // The framework adds the slash at the root of a mount. A client that did not send it, and a catalog, know no such path.
  const isMount = path === "/" && mountPath !== "" && request.endsInSlash !== true;
  const target = (isMount ? mountPath : mountPath + path) + search;
  return origin + (target.search(UNSAFE) === -1 ? target : target.replace(UNSAFE, encodeLatin1));
}

/** The origin by which clients reach the server. It is certain if the seller set it; otherwise the request has it. */
export function originFor(
  origin: string | undefined,
  config: Pick<PublicUrlSettings, "publicUrl" | "allowedHosts">,
): { readonly origin: string; readonly isCertain: boolean } {
  const { publicUrl } = config;
  if (publicUrl !== undefined) return { origin: publicUrl, isCertain: true };
  return { origin: allowedOrigin(origin, config) ?? FALLBACK_ORIGIN, isCertain: false };
}

/** Whether the client used a host that the seller did not list. */
export function isForeignHost(
  { origin }: Pick<GateRequest, "origin">,
  { publicUrl, allowedHosts }: Pick<PublicUrlSettings, "publicUrl" | "allowedHosts">,
): boolean {
  return (
    publicUrl === undefined && allowedHosts.length > 0 && (origin === undefined || !isAllowed(origin, allowedHosts))
  );
}

/** The first allowed host replaces a host that is not allowed. */
function allowedOrigin(
  origin: string | undefined,
  { allowedHosts }: Pick<PublicUrlSettings, "allowedHosts">,
): string | undefined {
  if (allowedHosts.length === 0 || (origin !== undefined && isAllowed(origin, allowedHosts))) return origin;
  const scheme = origin?.startsWith("http://") === true ? "http" : "https";
  return `${scheme}://${allowedHosts[0]}`;
}

function isAllowed(origin: string, allowedHosts: readonly string[]): boolean {
  const host = origin.slice(origin.indexOf("//") + 2).toLowerCase();
  return allowedHosts.includes(host) || allowedHosts.includes(host.replace(/:\d+$/, ""));
}

/**
 * The path of this server that a `Location` leads to, as a browser resolves it; `undefined` if it leads elsewhere, or may.
 *
 * An absolute URL is ours by `publicUrl` or `allowedHosts` alone. A client writes the host that it asks for, `localhost` included, so
 * the host of its request does not make another server's URL ours.
 *
 * @param url - The URL of the resource that redirects.
 */
export function ownPathOf(
  location: string,
  url: string,
  { publicUrl, allowedHosts }: PublicUrlSettings,
): string | undefined {
  if (!URL.canParse(location, url)) return undefined;
  const { protocol, host, origin, pathname } = new URL(location, url);
  if (protocol !== "http:" && protocol !== "https:") return undefined;
  const isAbsolute = new URL(location, Object.assign(new URL(url), { host: UNKNOWN_HOST })).host !== UNKNOWN_HOST;
  const isOurs =
    host === (publicUrl === undefined ? undefined : new URL(publicUrl).host) ||
    (allowedHosts.length > 0 && isAllowed(origin, allowedHosts));
  if (isAbsolute && !isOurs) return undefined;
  const prefix = publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");
  if (!`${pathname}/`.startsWith(`${prefix}/`)) return undefined;
  return pathname.slice(prefix.length) || "/";
}

/** Stands for the host of a relative URL. */
const UNKNOWN_HOST = "unknown.invalid:1";

/** Node passes on bytes that are not allowed in a URL, such as `<` and `"`. A page that shows the URL must be safe. */
const UNSAFE = /[^\w\-.~!$&'()*+,;=:@%/?]/g;

/** Node reads the target of a request as Latin-1, one character for each byte. */
function encodeLatin1(character: string): string {
  return `%${(character.charCodeAt(0) & 0xff).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** A route's path in the syntax of catalogs, and the path parameters of a request. */
export interface Place {
  /** Public path with its mounts, e.g. `/users/:id`; `undefined` for a regular expression. */
  readonly routeTemplate: string | undefined;
  /** Decoded, such as `{ id: "a b" }`. The segments of a wildcard are joined by `/`. */
  readonly pathParams: Readonly<Record<string, string>>;
}

/** Where a request is below a mount. */
type Mounted = Pick<GateRequest, "mountPath" | "mountTemplate">;

/** The template and parameters of a request that matched a key. */
export function placeOf(
  { form, path, mountPath }: Pick<RouteCandidate<unknown>, "form" | "path" | "mountPath">,
  request: Mounted,
): Place {
  const params = form.paramsOf(path) ?? {};
  if (mountPath === "") return { routeTemplate: form.template, pathParams: params };
  return withMount({ routeTemplate: form.template, pathParams: params }, request);
}

/** Adds the mount's template and parameters to those below it. */
function withMount(place: Place, request: Mounted): Place {
  const mount = mountOf(request);
  const { routeTemplate } = place;
  const below = routeTemplate === "/" ? "" : routeTemplate;
  return {
    routeTemplate: below === undefined ? undefined : collapseSlashes(`${mount.routeTemplate}${below}`) || "/",
    pathParams: Object.freeze({ ...mount.pathParams, ...place.pathParams }),
  };
}

/** The template and parameters of a request that the framework matched with a route of this path. */
export function placeOfRoute(path: string, request: Pick<GateRequest, "path"> & Mounted): Place | undefined {
  const compiled = compileRegistered(path);
  if (!compiled.ok) return undefined;
  for (const form of compiled.forms) {
    const pathParams = form.paramsOf(request.path);
    if (pathParams !== undefined) return withMount({ routeTemplate: form.template, pathParams }, request);
  }
  return undefined;
}

/** If the template of the mount is unknown, the path of the mount replaces it. */
function mountOf(request: Mounted): {
  routeTemplate: string;
  pathParams: Place["pathParams"];
} {
  const { mountPath } = request;
  const template = request.mountTemplate?.() ?? mountPath;
  const compiled = template === mountPath ? undefined : compileRegistered(template);
  const [form] = compiled?.ok ? compiled.forms : [];
  const pathParams = form?.paramsOf(mountPath);
  if (form === undefined || pathParams === undefined)
    return { routeTemplate: encodeTemplate(mountPath), pathParams: {} };
  return { routeTemplate: form.template === "/" ? "" : form.template, pathParams };
}

/** Endings of names that public DNS does not resolve. */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|lan|svc|home\.arpa|test|invalid)\.?$/;

/** Whether a host is a name that public DNS may resolve. */
export function isPublicName(hostname: string): boolean {
  return isIP(withoutBrackets(hostname)) === 0 && hostname.includes(".") && !PRIVATE_NAME.test(hostname);
}

/** Addresses of one machine and of private networks. */
const PRIVATE_ADDRESS =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./;
const PRIVATE_ADDRESS_6 = /^(?:::1?|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)$/;

/** An IPv4 address as one of IPv6, as the URL parser writes it: `::ffff:808:808`. */
const MAPPED_ADDRESS = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** The IPv4 address that an IPv6 address stands for, or the same host. */
function unmapped(host: string): string {
  const [, high = "", low = ""] = MAPPED_ADDRESS.exec(host) ?? [];
  if (high === "") return host;
  return [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 0xff]).join(".");
}

/** Whether a URL is public and not encrypted. */
export function isPublicWithoutTls(url: string): boolean {
  if (!url.startsWith("http://") || !URL.canParse(url)) return false;
  const host = unmapped(withoutBrackets(new URL(url).hostname));
  if (isIP(host) === 4) return !PRIVATE_ADDRESS.test(host);
  return isIP(host) === 6 ? !PRIVATE_ADDRESS_6.test(host) : isPublicName(host);
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
