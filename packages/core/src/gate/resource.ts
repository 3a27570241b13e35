/**
 * The resource of a request: its URL, its route template and its path parameters.
 *
 * @see x402 v2 §5.1.2, "ResourceInfo Schema"; the brief §2.5, "Dynamic (parameterized) routes"
 *
 * @module
 */

import { compileRegistered } from "../route/path.js";
import { collapseSlashes, encodeTemplate } from "../route/path-form.js";
import type { GateRequest } from "../route/request.js";
import type { RouteCandidate } from "../route/route-table.js";

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

/** A route's path in the syntax of catalogs, and what a request has in place of its parameters. */
export interface Place {
  /** Public path with its mounts, e.g. `/users/:id`; `undefined` where a route is a regular expression. */
  readonly routeTemplate: string | undefined;
  /** Decoded: `{ id: "a b" }`; the segments of a wildcard are joined by `/`. */
  readonly pathParams: Readonly<Record<string, string>>;
}

/** Where a request is that met a key. */
export function placeOf(
  { form, path, mountPath }: Pick<RouteCandidate<unknown>, "form" | "path" | "mountPath">,
  request: GateRequest,
): Place {
  const params = form.paramsOf(path) ?? {};
  if (mountPath === "") return { routeTemplate: form.template, pathParams: params };
  return withMount({ routeTemplate: form.template, pathParams: params }, request);
}

/** Puts the mount before a place below it. */
function withMount(place: Place, request: GateRequest): Place {
  const mount = mountOf(request);
  const { routeTemplate } = place;
  const below = routeTemplate === "/" ? "" : routeTemplate;
  return {
    routeTemplate: below === undefined ? undefined : collapseSlashes(`${mount.routeTemplate}${below}`) || "/",
    pathParams: Object.freeze({ ...mount.pathParams, ...place.pathParams }),
  };
}

/** Where a request is that a route with this path got, by the framework's own match. */
export function placeOfRoute(path: string, request: GateRequest): Place | undefined {
  const compiled = compileRegistered(path);
  if (!compiled.ok) return undefined;
  for (const form of compiled.forms) {
    const pathParams = form.paramsOf(request.path);
    if (pathParams !== undefined) return withMount({ routeTemplate: form.template, pathParams }, request);
  }
  return undefined;
}

/** Of a mount whose text is not known the request's own path is all there is. */
function mountOf({ mountPath, mountTemplate }: GateRequest): {
  routeTemplate: string;
  pathParams: Place["pathParams"];
} {
  const template = mountTemplate?.() ?? mountPath;
  const compiled = template === mountPath ? undefined : compileRegistered(template);
  const [form] = compiled?.ok ? compiled.forms : [];
  const pathParams = form?.paramsOf(mountPath);
  if (form === undefined || pathParams === undefined)
    return { routeTemplate: encodeTemplate(mountPath), pathParams: {} };
  return { routeTemplate: form.template === "/" ? "" : form.template, pathParams };
}

/** Whether a mount that a seller wrote is the one by which a request came. */
export function matchesMount(template: string, mountPath: string): boolean {
  if (template === "" || mountPath === "") return template === mountPath;
  const compiled = compileRegistered(template);
  return compiled.ok && compiled.forms.some((form) => form.paramsOf(mountPath) !== undefined);
}
