/**
 * The route table: which priced route a request meets, if any.
 *
 * @module
 */
import type { Method } from "./route-key.js";

/** One key of the table, compiled, with whatever it stands for. */
export interface RouteEntry<T> {
  readonly key: string;
  /** `undefined`: every method but OPTIONS. */
  readonly method: Method | undefined;
  /** Matches raw pathnames. */
  readonly regexp: RegExp;
  /** Sorts entries as texts: the more specific path first. */
  readonly specificity: string;
  readonly value: T;
}

/** What a request is looked up by. */
export interface RouteQuery {
  readonly method: string;
  /** Raw pathname relative to where the table is mounted, as Express matches it: `/weather`. */
  readonly path: string;
  /** Where the table is mounted: `/api`, or `""` at the top. */
  readonly mountPath: string;
}

/** Finds the route of a request. */
export type RouteTable<T> = (query: RouteQuery) => RouteEntry<T> | undefined;

/** Builds the table. The most specific key wins, whatever the order they are written in. */
export function createRouteTable<T>(entries: readonly RouteEntry<T>[]): RouteTable<T> {
  const ordered = [...entries].sort(bySpecificity);
  return ({ method, path, mountPath }) => {
    const fullPath = mountPath === "" ? path : mountPath + path;
    return ordered.find(
      (entry) =>
        coversMethod(entry.method, method) &&
        (entry.regexp.test(path) || (fullPath !== path && entry.regexp.test(fullPath))),
    );
  };
}

function bySpecificity<T>(a: RouteEntry<T>, b: RouteEntry<T>): number {
  if (a.specificity !== b.specificity) return a.specificity < b.specificity ? -1 : 1;
  return methodRank(a.method) - methodRank(b.method);
}

/** HEAD before GET, which covers it too, and a named method before any. */
function methodRank(method: Method | undefined): number {
  if (method === undefined) return 2;
  return method === "HEAD" ? 0 : 1;
}

function coversMethod(named: Method | undefined, requested: string): boolean {
  if (named === undefined) return requested !== "OPTIONS";
  return named === requested || (named === "GET" && requested === "HEAD");
}
