/**
 * Coverage: whether a request is priced.
 *
 * A request that is written just as a key is priced by that key, and one that no key could be meant by is free; both cost
 * one look. In between, where case, slashes or encodings differ, the app's own router is asked who would get the request,
 * so that there is no second opinion about its settings, its mounts or its version. In doubt a request is priced.
 *
 * @module
 */
import { mayBeTakenUnseen, type Receiver, type ReceiversOf } from "./receivers.js";
import type { RouteCandidate, RouteEntry, RouteQuery, RouteTable } from "./route-table.js";
import { isPlain, isUnsafe, otherSpellings } from "./spelling.js";

/** Whether a request is priced. */
export type Coverage<T> =
  | { readonly kind: "free" }
  | { readonly kind: "priced"; readonly candidate: RouteCandidate<T> }
  /** It is written so that something else may read it as another path, whose price differs. */
  | { readonly kind: "ambiguous" };

/** A request, and whom to ask about it. */
export interface CoverageQuery extends RouteQuery {
  /** Who would get a request of this method for a path; without a path, for the path of this request. */
  readonly receiversOf: ReceiversOf;
  /** The full path, as the app's own router has it. */
  readonly fullPath: string;
}

const FREE = Object.freeze({ kind: "free" });
const AMBIGUOUS = Object.freeze({ kind: "ambiguous" });

/** Decides whether a request is priced, and by which key. */
export function cover<T>(table: RouteTable<T>, query: CoverageQuery): Coverage<T> {
  const candidates = table.find(query);
  return isPlain(query.fullPath) ? coverPlain(candidates, query) : coverOther(table, candidates, query);
}

function coverPlain<T>(candidates: readonly RouteCandidate<T>[], query: CoverageQuery): Coverage<T> {
  for (const candidate of candidates) {
    if (candidate.isExact) return priced(candidate);
    const receivers = query.receiversOf(query.fullPath);
    if (mayBeTakenUnseen(receivers) || isNamed(candidate, receivers.after, query)) return priced(candidate);
  }
  return FREE;
}

/** What a route gets, it gets as it was sent. What is no route may read it otherwise. */
function coverOther<T>(
  table: RouteTable<T>,
  candidates: readonly RouteCandidate<T>[],
  query: CoverageQuery,
): Coverage<T> {
  const hidden = otherSpellings(query.fullPath).flatMap((path) => table.find({ ...query, path, mountPath: "" }));
  const relative = otherSpellings(query.path).flatMap((path) => table.find({ ...query, path }));
  const others = [...hidden, ...relative];
  const [first] = candidates;
  if (first === undefined && others.length === 0) return FREE;
  const isSafe = others.every(({ entry }) => entry === first?.entry) && !isUnsafe(query.fullPath);
  if (first?.isExact && isSafe) return priced(first);

  const receivers = query.receiversOf(query.fullPath);
  const named = candidates.find((candidate) => isNamed(candidate, receivers.after, query));
  if (named !== undefined) return priced(named);
  const exact = candidates.find(({ isExact }) => isExact);
  if (!mayBeTakenUnseen(receivers)) return exact === undefined ? FREE : priced(exact);
  return first !== undefined && isSafe ? priced(first) : AMBIGUOUS;
}

/** Whether one of the routes that get a request is one that a key stands for. */
function isNamed<T>(
  { entry, form, mountPath }: RouteCandidate<T>,
  receivers: readonly Receiver[],
  query: CoverageQuery,
): boolean {
  if (receivers.length === 0) return false;
  if (
    receivers.some(({ samples }) => samples === undefined || samples.some((path) => isWritten(entry, path, mountPath)))
  ) {
    return true;
  }
  // Without a path that is surely the key's there is no telling whom it is meant for.
  if (!form.matches(form.sample)) return true;
  const meant = meantBy(query.receiversOf(mountPath + form.sample).after);
  return receivers.some(({ route }) => meant.includes(route));
}

/** Whether a route's path is written just as a key has it, with the mount or without. */
export function isWritten<T>(entry: RouteEntry<T>, path: string, mountPath: string): boolean {
  const relative = withoutMount(path, mountPath);
  return entry.forms.some((form) => form.matches(path) || form.matches(relative));
}

/** The mount may have parameters, so its segments are counted and not compared: the request has matched it already. */
function withoutMount(path: string, mountPath: string): string {
  return `/${path.split("/").slice(mountPath.split("/").length).join("/")}`;
}

/** The routes that a request written as the key has it is meant for: those that answer, up to the first of them. */
function meantBy(receivers: readonly Receiver[]): readonly object[] {
  const final = receivers.find(({ isFinal }) => isFinal);
  return final === undefined ? receivers.map(({ route }) => route) : [final.route];
}

function priced<T>(candidate: RouteCandidate<T>): Coverage<T> {
  return { kind: "priced", candidate };
}
