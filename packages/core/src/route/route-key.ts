/**
 * Route keys: `GET /weather/:city`, or `/weather/:city` for every method except OPTIONS.
 *
 * @module
 */

/** The methods that a key may name. A key for GET covers HEAD, too, because Express serves HEAD through GET. */
export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** A method that a key may name. */
export type Method = (typeof METHODS)[number];

type KeyPath = `/${string}` | `{/${string}`;

/** A route key: `"GET /weather"`. Without a method it covers every method except OPTIONS. */
export type RouteKey = `${Method} ${KeyPath}` | KeyPath;

/** The parts of a key, or a description of valid keys. */
export type ParsedRouteKey =
  | { readonly ok: true; readonly method: Method | undefined; readonly path: string }
  | { readonly ok: false; readonly expected: string };

const KEY = /^(?:(?<method>\S+) )?(?<path>\{?\/\S*)$/;

/** Parses a key. The method is in upper case, and one space separates it from the path. */
export function parseRouteKey(key: string): ParsedRouteKey {
  const { method, path } = KEY.exec(key)?.groups ?? {};
  if (path === undefined) return { ok: false, expected: explainShape(key) };
  if (method !== undefined && !isMethod(method)) return { ok: false, expected: explainMethod(method) };
  return { ok: true, method, path };
}

/** Whether a key covers requests of a method. */
export function coversMethod(named: Method | undefined, requested: string): boolean {
  if (named === undefined) return requested !== "OPTIONS";
  return named === requested || (named === "GET" && requested === "HEAD");
}

const SHAPE = '"<METHOD> <path>" with a path that starts with "/"';

function explainShape(key: string): string {
  const words = key.trim().split(/\s+/);
  const [path = ""] = words.slice(-1);
  if (path === "*") return `${SHAPE}; for every path write ${words.length > 1 ? `"${words[0]} /*"` : '"/*"'}`;
  return SHAPE;
}

function explainMethod(method: string): string {
  const methods = `one of the methods ${METHODS.join(", ")} before the path`;
  if (/^(?:all|any|use|\*)$/i.test(method)) return `${methods}; for every method write the path alone`;
  const upper = method.toUpperCase();
  return isMethod(upper) ? `${methods}; in capitals, at position 1: ${upper}` : `${methods}, at position 1`;
}

function isMethod(text: string): text is Method {
  return METHODS.some((method) => method === text);
}
