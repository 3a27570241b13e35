/**
 * Finds keys that match some of the same requests without one of them being the more specific.
 *
 * @module
 */
import type { FormSegment, PathForm } from "./path-form.js";
import { coversMethod } from "./route-key.js";
import type { RouteEntry } from "./route-table.js";
import { compareForms } from "./specificity.js";

type Pair<T> = readonly [first: RouteEntry<T>, second: RouteEntry<T>];

/** Comparing takes time by the square of the number of keys; a seller with more of them has generated them. */
const MAX_COMPARISONS = 2_000_000;

/** Pairs of keys that overlap and cannot be ordered, as they are written. */
export function findUnordered<T>(entries: readonly RouteEntry<T>[]): readonly Pair<T>[] {
  // Text on its own overlaps with nothing that is not less specific.
  const open = entries.filter(({ forms }) =>
    forms.some(({ segments }) => segments.some(({ kind }) => kind !== "text")),
  );
  const pairs: Pair<T>[] = [];
  let comparisons = 0;
  for (const [at, second] of open.entries()) {
    for (const first of open.slice(0, at)) {
      if (++comparisons > MAX_COMPARISONS) return pairs;
      if (sharesMethod(first, second) && isUnordered(first, second)) pairs.push([first, second]);
    }
  }
  return pairs;
}

/** Whether some method is covered by both. */
export function sharesMethod<T>(a: Pick<RouteEntry<T>, "method">, b: Pick<RouteEntry<T>, "method">): boolean {
  if (a.method === undefined) return b.method !== "OPTIONS";
  return coversMethod(b.method, a.method) || (b.method !== undefined && coversMethod(a.method, b.method));
}

function isUnordered<T>(a: RouteEntry<T>, b: RouteEntry<T>): boolean {
  return a.forms.some((one) =>
    b.forms.some((other) => compareForms(one, other) === "unordered" && overlap(one, other)),
  );
}

/** Whether some path is matched by both. */
function overlap(a: PathForm, b: PathForm): boolean {
  for (let at = 0; ; at++) {
    const [one, other] = [a.segments[at], b.segments[at]];
    if (one === undefined && other === undefined) return true;
    if (one?.kind === "rest" || other?.kind === "rest") return true;
    if (one === undefined || other === undefined || !isCompatible(one, other)) return false;
  }
}

function isCompatible(one: FormSegment, other: FormSegment): boolean {
  return one.kind !== "text" || other.kind !== "text" || one.shape === other.shape;
}
