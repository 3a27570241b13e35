/**
 * Coverage: decides whether a request is priced, and by which key.
 *
 *   spelled exactly as a key                          priced by that key
 *   no key may match                                  free
 *   case, slashes or encodings differ from the key    the app's own router is asked which handler would receive the request
 *
 * Paths are never guessed, because the router's settings, mounts and version decide. In doubt a request is priced or refused.
 *
 * @module
 */
import { collapseSlashes } from "./path-form.js";
import type { RouteCandidate, RouteEntry, RouteQuery, RouteTable } from "./route-table.js";
import { mayBeTakenUnseen, type Receiver, type ReceiversOf } from "./router-view.js";

/** Whether a request is priced. */
export type Coverage<T> =
  | { readonly kind: "free" }
  | { readonly kind: "priced"; readonly candidate: RouteCandidate<T> }
  /** Another handler may read the path as a different one with a different price. */
  | { readonly kind: "ambiguous" };

/** A request, and the router to ask about it. */
export interface CoverageQuery extends RouteQuery {
  readonly receiversOf: ReceiversOf;
  /** Whether the router is Express 4's, whose wildcards may be empty, and which splits segments in more ways. */
  readonly hasOldRouter: boolean;
  /** Whether routers may read another path than `path`. */
  readonly isUnclear: boolean;
  /** The full path, as the app's router gets it. */
  readonly fullPath: string;
}

const FREE = Object.freeze({ kind: "free" });
const AMBIGUOUS = Object.freeze({ kind: "ambiguous" });

/** Decides whether a request is priced, and by which key. */
export function cover<T>(table: RouteTable<T>, query: CoverageQuery): Coverage<T> {
  const candidates = findLikely(table, query, query);
  if (query.isUnclear) return coverUnclear(table, candidates, query);
  return isPlain(query.fullPath) ? coverPlain(candidates, query) : coverOther(table, candidates, query);
}

/** The keys that may match. Generous matches count only for Express 4's router. */
function findLikely<T>(
  table: RouteTable<T>,
  query: RouteQuery,
  { hasOldRouter }: CoverageQuery,
): readonly RouteCandidate<T>[] {
  const candidates = table.find(query);
  return hasOldRouter ? candidates : candidates.filter(({ match }) => match !== "generous");
}

function coverPlain<T>(candidates: readonly RouteCandidate<T>[], query: CoverageQuery): Coverage<T> {
  for (const candidate of candidates) {
    if (candidate.match === "exact") return priced(candidate);
    const receivers = query.receiversOf();
    if (isNamed(candidate, receivers.after, query)) return priced(candidate);
    if (mayBeTakenUnseen(receivers)) return candidate.match === "spelling" ? priced(candidate) : AMBIGUOUS;
  }
  return FREE;
}

/** A path with unusual characters. Routes receive it as it was sent; other middleware may decode it differently. */
function coverOther<T>(
  table: RouteTable<T>,
  candidates: readonly RouteCandidate<T>[],
  query: CoverageQuery,
): Coverage<T> {
  const { method, mountPath } = query;
  const find = (path: string, mount: string) => findLikely(table, { method, path, mountPath: mount }, query);
  const hidden = otherSpellings(query.fullPath).flatMap((path) => find(path, ""));
  const relative = otherSpellings(query.path).flatMap((path) => find(path, mountPath));
  const others = [...hidden, ...relative];
  const [first] = candidates;
  if (first === undefined && others.length === 0) return FREE;
  const isSafe = others.every(({ entry }) => entry === first?.entry) && !isUnsafe(query.fullPath);
  if (first?.match === "exact" && isSafe) return priced(first);

  const receivers = query.receiversOf();
  const named = candidates.find((candidate) => isNamed(candidate, receivers.after, query));
  if (named !== undefined) return priced(named);
  const exact = candidates.find(({ match }) => match === "exact");
  if (!mayBeTakenUnseen(receivers)) return exact === undefined ? FREE : priced(exact);
  return first !== undefined && isSafe ? priced(first) : AMBIGUOUS;
}

