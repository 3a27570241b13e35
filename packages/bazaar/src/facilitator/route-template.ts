/**
 * `routeTemplate`: the name under which all requests of a route with parameters are one entry, e.g. `/users/:id`.
 *
 * @see x402 v2 extension `bazaar`, "Dynamic routes"
 * @module
 */

const FORM = /^\/[a-zA-Z0-9_/:.\-~%]+$/;
const MAX_LENGTH = 512;
const MAX_DECODINGS = 5;

/** Says what is wrong with a template, for a payment for `pathname`; `undefined` when nothing is. Total. */
export function problemOfTemplate(template: unknown, pathname: string): string | undefined {
  if (typeof template !== "string") return "is no text";
  if (template.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  if (!FORM.test(template)) return "is no path of letters, digits and :param segments";
  const decoded = decodeFully(template);
  if (decoded === undefined) return "is not percent-encoded properly";
  if (decoded.includes("..") || decoded.split("/").includes(".")) return "leads out of its own path";
  if (decoded.includes("://") || decoded.includes("//") || decoded.includes("\\")) return "leads to another origin";
  if (/[?#\s]/.test(decoded)) return "has more than a path";
  return matches(template, pathname) ? undefined : `does not match the path that was paid for, ${shorten(pathname)}`;
}

/** Decodes until nothing changes, since a reader downstream may decode once more than the last one did. */
function decodeFully(text: string): string | undefined {
  let decoded = text;
  for (let pass = 0; pass < MAX_DECODINGS; pass++) {
    const next = decode(decoded);
    if (next === undefined || next === decoded) return next;
    decoded = next;
  }
  return undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Whether a request for the path can be one of the template's: literal segments agree, parameters hold anything. */
function matches(template: string, pathname: string): boolean {
  const wanted = segmentsOf(template);
  const given = segmentsOf(pathname);
  // A wildcard at the end is `:varN`, and stands for the rest of the path, which may be nothing.
  const isOpen = /^:var\d+$/.test(wanted.at(-1) ?? "");
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  const isLongEnough = isOpen ? given.length >= fixed.length : given.length === fixed.length;
  return isLongEnough && fixed.every((segment, at) => segment.includes(":") || isSame(segment, given[at] ?? ""));
}

function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter((segment) => segment !== "");
}

/** Routers differ in whether case matters, and proxies in what they encode. */
function isSame(one: string, other: string): boolean {
  return (decode(one) ?? one).toLowerCase() === (decode(other) ?? other).toLowerCase();
}

function shorten(path: string): string {
  return path.length > 80 ? `${path.slice(0, 77)}...` : path;
}
