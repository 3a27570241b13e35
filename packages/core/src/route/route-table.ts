/**
 * The route table: finds the keys that may match a request, the most specific first.
 *
 *   createRouteTable   looks a path up in the trie, and sorts the keys found
 *   compareForms       which of two forms is more specific
 *   createRouteTrie    the tree of forms by their segments
 *
 * @module
 */
import { type FormFamily, type FormSegment, fold, type PathForm } from "./path-form.js";
import { coversMethod, type Method } from "./route-key.js";

/** One compiled key of the table, with its value. */
export interface RouteEntry<T> {
  readonly key: string;
  /** `undefined`: every method except OPTIONS. */
  readonly method: Method | undefined;
  readonly forms: readonly PathForm[];
  readonly value: T;
}

/** The parts of a request that are looked up. */
export interface RouteQuery {
  /** `undefined`: any method. */
  readonly method: string | undefined;
  /** Raw pathname relative to the mount, as Express matches it, e.g. `/weather`. */
  readonly path: string;
  /** The mount of the table, e.g. `/api`, or `""` at the top. */
  readonly mountPath: string;
}

/** A key that matches a request. */
export interface RouteCandidate<T> {
  readonly entry: RouteEntry<T>;
  readonly form: PathForm;
  /**
   * How the path matches.
   *
   * - `exact`: spelled exactly as the key.
   * - `spelling`: in another case, or with other slashes. The settings of a router decide whether it matches.
   */
  readonly match: "exact" | "spelling";
  /** The path that matches the key: relative to the mount, or the full path. */
  readonly path: string;
  /** The part of the full path before it. */
  readonly mountPath: string;
  /** That part as the seller wrote it. Default: the request's. */
  readonly mountTemplate?: () => string;
}

/** All keys of a seller. */
export interface RouteTable<T> {
  /** In the order in which they were written. */
  readonly entries: readonly RouteEntry<T>[];
  /** The keys that may match a request, the most specific first, in any order of writing. */
  find(query: RouteQuery): readonly RouteCandidate<T>[];
}

interface Leaf<T> {
  readonly entry: RouteEntry<T>;
  readonly family: FormFamily;
  /** Position of the key in the order of writing. */
  readonly position: number;
}

/** Builds the table. The time of a lookup does not depend on the number of keys. */
export function createRouteTable<T>(entries: readonly RouteEntry<T>[]): RouteTable<T> {
  const trie = createRouteTrie<Leaf<T>>();
  for (const [position, entry] of entries.entries()) {
    // The first form of a family has a place in the trie for all of them.
    for (const form of entry.forms) {
      if (form === form.family.forms[0]) trie.add(form, { entry, family: form.family, position });
    }
  }
  const look = ({ method, path, mountPath }: RouteQuery): readonly Found<T>[] =>
    trie.find(path).flatMap(({ entry, family, position }): Found<T>[] => {
      if (method !== undefined && !coversMethod(entry.method, method)) return [];
      const found = family.find(path);
      if (found === undefined) return [];
      return [{ entry, form: found.form, position, match: found.isExact ? "exact" : "spelling", path, mountPath }];
    });
  return {
    entries,
    find(query) {
      const relative = look(query);
      if (query.mountPath === "") return inOrder(relative);
      const full = look({ ...query, path: belowMount(query.mountPath, query.path), mountPath: "" });
      return inOrder([...relative, ...full]);
    },
  };
}

/** Joins a mount and a path. The `/` of a router mounted at `/api` is `/api`. */
export function belowMount(mountPath: string, path: string): string {
  return path === "/" && mountPath !== "" ? mountPath : mountPath + path;
}

type Found<T> = RouteCandidate<T> & Pick<Leaf<T>, "position">;

/** Sorts keys by specificity. There is rarely more than one. */
function inOrder<T>(found: readonly Found<T>[]): readonly RouteCandidate<T>[] {
  if (found.length < 2) return found;
  const written = [...found].sort((a, b) => a.position - b.position || a.match.localeCompare(b.match));
  const remaining = oncePerKey(written);
  const ordered: Found<T>[] = [];
  while (remaining.length > 0) {
    const first = remaining.findIndex((one) => !remaining.some((other) => goesBefore(other, one)));
    // If the order were ever circular, the key that was written first would win.
    ordered.push(...remaining.splice(Math.max(first, 0), 1));
  }
  return ordered;
}

/** Keeps one form of each key: the one that matches best, and of those the most specific. */
function oncePerKey<T>(found: readonly Found<T>[]): Found<T>[] {
  const best = new Map<number, Found<T>>();
  for (const one of found) {
    const other = best.get(one.position);
    if (other === undefined || (one.match === other.match && compareForms(one.form, other.form) === "more")) {
      best.set(one.position, one);
    }
  }
  return [...best.values()];
}

function goesBefore<T>(a: Found<T>, b: Found<T>): boolean {
  if (a === b) return false;
  return compareFound(a, b) === "more";
}

/** Compares two keys: by the set of their paths, then by the matching forms, then by the method. */
function compareFound<T>(a: Found<T>, b: Found<T>): Specificity {
  const [isNarrower, isWider] = [coversPath(b.entry.forms, a.entry.forms), coversPath(a.entry.forms, b.entry.forms)];
  if (isNarrower !== isWider) return isNarrower ? "more" : "less";
  const byForm = compareForms(a.form, b.form);
  if (byForm !== "same") return byForm;
  const difference = methodRank(a.entry.method) - methodRank(b.entry.method);
  if (difference === 0) return "same";
  return difference < 0 ? "more" : "less";
}

