/**
 * A route table that knows the app's own handlers: which key prices a request, in front of the routes and at a handler.
 *
 *   in front       a path that is spelled as a key is priced by that key, before any body is parsed
 *   at a handler   whatever brought a request to a handler that keys price, one of them prices it, or it is refused
 *
 * Express's own match decides. Only for keys without a handler, which the router cannot be asked about, paths are compared.
 *
 * @module
 */
import { matchesMount, samplesOf } from "./path.js";
import { collapseSlashes } from "./path-form.js";
import { coversMethod, METHODS } from "./route-key.js";
import { belowMount, type RouteCandidate, type RouteEntry, type RouteQuery, type RouteTable } from "./route-table.js";
import type { RouterView } from "./router-view.js";

/** Whether a request is priced. */
export type Coverage<T> =
  /** No key prices it here. */
  | { readonly kind: "free" }
  | { readonly kind: "priced"; readonly candidate: RouteCandidate<T> }
  /** A handler's key prices it, although the request's path is not the key's. */
  | { readonly kind: "bound"; readonly entry: RouteEntry<T> }
  /** Another handler may read the path as a different one with a different price. */
  | { readonly kind: "ambiguous" }
  /** OPTIONS, which no key names. */
  | { readonly kind: "preflight" }
  /** Keys with different prices price the handler, and none of them names the request. */
  | { readonly kind: "unnamed" };

const FREE = Object.freeze({ kind: "free" });
const AMBIGUOUS = Object.freeze({ kind: "ambiguous" });
const PREFLIGHT = Object.freeze({ kind: "preflight" });
const UNNAMED = Object.freeze({ kind: "unnamed" });

/** What a table asks of its values. */
export interface Priceable {
  readonly isFree: boolean;
  /** Equal for prices that are the same. */
  readonly priceId: string;
}

/** A request at a handler. */
export interface HandlerQuery {
  readonly method: string;
  /** As the router sees it, with all mounts. */
  readonly fullPath: string;
  /** The mounts of the table as the seller wrote them, with those of its app. */
  readonly mounts: readonly string[];
}

/** Resolves the keys of one table to handlers. */
export class ResolvedTable<T extends Priceable> {
  readonly table: RouteTable<T>;
  readonly #boundTo = new Map<object, readonly RouteEntry<T>[]>();
  #unbound: ReadonlySet<RouteEntry<T>>;

  constructor(table: RouteTable<T>) {
    this.table = table;
    this.#unbound = new Set(table.entries);
  }

  /** Resolves every key anew, and returns the handlers that keys price. */
  bind(gate: object, view: RouterView): readonly object[] {
    const bound = bindKeys(this.table, gate, view);
    for (const [handler, entries] of bound) this.#boundTo.set(handler, entries);
    const entries = new Set([...bound.values()].flat());
    this.#unbound = new Set(this.table.entries.filter((entry) => !entries.has(entry)));
    return [...bound.keys()];
  }