/** If the path itself is uncertain, only the router's result counts. */
function coverUnclear<T>(
  table: RouteTable<T>,
  candidates: readonly RouteCandidate<T>[],
  query: CoverageQuery,
): Coverage<T> {
  const receivers = query.receiversOf();
  const named = candidates.find((candidate) => isNamed(candidate, receivers.after, query));
  if (named !== undefined) return priced(named);
  if (mayBeTakenUnseen(receivers)) return AMBIGUOUS;
  const { method, mountPath } = query;
  const paths = receivers.after.flatMap(({ samples }) => samples ?? []);
  const isPriced = (path: string) =>
    table.find({ method, path, mountPath: "" }).some(({ match }) => match !== "generous");
  const isUnknown = receivers.after.some(({ samples }) => samples === undefined);
  return isUnknown || paths.some((path) => isPriced(path) || isPriced(withoutMount(path, mountPath)))
    ? AMBIGUOUS
    : FREE;
}

/** Whether one of the routes that receive a request belongs to a key. */
function isNamed<T>(
  { entry, form, match, mountPath }: RouteCandidate<T>,
  receivers: readonly Receiver[],
  query: CoverageQuery,
): boolean {
  if (receivers.length === 0) return false;
  if (
    receivers.some(({ samples }) => samples === undefined || samples.some((path) => isWritten(entry, path, mountPath)))
  ) {
    return true;
  }
  // The key has no path that is certain to be its own, so its routes cannot be told from others.
  if (!form.matches(form.sample)) return true;
  if (match === "generous") return false;
  const sample = mountPath + form.sample;
  const { after, beyond } = query.receiversOf(sample, true);
  const isOwn = ({ samples }: Receiver) => samples?.some((path) => isWritten(entry, path, mountPath)) === true;
  // A key with its own routes does not price other routes that would receive its requests, too.
  if ([...after, ...beyond].some(isOwn)) return false;
  const meant = meantBy(query.receiversOf(sample).after);
  return receivers.some(({ route }) => meant.includes(route));
}

/** Whether a route's path is spelled exactly as a key, with the mount or without. */
function isWritten<T>(entry: RouteEntry<T>, path: string, mountPath: string): boolean {
  const relative = withoutMount(path, mountPath);
  return entry.forms.some((form) => form.matches(path) || form.matches(relative));
}

/** Removes the mount. Its segments are counted and not compared, because they may be parameters and have matched already. */
export function withoutMount(path: string, mountPath: string): string {
  return `/${path.split("/").slice(mountPath.split("/").length).join("/")}`;
}

/** The routes that respond to a request spelled as the key: the first that always responds, or all of them. */
function meantBy(receivers: readonly Receiver[]): readonly object[] {
  const final = receivers.find(({ isFinal }) => isFinal);
  return final === undefined ? receivers.map(({ route }) => route) : [final.route];
}

function priced<T>(candidate: RouteCandidate<T>): Coverage<T> {
  return { kind: "priced", candidate };
}

const SUSPICIOUS = /[\\%]|\/\/|\/\.|[^\x21-\x7e]|^[^/]/;

/** Whether a path has only one reading, apart from case and a trailing slash. */
export function isPlain(path: string): boolean {
  return !SUSPICIOUS.test(path);
}

/** Two proxies in a row decode twice. More does not occur in practice. */
const MAX_DECODINGS = 2;

/** The other paths that a handler or proxy may read a path as. */
export function otherSpellings(path: string): readonly string[] {
  const spellings = new Set<string>();
  let decoded = path;
  for (let round = 0; round <= MAX_DECODINGS; round++) {
    // NUL ends a string in C.
    const slashed = decoded.replaceAll("\\", "/").split("\0", 1).join();
    spellings.add(collapseSlashes(slashed)).add(resolveDots(slashed));
    decoded = decodeOnce(decoded);
  }
  spellings.delete(path);
  return [...spellings];
}

const UNSAFE = /\\|%5c|%2f|%[01][0-9a-f]|[^\x20-\x7e\x80-\xff]|\/\/|\/\.{1,2}(?:\/|$)/i;

/** Whether a path, as sent or decoded, contains dot segments, backslashes, hidden separators or control characters. */
export function isUnsafe(path: string): boolean {
  let decoded = path;
  for (let round = 0; round <= MAX_DECODINGS; round++) {
    if (UNSAFE.test(decoded)) return true;
    decoded = decodeOnce(decoded);
  }
  return false;
}

/** Decodes ASCII only. Other characters affect neither segments nor the names of routes. */
function decodeOnce(path: string): string {
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function resolveDots(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "." && segment !== "") segments.push(segment);
  }
  return `/${segments.join("/")}`;
}
