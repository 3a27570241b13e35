/**
 * The route that a key was probably meant for.
 *
 * @module
 */
import { fold } from "../route/path-form.js";
import type { RouteEntry } from "../route/route-table.js";
import type { RegisteredRoute } from "../route/router-view.js";

/** More than this is another word. */
const MAX_TYPOS = 2;

/** The registered route whose path is nearest to a key's: a letter or two off, or with a mount that the key leaves out. */
export function nearest(
  entry: Pick<RouteEntry<unknown>, "key" | "method">,
  routes: readonly RegisteredRoute[],
): RegisteredRoute | undefined {
  const path = normalise(entry.key.slice(entry.key.indexOf("/")));
  const distances = routes.flatMap((route) => {
    const distance = route.path === undefined ? undefined : distanceTo(path, normalise(route.path));
    return distance === undefined ? [] : [{ route, distance }];
  });
  return distances.sort((a, b) => a.distance - b.distance)[0]?.route;
}

/** Case, a slash at the end and the names of parameters do not count. */
function normalise(path: string): string {
  const names = fold(path).replace(/[:*]"?[\w$]+"?|\[[\w$]+\]/g, ":");
  return names.endsWith("/") ? names.slice(0, -1) : names;
}

function distanceTo(path: string, other: string): number | undefined {
  if (path === other) return 0;
  if (path !== "" && other.endsWith(path)) return 1;
  if (other !== "" && path.endsWith(other)) return 1;
  const typos = countTypos(path, other);
  return typos <= MAX_TYPOS && typos * 3 < path.length ? typos : undefined;
}

/** Longer paths are not compared: this costs the product of their lengths. */
const MAX_COMPARED = 200;

/** Levenshtein's distance. */
function countTypos(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_TYPOS || a.length > MAX_COMPARED) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
