/**
 * Compiles the path of a route key to a matcher.
 *
 * A path means what it means to Express: the same major version of path-to-regexp as Express 5's router matches the same
 * raw, undecoded pathname. A second opinion about paths is how priced routes become free.
 *
 * @module
 */
import { parse, pathToRegexp } from "path-to-regexp";

/** Whether a raw pathname is one of this route. */
export type PathMatcher = (pathname: string) => boolean;

/** A compiled path, or what is wrong with it. */
export type CompiledPath =
  | { readonly ok: true; readonly matches: PathMatcher; readonly parameters: number }
  | { readonly ok: false; readonly expected: string };

/** Compiles a path. Case and a trailing slash do not matter, which covers every setting an app can have. */
export function compilePath(path: string): CompiledPath {
  try {
    const { tokens } = parse(path);
    const { regexp } = pathToRegexp(path, { sensitive: false, end: true, trailing: true });
    const parameters = tokens.filter((token) => token.type !== "text").length;
    return { ok: true, matches: (pathname) => regexp.test(pathname), parameters };
  } catch (error) {
    return { ok: false, expected: `a path as Express 5 writes it (${explain(error)})` };
  }
}

function explain(error: unknown): string {
  return error instanceof Error ? (error.message.split(";")[0] ?? "") : "unparsable";
}
