/**
 * The resource under which a payment is listed: the first half of an entry's key.
 *
 * @module
 */
import { isPublicHost } from "./public-host.js";
import { problemOfTemplate } from "./route-template.js";

/** What the resource is told from. */
export interface ResourceClaim {
  readonly url: unknown;
  readonly type: "http" | "mcp";
  readonly routeTemplate: unknown;
  /** Whether `http:` and hosts that the public cannot reach are listed too. */
  readonly allowLocal: boolean;
}

/** A resource, or why it is not listed. */
export type ListedResource =
  | { readonly ok: true; readonly resource: string }
  | { readonly ok: false; readonly reason: string };

const MAX_URL = 2_048;

/**
 * Yields the resource: for HTTP the URL without query and fragment, or origin and template where there is one; for MCP
 * the identifier, and `mcp:` URLs untouched, because they have no origin. Total.
 */
export function listedResource(claim: ResourceClaim): ListedResource {
  const { url } = claim;
  if (typeof url !== "string" || url === "") return no("the payment names no resource.url");
  if (url.length > MAX_URL) return no(`resource.url is longer than ${MAX_URL} characters`);
  if (/[\s\p{Cc}\p{Surrogate}]/u.test(url) || !URL.canParse(url)) return no("resource.url is no absolute URL");
  const parsed = new URL(url);
  return parsed.protocol === "mcp:" ? listedTool(url, claim) : listedUrl(parsed, claim);
}

function listedTool(url: string, { type, routeTemplate }: ResourceClaim): ListedResource {
  if (type !== "mcp") return no("an mcp: URL is listed only for an MCP tool");
  return routeTemplate === undefined ? { ok: true, resource: url } : no("an mcp: URL has no routeTemplate");
}

function listedUrl(url: URL, { routeTemplate, allowLocal }: ResourceClaim): ListedResource {
  const { origin, pathname } = url;
  const problem = problemOfOrigin(url, allowLocal);
  if (problem !== undefined) return no(problem);
  if (routeTemplate === undefined) return { ok: true, resource: origin + pathname };
  const badTemplate = problemOfTemplate(routeTemplate, pathname);
  return badTemplate === undefined
    ? { ok: true, resource: `${origin}${routeTemplate}` }
    : no(`routeTemplate ${badTemplate}`);
}

function problemOfOrigin({ protocol, hostname, username, password }: URL, allowLocal: boolean): string | undefined {
  if (protocol !== "https:" && protocol !== "http:") return "resource.url is neither https nor an MCP identifier";
  if (username !== "" || password !== "") return "resource.url has a name or a password in it";
  if (allowLocal) return undefined;
  if (protocol !== "https:") return "resource.url is not https";
  return isPublicHost(hostname) ? undefined : "resource.url is on a host that the public cannot reach";
}

function no(reason: string): ListedResource {
  return { ok: false, reason };
}
