/**
 * Compiles the path of a route key to a matcher.
 *
 * A path means what it means to Express: the same major version of path-to-regexp as Express 5's router matches the same
 * raw, undecoded pathname. A second opinion about paths is how priced routes become free.
 *
 * @module
 */
import { parse, pathToRegexp } from "path-to-regexp";
import { specificityOf } from "./specificity.js";

/** A compiled path, or what is wrong with it. */
export type CompiledPath =
  | {
      readonly ok: true;
      /** Matches the raw pathnames of this route. */
      readonly regexp: RegExp;
      /** Sorts paths as texts: the more specific path first. */
      readonly specificity: string;
    }
  | { readonly ok: false; readonly expected: string };

/** Compiles a path. Case and a trailing slash do not matter, which covers every setting an app can have. */
export function compilePath(path: string): CompiledPath {
  if (/[?#]/.test(path)) {
    return { ok: false, expected: "a path without query and fragment, and optional parts as in /users{/:id}" };
  }
  if (path.endsWith("//")) return { ok: false, expected: "a path that ends in at most one slash" };
  try {
    const loose = withoutTrailingSlash(path);
    const { regexp } = pathToRegexp(loose, { sensitive: false, end: true, trailing: true });
    return { ok: true, regexp, specificity: specificityOf(parse(loose).tokens) };
  } catch (error) {
    return { ok: false, expected: `a path as Express 5 writes it (${explain(error)})` };
  }
}

/** As Express's router has it: a route for `/a/` serves `/a` too, unless the app is strict, and the root stays as it is. */
function withoutTrailingSlash(path: string): string {
  return path !== "/" && path.endsWith("/") ? path.slice(0, -1) : path;
}

function explain(error: unknown): string {
  return error instanceof Error ? (error.message.split(";")[0] ?? "") : "unparsable";
}
