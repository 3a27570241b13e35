/**
 * The route table: which priced route a request meets, if any.
 *
 * @module
 */
import type { PathMatcher } from "./compile-path.js";
import type { Method } from "./route-key.js";

/** One key of the table, compiled, with whatever it stands for. */
export interface RouteEntry<T> {
  readonly key: string;
  /** `undefined`: every method but OPTIONS. */
  readonly method: Method | undefined;
  readonly matches: PathMatcher;
  /** Fewer parameters are more specific. */
  readonly parameters: number;
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
        coversMethod(entry.method, method) && (entry.matches(path) || (fullPath !== path && entry.matches(fullPath))),
    );
  };
}

function bySpecificity<T>(a: RouteEntry<T>, b: RouteEntry<T>): number {
  if (a.parameters !== b.parameters) return a.parameters - b.parameters;
  return Number(a.method === undefined) - Number(b.method === undefined);
}

function coversMethod(named: Method | undefined, requested: string): boolean {
  if (named === undefined) return requested !== "OPTIONS";
  return named === requested || (named === "GET" && requested === "HEAD");
}