/** HEAD before GET, which covers it too, and a named method before any. */
function methodRank(method: Method | undefined): number {
  if (method === undefined) return 2;
  return method === "HEAD" ? 0 : 1;
}

/** How specific one form is compared with another. `unordered`: they overlap, and each also matches paths that the other does not. */
export type Specificity = "more" | "less" | "same" | "unordered";

/** Compares two forms that match the same path, segment by segment: text is more specific than a parameter, which is more than a wildcard. */
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

/** Whether a path says more about a request than another one, or than none. */
export function isMoreSpecific(path: PathForm | undefined, other: PathForm | undefined): boolean {
  if (path === undefined || other === undefined) return other === undefined && path !== undefined;
  return compareForms(path, other) === "more";
}

/** After its end a form matches nothing, unless it ends in a wildcard, which matches everything. */
function rankAt({ ranks }: PathForm, at: number): number {
  return ranks[at] ?? (ranks.at(-1) === 2 || ranks.at(-1) === 1.5 ? 2 : 0);
}

/** Whether one path matches everything that another matches, form by form. */
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

/** Whether both cover some method. */
export function sharesMethod<T>(a: Pick<RouteEntry<T>, "method">, b: Pick<RouteEntry<T>, "method">): boolean {
  if (a.method === undefined) return b.method !== "OPTIONS";
  return coversMethod(b.method, a.method) || (b.method !== undefined && coversMethod(a.method, b.method));
}

/** A tree of forms by their segments. */
export interface RouteTrie<T> {
  add(form: PathForm, value: T): void;
  /** The values of all forms that may match the path, in any order. */
  find(path: string): readonly T[];
}

interface Node<T> {
  readonly texts: Map<string, Node<T>>;
  any: Node<T> | undefined;
  /** Forms that end here. */
  readonly ends: T[];
  /** Forms with a wildcard here, and their segments after it. */
  readonly rests: { readonly value: T; readonly after: readonly FormSegment[] }[];
}

/** Creates an empty trie. */
export function createRouteTrie<T>(): RouteTrie<T> {
  const root = createNode<T>();
  return {
    add(form, value) {
      let node = root;
      for (const [at, segment] of form.segments.entries()) {
        if (segment.kind === "rest") {
          node.rests.push({ value, after: form.segments.slice(at + 1) });
          return;
        }
        node = segment.kind === "text" ? childOf(node, segment.shape) : anyOf(node);
      }
      node.ends.push(value);
    },
    find(path) {
      const folded = fold(path);
      if (!mayBegin(root, folded)) return [];
      const found: T[] = [];
      const segments = cut(folded);
      collect(root, { segments, found }, 0);
      return found;
    },
  };
}

function createNode<T>(): Node<T> {
  return { texts: new Map(), any: undefined, ends: [], rests: [] };
}

function childOf<T>(node: Node<T>, folded: string): Node<T> {
  const known = node.texts.get(folded);
  if (known !== undefined) return known;
  const child = createNode<T>();
  node.texts.set(folded, child);
  return child;
}

function anyOf<T>(node: Node<T>): Node<T> {
  node.any ??= createNode();
  return node.any;
}

/** Splits a path at its slashes, and drops empty segments. */
function cut(path: string): string[] {
  const segments: string[] = [];
  for (let start = 0; start < path.length; ) {
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    if (end > start) segments.push(path.slice(start, end));
    start = end + 1;
  }
  return segments;
}

/** Most free paths differ from every form in the first segment, and need not be split. */
function mayBegin<T>({ texts, any, rests }: Node<T>, folded: string): boolean {
  if (any !== undefined || rests.length > 0) return true;
  let start = 0;
  while (folded.startsWith("/", start)) start++;
  const end = folded.indexOf("/", start);
  return start === folded.length || texts.has(folded.slice(start, end === -1 ? undefined : end));
}

/** Collects matching values. Recurses as deep as the deepest form, not as the path. */
function collect<T>(
  node: Node<T>,
  walk: { readonly segments: readonly string[]; readonly found: T[] },
  at: number,
): void {
  for (const { value, after } of node.rests) if (mayFollow(walk.segments, after, at)) walk.found.push(value);
  const segment = walk.segments[at];
  if (segment === undefined) {
    walk.found.push(...node.ends);
    return;
  }
  const text = node.texts.get(segment);
  if (text !== undefined) collect(text, walk, at + 1);
  if (node.any !== undefined) collect(node.any, walk, at + 1);
}

/** Whether the segments after a wildcard appear, in order, in the rest of a path. Wildcards match anything. */
function mayFollow(segments: readonly string[], after: readonly FormSegment[], from: number): boolean {
  const tail = after.slice(after.findLastIndex(({ kind }) => kind === "rest") + 1);
  let at = from;
  for (const { kind, shape } of after.slice(0, after.length - tail.length)) {
    if (kind === "any") at += 1;
    if (kind !== "text") continue;
    const found = segments.indexOf(shape, at);
    if (found === -1) return false;
    at = found + 1;
  }
  const start = segments.length - tail.length;
  return start >= at && tail.every(({ kind, shape }, offset) => kind !== "text" || segments[start + offset] === shape);
}
