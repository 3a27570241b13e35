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
  readonly rests: { readonly value: T; readonly tail: readonly FormSegment[] }[];
}

/** Creates an empty tree. */
export function createRouteTrie<T>(): RouteTrie<T> {
  const root = createNode<T>();
  return {
    add(form, value) {
      let node = root;
      for (const [at, segment] of form.segments.entries()) {
        if (segment.kind === "rest") {
          node.rests.push({ value, tail: tailOf(form.segments, at) });
          return;
        }
        node = segment.kind === "text" ? childOf(node, segment.shape) : anyOf(node);
      }
      node.ends.push(value);
    },
    find(path) {
      const found: T[] = [];
      const segments = fold(path)
        .split("/")
        .filter((segment) => segment !== "");
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

/** As deep as the deepest form, not as the path. */
function collect<T>(
  node: Node<T>,
  walk: { readonly segments: readonly string[]; readonly found: T[] },
  at: number,
): void {
  for (const { value, tail } of node.rests) if (endsIn(walk.segments, tail, at)) walk.found.push(value);
  const segment = walk.segments[at];
  if (segment === undefined) {
    walk.found.push(...node.ends);
    return;
  }
  const text = node.texts.get(segment);
  if (text !== undefined) collect(text, walk, at + 1);
  if (node.any !== undefined) collect(node.any, walk, at + 1);
}

/** What comes after the last wildcard. */
function tailOf(segments: readonly FormSegment[], first: number): readonly FormSegment[] {
  const last = segments.findLastIndex(({ kind }) => kind === "rest");
  return segments.slice(Math.max(first, last) + 1);
}

function endsIn(segments: readonly string[], tail: readonly FormSegment[], from: number): boolean {
  const start = segments.length - tail.length;
  return start >= from && tail.every(({ kind, shape }, at) => kind !== "text" || segments[start + at] === shape);
}
