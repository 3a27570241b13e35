/**
 * The route table: which keys could be meant by a request, the most specific first.
 *
 * @module
 */
import type { PathForm } from "./path-form.js";
import { coversMethod, type Method } from "./route-key.js";
import { createRouteTrie } from "./route-trie.js";
import { compareForms, coversPath, type Specificity } from "./specificity.js";

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
