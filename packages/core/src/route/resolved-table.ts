/**
 * A route table that knows the app's own handlers: which key prices a request, in front of the routes and at a handler.
 *
 *   in front          a path that is spelled as a key is priced by that key, before any body is parsed
 *   a key's handler   every request that gets there is priced by one of its keys, or refused
 *   by path           a handler of every path is for no key. A request whose path is a key's pays there, by any method, unless
 *                     a route behind the handler takes it. The table itself is priced so where the routers do not show it
 *
 * @module
 */
import { type Binding, belowThatMount, bindKeys, type Priceable } from "./bind-keys.js";
import { otherSpellings } from "./file-paths.js";
import { samplesOf } from "./path.js";
import { coversMethod } from "./route-key.js";
import {
  belowMount,
  compareForms,
  type RouteCandidate,
  type RouteEntry,
  type RouteQuery,
  type RouteTable,
} from "./route-table.js";
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

/** A request at a handler. */
export interface HandlerQuery {
  readonly method: string;
  /** As the router sees it, with all mounts. */
  readonly fullPath: string;
  /** The mounts of the table as the seller wrote them, with those of its app. */
  readonly mounts: readonly string[];
}

/** A path below a mount of the table. */
type MountedPath = Pick<RouteQuery, "path" | "mountPath"> & Pick<RouteCandidate<unknown>, "mountTemplate">;

/** A request where it is. */
interface Spot {
  readonly handler: object;
  readonly method: string;
  readonly fullPath: string;
  readonly queries: readonly MountedPath[];
  /** The other paths that a handler may read the path as. */
  readonly others?: () => readonly MountedPath[];
}

/** How a path is a key's: also by the method, only for other methods, or for a handler that decodes it. */
type Met = "named" | "other" | "hidden";

/** Resolves the keys of one table to handlers. */
export class ResolvedTable<T extends Priceable> {
  readonly table: RouteTable<T>;
  readonly #boundTo = new Map<object, Binding<T>>();
  /** Of the table itself, for keys that no handler is known for. `undefined`: there are none. */
  #ownBinding: Binding<T> | undefined;
  #view: RouterView | undefined;

  constructor(table: RouteTable<T>) {
    this.table = table;
    this.#ownBinding = byPath(table.entries);
  }

  /**
   * Resolves every key anew, and returns the handlers that keys price.
   *
   * @param mounts - Those of the table, as the seller wrote them, if the routers do not show it.
   */
  bind(gate: object, view: RouterView, mounts?: readonly string[]): readonly object[] {
    const bound = bindKeys(this.table, { gate, view, mounts: mounts ?? view.mountsOf(gate) });
    for (const [handler, binding] of bound) this.#boundTo.set(handler, binding);
    // Other functions may call a table that the routers do not show, and handlers that nothing else does.
    const isHidden = mounts !== undefined;
    const known = new Set(
      [...bound.values()].flatMap(({ isWhole, entries }) => (isWhole || !isHidden ? [...entries] : [])),
    );
    const rest = byPath(this.table.entries.filter((entry) => !known.has(entry)));
    this.#ownBinding = rest.entries.size > 0 ? rest : undefined;
    this.#view = view;
    return [...bound.keys()];
  }

