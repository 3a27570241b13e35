/**
 * Specificity: which of two keys that take the same request is meant.
 *
 * @module
 */
import type { FormSegment, PathForm } from "./path-form.js";

/** What one form is to another; `"unordered"` when each takes requests that the other does not, and both take some. */
export type Specificity = "more" | "less" | "same" | "unordered";

/** Compares two forms that take the same path, segment by segment: text, then parameter, then wildcard. */
export function compareForms(a: PathForm, b: PathForm): Specificity {
  const length = Math.max(a.ranks.length, b.ranks.length);
  let isMore = false;
  let isLess = false;
  for (let at = 0; at < length; at++) {
    const difference = rankAt(a, at) - rankAt(b, at);
    if (difference < 0) isMore = true;
    if (difference > 0) isLess = true;
  }
  if (isMore && isLess) return "unordered";
  if (isMore) return "more";
  return isLess ? "less" : "same";
}

/** Beyond its end a form takes nothing, unless it ends in a wildcard, which takes everything from there on. */
function rankAt({ ranks }: PathForm, at: number): number {
  return ranks[at] ?? (ranks.at(-1) === 2 || ranks.at(-1) === 1.5 ? 2 : 0);
}

/** Whether one path takes everything that another takes, form by form. */
export function coversPath(wide: readonly PathForm[], narrow: readonly PathForm[]): boolean {
  return narrow.every((form) => wide.some((other) => coversForm(other, form)));
}

function coversForm(wide: PathForm, narrow: PathForm): boolean {
  if (wide.shape === narrow.shape) return true;
  for (const [at, segment] of wide.segments.entries()) {
    const other = narrow.segments[at];
    if (other === undefined) return false;
    if (segment.kind === "rest") return segment.shape === WILDCARD && at === wide.segments.length - 1;
    if (!coversSegment(segment, other)) return false;
  }
  return wide.segments.length === narrow.segments.length;
}

const PARAMETER = "\0param";
const WILDCARD = "\0wildcard";

function coversSegment(wide: FormSegment, narrow: FormSegment): boolean {
  return wide.shape === narrow.shape || (wide.shape === PARAMETER && narrow.kind !== "rest");
}
