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
import { createFilePaths, type FilePaths, otherSpellings } from "./file-paths.js";
import { compileRegistered, matchesMount, samplesOf } from "./path.js";
import type { PathForm } from "./path-form.js";
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
  readonly #boundTo = new Map<object, Binding<T>>();
  #unbound: ReadonlySet<RouteEntry<T>>;

  constructor(table: RouteTable<T>) {
    this.table = table;
    this.#unbound = new Set(table.entries);
  }

  /**
   * Resolves every key anew, and returns the handlers that keys price.
   *
   * @param mounts - Those of the table below the app of the view, as the seller wrote them.
   */
  bind(gate: object, view: RouterView, mounts: readonly string[] = view.mountsOf(gate)): readonly object[] {
    const bound = bindKeys(this.table, { gate, view, mounts });
    for (const [handler, binding] of bound) this.#boundTo.set(handler, binding);
    const entries = new Set([...bound.values()].flatMap((binding) => binding.entries));
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
    const bound = this.#boundAt(handler, fullPath);
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
    if (bound.length === 0) return FREE;
    const named = bound.filter((entry) => coversMethod(entry.method, method));
    if (method === "OPTIONS" && named.length === 0) return PREFLIGHT;
    const [first, ...others] = named.length > 0 ? named : bound;
    if (first === undefined) return FREE;
    const isSame = others.every(({ value }) => value.priceId === first.value.priceId);
    return isSame ? { kind: "bound", entry: first } : UNNAMED;
  }

  /** The keys that price a handler, for a path. */
  #boundAt(handler: object, path: string): readonly RouteEntry<T>[] {
    const { entries = [], files } = this.#boundTo.get(handler) ?? {};
    return files === undefined ? entries : files.find(path);
  }
}

function isPriced({ kind }: Coverage<unknown>): boolean {
  return kind === "priced" || kind === "bound";
}

/** The path below a mount of the table; `undefined`: it is not below it. */
function belowThatMount(mount: string, fullPath: string): Pick<RouteQuery, "path" | "mountPath"> | undefined {
  const end = mount === "" ? 0 : endOfSegments(fullPath, countSegments(mount));
  if (end === undefined) return undefined;
  const mountPath = fullPath.slice(0, end);
  return mount === mountPath || matchesMount(mount, mountPath) ? { mountPath, path: fullPath.slice(end) || "/" } : undefined;
}

function countSegments(path: string): number {
  return path.split("/").filter((segment) => segment !== "").length;
}

/** Where the first segments of a path end. */
function endOfSegments(path: string, count: number): number | undefined {
  let end = 0;
  for (let segment = 0; segment < count; segment++) {
    const slash = end;
    while (path[end] === "/") end++;
    const start = end;
    while (end < path.length && path[end] !== "/") end++;
    if (start === slash || end === start) return undefined;
  }
  return end;
}

/** The keys that price a handler. */
export interface Binding<T> {
  readonly entries: readonly RouteEntry<T>[];
  /** Of a file server that receives every request: only some of them are meant for the keys. */
  readonly files?: FilePaths<T> | undefined;
}

type Bound<T> = readonly { readonly handler: object; readonly entry: RouteEntry<T>; readonly isAtTop?: boolean }[];

/** A table in an app. */
export interface Mounted {
  readonly gate: object;
  readonly mounts: readonly string[];
  readonly view: RouterView;
}

/**
 * The handlers of each key: those whose own path is the key's, or else those that Express would give its requests to, or else
 * those that are written like the key in a router mounted elsewhere.
 *
 * @param isElsewhereToo - Whether to look for the last ones.
 */
export function bindKeys<T extends Priceable>(
  table: RouteTable<T>,
  mounted: Mounted,
  isElsewhereToo = true,
): ReadonlyMap<object, Binding<T>> {
  const priced = table.entries.filter(({ value }) => !value.isFree);
  const bound = mounted.mounts.length === 0 ? [] : [...bindOwn(table, mounted)];
  const unbound = () => {
    const known = new Set(bound.map(({ entry }) => entry));
    return priced.filter((entry) => !known.has(entry));
  };
  if (mounted.mounts.length > 0) {
    bound.push(...bindByMatch(unbound(), mounted, ({ sample }) => [sample, ...encoded(sample)]));
    bound.push(...bindByMatch(unbound(), mounted, ({ sample }) => otherSpellings(sample)));
    if (isElsewhereToo) bound.push(...bindElsewhere(unbound(), mounted.view));
  }
  return toBindings(bound.filter(({ entry }) => !entry.value.isFree));
}