  /** The price of a request where the table stands. */
  inFront(query: RouteQuery): Coverage<T> {
    const candidates = this.table.find(query);
    for (const [at, candidate] of candidates.entries()) {
      const { isFree } = candidate.entry.value;
      // If a handler of another key may as well get the request, the handler asks for its price.
      if (candidate.match !== "exact" && !isFree) break;
      if (candidate.match !== "exact" || (this.#ownBinding === undefined && isContested(candidate, candidates[at + 1])))
        continue;
      return isFree ? FREE : { kind: "priced", candidate };
    }
    if (this.#ownBinding === undefined) return FREE;
    const { method = "", path, mountPath } = query;
    const others = () => otherSpellings(path).map((other) => ({ mountPath, path: other }));
    const spot = { handler: this, method, fullPath: mountPath + path, queries: [query], others };
    return this.#priceByPath(this.#ownBinding, spot);
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
    const binding = this.#boundTo.get(handler);
    if (binding === undefined) return FREE;
    const queriesFor = (path: string) =>
      mounts.flatMap((mount) => {
        const query = belowThatMount(mount, path);
        return query === undefined ? [] : [{ ...query, mountTemplate: () => mount }];
      });
    const spot = { handler, method, fullPath, queries: queriesFor(fullPath) };
    const spelled = this.#spelledAt(binding, spot);
    if (spelled !== undefined) return spelled;
    if (binding.isWhole) return this.#isTaken(binding, spot) ? FREE : priceOf([...binding.entries], method);
    const read = (spell: typeof otherSpellings) => elsewhere(binding.mounts, fullPath, spell).flatMap(queriesFor);
    return this.#priceByPath(binding, { ...spot, queries: read((rest) => [rest]), others: () => read(otherSpellings) });
  }

  /** The price by a key that is spelled as the request. Of several with different prices, one that prices the handler. */
  #spelledAt({ entries, others, isWhole, files }: Binding<T>, spot: Spot): Coverage<T> | undefined {
    let other: RouteCandidate<T> | undefined;
    for (const candidate of this.#find(spot, spot.method)) {
      const { match, entry } = candidate;
      if (match === "exact" && entry.value.isFree)
        return other === undefined ? FREE : { kind: "priced", candidate: other };
      if (entry.value.isFree) continue;
      const isOther = files === undefined && others.has(entry);
      if (isOther || (entries.has(entry) && (match === "exact" || isWhole))) {
        // In front, it is the other one that is asked for.
        if (other === undefined || other.entry.value.priceId !== entry.value.priceId)
          return { kind: "priced", candidate };
        break;
      }
      if (match === "exact") other ??= candidate;
    }
    return other === undefined ? undefined : { kind: "priced", candidate: other };
  }

  #priceByPath({ entries, others, files, ...binding }: Binding<T>, spot: Spot): Coverage<T> {
    const { method, queries } = spot;
    if (files !== undefined && method !== "GET" && method !== "HEAD") return FREE;
    const met = this.#find(spot).filter(({ entry }) => entries.has(entry) && !entry.value.isFree);
    const named = met.find(({ entry }) => coversMethod(entry.method, method));
    const found = new Set(met.map(({ entry }) => entry));
    for (const { path } of queries) for (const entry of files?.find(path) ?? []) found.add(entry);
    const isHidden = found.size === 0;
    if (isHidden && !this.#isOtherwise(spot, entries, files === undefined ? NONE : others)) return FREE;
    if (this.#isTaken(binding, spot, isHidden ? "hidden" : named === undefined ? "other" : "named")) return FREE;
    if (isHidden) return AMBIGUOUS;
    return named === undefined ? priceOf([...found], method) : { kind: "priced", candidate: named };
  }

  /** Whether a handler that decodes paths may read this one as that of a key. */
  #isOtherwise(spot: Spot, entries: ReadonlySet<RouteEntry<T>>, others: ReadonlySet<RouteEntry<T>>): boolean {
    // Without the app, nothing is known of methods that no key names.
    const method = this.#view === undefined ? spot.method : undefined;
    if (others.size > 0 && this.#find(spot, method).some(({ entry }) => others.has(entry))) return true;
    if (isPlain(spot.fullPath)) return false;
    const met = this.#find({ queries: spot.others?.() ?? [] }, method);
    return met.some(({ entry }) => !entry.value.isFree && (entries.has(entry) || others.has(entry)));
  }

  /** Whether a route behind a handler gets the request, which the handler has to pass on. */
  #isTaken(
    { isWhole, isFinal, mounts }: Omit<Binding<T>, "entries" | "others">,
    spot: Spot,
    met: Met = "other",
  ): boolean {
    if (this.#view === undefined) return met === "other";
    if (isFinal || this.#view.isReadable === false) return false;
    return this.#view.receiversOf(spot.handler, spot.method, spot.fullPath).some(
      ({ handler, kind, isBefore, takesAll, paths = [""] }) =>
        kind === "route" &&
        !isBefore &&
        // A key that names the request has a guard there, or else its price here.
        (met !== "named" || this.#boundTo.has(handler)) &&
        !takesAll &&
        (!isWhole || paths.some((path) => mounts.some((mount) => `${path}/`.startsWith(`${mount}/`)))),
    );
  }

  #find({ queries }: Pick<Spot, "queries">, method?: string): readonly RouteCandidate<T>[] {
    return queries.flatMap(({ path, mountPath, mountTemplate }) =>
      this.table
        .find({ path, mountPath, method })
        .map((found) => (mountTemplate === undefined ? found : { ...found, mountTemplate })),
    );
  }
}

/** Whether a path is spelled as two keys, none of which is more specific. */
function isContested<T>({ form }: RouteCandidate<T>, next: RouteCandidate<T> | undefined): boolean {
  return next?.match === "exact" && compareForms(form, next.form) === "unordered";
}

/** The paths that are the same below each mount of a handler. */
function elsewhere(
  mounts: readonly string[],
  path: string,
  spell: (rest: string) => readonly string[],
): readonly string[] {
  const rests = mounts.flatMap((mount) => spell(belowThatMount(mount, path)?.path ?? path));
  const places = mounts.flatMap((mount) => samplesOf(mount === "" ? "/" : mount) ?? []);
  return [
    ...spell(path),
    ...rests.flatMap((rest) => places.map((place) => belowMount(place === "/" ? "" : place, rest))),
  ];
}

const NONE: ReadonlySet<never> = new Set();

/** The binding of a handler that may be for any key. */
function byPath<T extends Priceable>(entries: readonly RouteEntry<T>[]): Binding<T> {
  const priced = entries.filter(({ value }) => !value.isFree);
  return { isWhole: false, entries: new Set(priced), others: new Set(), isFinal: false, mounts: [] };
}

/** The price of a request that no key is spelled as. */
function priceOf<T extends Priceable>(entries: readonly RouteEntry<T>[], method: string): Coverage<T> {
  const named = entries.filter((entry) => coversMethod(entry.method, method));
  if (method === "OPTIONS" && named.length === 0) return PREFLIGHT;
  const [first, ...others] = named.length > 0 ? named : entries;
  if (first === undefined) return FREE;
  return others.every(({ value }) => value.priceId === first.value.priceId) ? { kind: "bound", entry: first } : UNNAMED;
}

function isPriced({ kind }: Coverage<unknown>): boolean {
  return kind === "priced" || kind === "bound";
}

const SUSPICIOUS = /[\\%]|\/\/|\/\.|[^\x21-\x7e]|^[^/]/;

/** Whether a path has only one reading, apart from case and a trailing slash. */
export function isPlain(path: string): boolean {
  return !SUSPICIOUS.test(path);
}
