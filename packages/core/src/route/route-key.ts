/**
 * Route keys: `GET /weather/:city`, or `/weather/:city` for any method.
 *
 * @module
 */

/** Methods a key may name. A key for GET covers HEAD too, as Express serves HEAD through GET. */
export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** A method that a key may name. */
export type Method = (typeof METHODS)[number];

/** How a route is written: `"GET /weather"`; without a method it is priced for every method but OPTIONS. */
export type RouteKey = `${Method} /${string}` | `/${string}`;

/** A key taken apart, or what is wrong with it. */
export type ParsedRouteKey =
  | { readonly ok: true; readonly method: Method | undefined; readonly path: string }
  | { readonly ok: false; readonly expected: string };

const KEY = /^(?:(?<method>\S+) )?(?<path>\/\S*)$/;

/** Takes a key apart. Methods are upper case and separated from the path by one space. */
export function parseRouteKey(key: string): ParsedRouteKey {
  const { method, path } = KEY.exec(key)?.groups ?? {};
  if (path === undefined) return { ok: false, expected: '"<METHOD> <path>" with a path that starts with "/"' };
  if (method === undefined) return { ok: true, method: undefined, path };
  if (!isMethod(method)) return { ok: false, expected: `one of the methods ${METHODS.join(", ")} before the path` };
  return { ok: true, method, path };
}

function isMethod(text: string): text is Method {
  return METHODS.some((method) => method === text);
}
