/**
 * The resource under which a payment is listed: the first half of an entry's key. Checks the URL, its host and the route
 * template, because a catalog must not send agents into a private network or to another origin.
 *
 * @see x402 v2 extension `bazaar`, "Dynamic routes"
 * @module
 */
import { BlockList, isIP } from "node:net";
import { isJsonObject, matchesTemplate, problemOfTemplate } from "@farebox/core/protocol";
import { MAX_URL } from "../document-limits.js";
import { problemOfIdentifier } from "../tool-identifier.js";

/** Where a payment says that its service is. */
export interface ResourceClaim {
  readonly url: unknown;
  /** `""` for HTTP. */
  readonly toolName: string;
  readonly routeTemplate: unknown;
  /** The declared values of the template's parameters. */
  readonly pathParams: unknown;
  /** Whether to list `http:` URLs and private hosts. */
  readonly allowLocal: boolean;
}

/** A resource, or why it is not listed. */
export type ListedResource =
  | { readonly ok: true; readonly resource: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads the resource of a payment. For HTTP it is the URL without query and fragment, in one spelling, or the origin and the route template.
 * An `mcp:` URL is the identifier of the declared tool, to the letter. Never throws.
 */
export function listedResource(claim: ResourceClaim): ListedResource {
  const { url } = claim;
  if (typeof url !== "string" || url === "") return refuse("the payment names no resource.url");
  const problem = problemOfUrl(url);
  if (problem !== undefined) return refuse(`resource.url ${problem}`);
  const parsed = new URL(url);
  return parsed.protocol === "mcp:" ? listedTool(url, claim) : listedUrl(parsed, claim);
}

function problemOfUrl(url: string): string | undefined {
  if (url.length > MAX_URL) return `is longer than ${MAX_URL} characters`;
  return /[\s\p{Cc}\p{Surrogate}]/u.test(url) || !URL.canParse(url) ? "is not an absolute URL" : undefined;
}

/** Why a catalog cannot ask the server of a tool at this URL, as the end of a sentence. Never throws. */
export function problemOfServer(url: unknown, allowLocal: boolean): string | undefined {
  if (typeof url !== "string") return "is not an absolute URL";
  return problemOfUrl(url) ?? problemOfOrigin(new URL(url), allowLocal);
}

function listedTool(url: string, { toolName, routeTemplate }: ResourceClaim): ListedResource {
  const problem = problemOfIdentifier(url, toolName);
  if (problem !== undefined) return refuse(`resource.url ${problem}`);
  return routeTemplate === undefined ? { ok: true, resource: url } : refuse("an mcp: URL has no routeTemplate");
}

function listedUrl(url: URL, { routeTemplate, pathParams, allowLocal }: ResourceClaim): ListedResource {
  const { origin, pathname } = url;
  const problem = problemOfOrigin(url, allowLocal);
  if (problem !== undefined) return refuse(`resource.url ${problem}`);
  if (routeTemplate === undefined) return { ok: true, resource: origin + inOneSpelling(pathname) };
  const badTemplate = problemOfPath(routeTemplate, pathname, pathParams);
  return badTemplate === undefined
    ? { ok: true, resource: `${origin}${routeTemplate}` }
    : refuse(`routeTemplate ${badTemplate}`);
}

/** Without escapes of characters that need none, and with capitals in the others. @see RFC 3986, 6.2.2 */
function inOneSpelling(pathname: string): string {
  return pathname.replaceAll(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escaped.toUpperCase();
  });
}

function problemOfOrigin({ protocol, hostname, username, password }: URL, allowLocal: boolean): string | undefined {
  if (protocol !== "https:" && protocol !== "http:") return "is neither https nor an MCP identifier";
  if (username !== "" || password !== "") return "holds a user name or a password";
  // The same server has a second name with it.
  if (hostname.endsWith(".")) return "has a host with a dot at its end";
  if (allowLocal) return undefined;
  if (protocol !== "https:") return "is not https";
  return isPublicHost(hostname) ? undefined : "has a private host";
}

function refuse(reason: string): ListedResource {
  return { ok: false, reason };
}

/** Checks a template such as `/users/:id` against the path of its payment. Never throws. */
function problemOfPath(template: unknown, pathname: string, pathParams: unknown): string | undefined {
  const problem = problemOfTemplate(template);
  if (problem !== undefined || typeof template !== "string") return problem;
  const params = isJsonObject(pathParams) ? pathParams : {};
  return matchesTemplate(template, pathname, params)
    ? undefined
    : `does not match the path of the payment, ${shorten(pathname)}`;
}

function shorten(path: string): string {
  return path.length > 80 ? `${path.slice(0, 77)}...` : path;
}

/** Private, reserved and documentation addresses of IANA's registries, and addresses that stand for another one. */
const LOCAL_IPV4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4"],
];
/**
 * Global addresses begin with the bits 001. The first three ranges are all others: loopback, mapped and translated IPv4, local,
 * link-local, multicast. Then Teredo and other protocols' addresses, documentation, 6to4.
 */
const LOCAL_IPV6 = ["::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** One list per family: a list of both would match an IPv4 address with the ranges of mapped addresses. */
const LOCAL = { ipv4: listOf("ipv4", LOCAL_IPV4), ipv6: listOf("ipv6", LOCAL_IPV6) };

function listOf(family: "ipv4" | "ipv6", ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", prefix] = range.split("/");
    list.addSubnet(network, Number(prefix), family);
  }
  return list;
}

/** Host names that no public resolver knows. */
const LOCAL_NAME = /^[^.]*$|\.(?:localhost|local|localdomain|internal|intranet|lan|home\.arpa)$/;

/** Whether a host (`URL.hostname`, or an address) may be public. Makes no DNS request. */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const family = isIP(host);
  if (family !== 0) return family === 4 ? !LOCAL.ipv4.check(host, "ipv4") : !LOCAL.ipv6.check(host, "ipv6");
  return !LOCAL_NAME.test(host.toLowerCase());
}