function toBindings<T>(bound: Bound<T>): ReadonlyMap<object, Binding<T>> {
  const found = new Map<object, { readonly entries: Set<RouteEntry<T>>; isAtTop: boolean }>();
  for (const { handler, entry, isAtTop = false } of bound) {
    const one = found.get(handler) ?? { entries: new Set(), isAtTop };
    one.entries.add(entry);
    found.set(handler, one);
  }
  return new Map(
    [...found].map(([handler, { entries, isAtTop }]) => {
      const all = [...entries];
      return [handler, { entries: all, files: isAtTop ? createFilePaths(all) : undefined }] as const;
    }),
  );
}

/** Keys and the routes that are spelled as they are. A URL has only ASCII: a route may have the same letters encoded. */
function bindOwn<T>(table: RouteTable<T>, { mounts, view }: Mounted): Bound<T> {
  return view.routes.flatMap(({ route, path, methods = METHODS }) => {
    const samples = (path === undefined ? undefined : samplesOf(path)) ?? [];
    const spelled = samples.flatMap((sample) => [sample, ...encoded(sample), ...decoded(sample)]);
    const entries = spelled.flatMap((sample) => entriesAt(table, { mounts, sample, methods }));
    return entries.map((entry) => ({ handler: route, entry }));
  });
}

function encoded(path: string): readonly string[] {
  return /[^\x21-\x7e]/.test(path) ? [path.replace(/[^\x21-\x7e]+/g, encodeLetters)] : [];
}

function encodeLetters(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase()}`).join("");
}

function decoded(path: string): readonly string[] {
  if (!/%[89a-f]/i.test(path)) return [];
  const read = path.replace(/(?:%[89a-f][0-9a-f])+/gi, (text) =>
    Buffer.from(text.replaceAll("%", ""), "hex").toString(),
  );
  return read === path ? [] : [read];
}

/** Keys without a route of their own, and the handlers that get their requests. */
function bindByMatch<T>(
  entries: readonly RouteEntry<T>[],
  { gate, mounts, view }: Mounted,
  spell: (form: PathForm) => readonly string[],
): Bound<T> {
  const forAll = entries.length === 0 ? NO_HANDLERS : handlersOfAll(gate, view);
  return entries.flatMap((entry) => {
    const forms = entry.forms.flatMap((form) => spell(form).map((sample) => ({ sample })));
    const paths = mounts.flatMap((mount) => pathsBelow({ forms }, mount));
    return paths.flatMap((path) => {
      const { before, after, opaque } = view.receiversOf(gate, entry.method, path);
      const routes = [...before, ...after].map(({ route }) => route).filter((route) => !forAll.routes.has(route));
      const servers = opaque.filter(({ isMeant }) => isMeant);
      const met = [
        ...routes.map((handler) => ({ handler, entry })),
        ...servers.map(({ handler, isAtTop = false }) => ({ handler, entry, isAtTop })),
      ];
      // A file server of the whole app has the price of a file that it has, not that of a proxy or route behind it.
      const own = met.filter(({ handler }) => !forAll.files.has(handler));
      return own.length > 0 ? own : met;
    });
  });
}

/** Keys that are written for a router, in a table that is not mounted there. */
function bindElsewhere<T>(entries: readonly RouteEntry<T>[], { routes }: RouterView): Bound<T> {
  if (entries.length === 0) return [];
  const byShape = new Map<string, RouteEntry<T>[]>();
  for (const entry of entries) {
    for (const { shape } of entry.forms) byShape.set(shape, [...(byShape.get(shape) ?? []), entry]);
  }
  return routes.flatMap(({ route, ownPath, methods = METHODS }) => {
    const compiled = ownPath === undefined ? undefined : compileRegistered(ownPath);
    const found = compiled?.ok ? compiled.forms.flatMap(({ shape }) => byShape.get(shape) ?? []) : [];
    const meant = found.filter((entry) => methods.some((method) => coversMethod(entry.method, method)));
    return meant.map((entry) => ({ handler: route, entry }));
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
export function pathsBelow(
  { forms }: { readonly forms: readonly Pick<PathForm, "sample">[] },
  mount: string,
): readonly string[] {
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
