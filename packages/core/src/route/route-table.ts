/**
 * The route table: which keys could be meant by a request, the most specific first.
 *
 * @module
 */
import { type FormSegment, fold, type PathForm } from "./path-form.js";
import { coversMethod, type Method } from "./route-key.js";

/** One key of the table, compiled, with whatever it stands for. */
export interface RouteEntry<T> {
  readonly key: string;
  /** `undefined`: every method but OPTIONS. */
  readonly method: Method | undefined;
  readonly forms: readonly PathForm[];
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

/** A key that a request could be meant for. */
export interface RouteCandidate<T> {
  readonly entry: RouteEntry<T>;
  readonly form: PathForm;
  /**
   * Whether the request is written just as the key is; or otherwise, in another case or with other slashes; or only in a
   * way that some router may take for the key. In the last two cases the app's own router has to say.
   */
  readonly match: "exact" | "spelling" | "generous";
  /** The path as the key has it: relative to the mount, or the full path. */
  readonly path: string;
  /** What comes before that path in the full one. */
  readonly mountPath: string;
}

/** All keys of a seller's table. */
export interface RouteTable<T> {
  /** In the order they were written. */
  readonly entries: readonly RouteEntry<T>[];
  /** The keys a request could be meant for, the most specific first, in whatever order they were written. */
  find(query: RouteQuery): readonly RouteCandidate<T>[];
}

interface Leaf<T> {
  readonly entry: RouteEntry<T>;
  readonly form: PathForm;
  /** Position of the key among those that were written. */
  readonly position: number;
}

/** Builds the table. What it costs to look something up does not depend on the number of keys. */
export function createRouteTable<T>(entries: readonly RouteEntry<T>[]): RouteTable<T> {
  const trie = createRouteTrie<Leaf<T>>();
  for (const [position, entry] of entries.entries()) {
    for (const form of entry.forms) trie.add(form, { entry, form, position });
  }
  const look = (query: RouteQuery): readonly Found<T>[] =>
    trie
      .find(query.path)
      .filter(({ entry }) => coversMethod(entry.method, query.method))
      .map((leaf) => toFound(leaf, query));
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

function toFound<T>({ entry, form, position }: Leaf<T>, { path, mountPath }: RouteQuery): Found<T> {
  return { entry, form, position, match: matchForm(form, path), path, mountPath };
}

function matchForm(form: PathForm, path: string): RouteCandidate<unknown>["match"] {
  if (form.matches(path)) return "exact";
  return form.paramsOf(path) === undefined ? "generous" : "spelling";
}

/** A whole path. What a router mounted at `/api` calls `/` is `/api` to whoever mounted it. */
export function belowMount(mountPath: string, path: string): string {
  return path === "/" && mountPath !== "" ? mountPath : mountPath + path;
}

type Found<T> = RouteCandidate<T> & Leaf<T>;

/** Almost always there is at most one. */
function inOrder<T>(found: readonly Found<T>[]): readonly RouteCandidate<T>[] {
  if (found.length < 2) return found;
  const written = [...found].sort(
    (a, b) => a.position - b.position || MATCHES.indexOf(a.match) - MATCHES.indexOf(b.match),
  );
  const remaining = oncePerKey(written);
  const ordered: Found<T>[] = [];
  while (remaining.length > 0) {
    const first = remaining.findIndex((one) => !remaining.some((other) => goesBefore(other, one)));
    // Should the order ever go round in a circle, what is written first breaks it.
    ordered.push(...remaining.splice(Math.max(first, 0), 1));
  }
  return ordered;
}

const MATCHES: readonly RouteCandidate<unknown>["match"][] = ["exact", "spelling", "generous"];

/** Of the forms of one key the one that is met best counts, and of those the most specific. */
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

function goesBefore<T>(a: Leaf<T>, b: Leaf<T>): boolean {
  if (a === b) return false;
  return compareLeaves(a, b) === "more";
}

/** A key whose requests are all another's too; else what is said of the forms at hand; else the method. */
function compareLeaves<T>(a: Leaf<T>, b: Leaf<T>): Specificity {
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

/** Adds forms, and finds what was added. */
export interface RouteTrie<T> {
  add(form: PathForm, value: T): void;
  /** What was added for every form that the path could be meant for, in no particular order. */
  find(path: string): readonly T[];
}

interface Node<T> {
  readonly texts: Map<string, Node<T>>;
  any: Node<T> | undefined;
  /** Forms that end here. */
  readonly ends: T[];
  /** Forms that take anything from here on, up to what they end in. */
  readonly rests: { readonly value: T; readonly after: readonly FormSegment[] }[];
}

/** Creates an empty tree. */
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

/** What is between the slashes, where there is something. */
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

/** Most free paths differ from every form in their first segment: then nothing need be cut in pieces. */
function mayBegin<T>({ texts, any, rests }: Node<T>, folded: string): boolean {
  if (any !== undefined || rests.length > 0) return true;
  let start = 0;
  while (folded.startsWith("/", start)) start++;
  const end = folded.indexOf("/", start);
  return start === folded.length || texts.has(folded.slice(start, end === -1 ? undefined : end));
}

/** As deep as the deepest form, not as the path. */
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

/** Whether what comes after a wildcard can be found, in order, in what is left of a path. Wildcards stand for anything. */
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