  /** The price of a request where the table stands. */
  inFront(query: RouteQuery): Coverage<T> {
    const candidates = this.table.find(query);
    for (const candidate of candidates) {
      const { match, entry } = candidate;
      if (match === "exact") return entry.value.isFree ? FREE : { kind: "priced", candidate };
      if (entry.value.isFree) continue;
      if (this.#unbound.has(entry)) return { kind: "priced", candidate };
      // Its handler will decide.
      if (match === "spelling") return FREE;
    }
    return this.#unbound.size > 0 && this.#isHidden(query) ? AMBIGUOUS : FREE;
  }

  /** Whether a handler that decodes paths may read this one as that of a key without a known handler. */
  #isHidden(query: RouteQuery): boolean {
    if (isPlain(query.path)) return false;
    return otherSpellings(query.path)
      .flatMap((path) => this.table.find({ ...query, path }))
      .some(({ entry }) => !entry.value.isFree && this.#unbound.has(entry));
  }

  /** Whether a request would have to pay: at a handler, or in front of the routes. */
  prices({ method, fullPath, mounts }: HandlerQuery, handler?: object): boolean {
    if (handler !== undefined) return isPriced(this.atHandler(handler, { method, fullPath, mounts }));
    return mounts.some((mount) => {
      const query = belowThatMount(mount, fullPath);
      return query !== undefined && isPriced(this.inFront({ ...query, method }));
    });
  }

  /** The price of a request at a handler that {@link ResolvedTable.bind} returned. */
  atHandler(handler: object, { method, fullPath, mounts }: HandlerQuery): Coverage<T> {
    const bound = this.#boundTo.get(handler) ?? [];
    for (const mount of mounts) {
      const query = belowThatMount(mount, fullPath);
      for (const candidate of query === undefined ? [] : this.table.find({ ...query, method })) {
        const { entry, match } = candidate;
        if (match === "exact" && entry.value.isFree) return FREE;
        const isIts = match === "exact" || (match === "spelling" && bound.includes(entry));
        if (isIts && !entry.value.isFree)
          return { kind: "priced", candidate: { ...candidate, mountTemplate: () => mount } };
      }
    }
    const named = bound.filter((entry) => coversMethod(entry.method, method));
    if (method === "OPTIONS" && named.length === 0) return PREFLIGHT;
    const [first, ...others] = named.length > 0 ? named : bound;
    if (first === undefined) return FREE;
    const isSame = others.every(({ value }) => value.priceId === first.value.priceId);
    return isSame ? { kind: "bound", entry: first } : UNNAMED;
  }
}

function isPriced({ kind }: Coverage<unknown>): boolean {
  return kind === "priced" || kind === "bound";
}

/** The path below a mount of the table; `undefined`: it is not below it. */
function belowThatMount(mount: string, fullPath: string): Pick<RouteQuery, "path" | "mountPath"> | undefined {
  const count = mount.split("/").filter((segment) => segment !== "").length;
  const [mountPath = ""] = new RegExp(`^(?:/+[^/]+){${count}}`).exec(fullPath) ?? [undefined];
  if (count > 0 && (mountPath === "" || !matchesMount(mount, mountPath))) return undefined;
  return { mountPath, path: fullPath.slice(mountPath.length) || "/" };
}

type Bound<T> = readonly (readonly [handler: object, entry: RouteEntry<T>])[];

/** The handlers of each key: those whose own path is the key's, or else those that Express would give its requests to. */
export function bindKeys<T extends Priceable>(
  table: RouteTable<T>,
  gate: object,
  view: RouterView,
): ReadonlyMap<object, readonly RouteEntry<T>[]> {
  const mounts = view.mountsOf(gate);
  const own = mounts.length === 0 ? [] : bindOwn(table, mounts, view);
  const withOwn = new Set(own.map(([, entry]) => entry));
  const others = table.entries.filter((entry) => !withOwn.has(entry) && !entry.value.isFree);
  const bound = new Map<object, Set<RouteEntry<T>>>();
  for (const [handler, entry] of [...own, ...bindByMatch(others, { gate, mounts, view })]) {
    if (!entry.value.isFree) bound.set(handler, (bound.get(handler) ?? new Set()).add(entry));
  }
  return new Map([...bound].map(([handler, entries]) => [handler, [...entries]] as const));
}

/** Keys and the routes that are spelled as they are. */
function bindOwn<T>(table: RouteTable<T>, mounts: readonly string[], { routes }: RouterView): Bound<T> {
  return routes.flatMap(({ route, path, methods = METHODS }) => {
    const samples = (path === undefined ? undefined : samplesOf(path)) ?? [];
    const entries = samples.flatMap((sample) => entriesAt(table, { mounts, sample, methods }));
    return entries.map((entry) => [route, entry] as const);
  });
}

interface Mounted {
  readonly gate: object;
  readonly mounts: readonly string[];
  readonly view: RouterView;
}

/** Keys without a route of their own, and the handlers that get their requests. */
function bindByMatch<T>(entries: readonly RouteEntry<T>[], { gate, mounts, view }: Mounted): Bound<T> {
  const forAll = entries.length === 0 ? NO_HANDLERS : handlersOfAll(gate, view);
  return entries.flatMap((entry) => {
    const paths = mounts.flatMap((mount) => pathsBelow(entry, mount));
    const met = paths.flatMap((path) => {
      const { before, after, opaque } = view.receiversOf(gate, entry.method, path);
      const routes = [...before, ...after].map(({ route }) => route).filter((route) => !forAll.routes.has(route));
      return [...routes, ...opaque.flatMap(({ handler, isMeant }) => (isMeant ? [handler] : []))];
    });
    // A file server of the whole app has the price of a file that it has, not that of a proxy or route behind it.
    const own = met.filter((handler) => !forAll.files.has(handler));
    return (own.length > 0 ? own : met).map((handler) => [handler, entry] as const);
  });
}

interface Written {
  readonly mounts: readonly string[];
  /** A path of a route, with its mounts. */
  readonly sample: string;
  readonly methods: readonly string[];
}

/** The keys that are spelled as a route. */
function entriesAt<T>(table: RouteTable<T>, { mounts, sample, methods }: Written): readonly RouteEntry<T>[] {
  const queries = mounts.flatMap((mount) => belowThatMount(mount, sample) ?? []);
  const candidates = queries.flatMap((query) => methods.flatMap((method) => table.find({ ...query, method })));
  return candidates.flatMap(({ match, entry }) => (match === "exact" ? [entry] : []));
}

/** A path that no app has. */
const NOWHERE = "/~0/~1/~2";

/** The routes that take every path: pages for what is not found, for example. A key does not price these by chance. */
function handlersOfAll(gate: object, view: RouterView): HandlersOfAll {
  const { before, after, beyond, opaque } = view.receiversOf(gate, undefined, NOWHERE);
  return {
    routes: new Set([...before, ...after, ...beyond].map(({ route }) => route)),
    files: new Set(opaque.map(({ handler }) => handler)),
  };
}

interface HandlersOfAll {
  readonly routes: ReadonlySet<object>;
  readonly files: ReadonlySet<object>;
}

const NO_HANDLERS: HandlersOfAll = { routes: new Set(), files: new Set() };

/** The key's paths relative to a mount, and its full paths that lie below the mount. */
export function pathsBelow({ forms }: Pick<RouteEntry<unknown>, "forms">, mount: string): readonly string[] {
  const samples = forms.map(({ sample }) => sample);
  const places = mount === "" ? [mount] : (samplesOf(mount) ?? [mount]);
  const relative = samples.flatMap((path) => places.map((place) => belowMount(place, path)));
  const full = mount === "" ? [] : samples.filter((path) => belowThatMount(mount, path) !== undefined);
  return [...relative, ...full];
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
