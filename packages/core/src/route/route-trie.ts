/**
 * Finds the forms that a path could be meant for, however many there are: one step down a tree for each of its segments.
 *
 * Generous on purpose: case, doubled and trailing slashes do not count, a parameter takes any segment and a wildcard
 * anything, also nothing. What is not found here is taken for that form by no router; what is found is looked at closely.
 *
 * @module
 */
import { type FormSegment, fold, type PathForm } from "./path-form.js";

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
