/**
 * A route table that knows the app's own handlers: which key prices a request, in front of the routes and at a handler.
 *
 *   in front          a path that is spelled as a key is priced by that key, before any body is parsed
 *   a key's handler   every request that gets there is priced by one of its keys, or refused
 *   by path           a handler of every path is for no key. A request whose path is a key's pays there. The table itself is
 *                     priced so for keys without a handler
 *
 * @module
 */
import { type Binding, belowThatMount, bindKeys, type Mounted, type Priceable, pathsBelow } from "./bind-keys.js";
import { samplesOf } from "./path.js";
import { fileNames, folderOf, indexOf, isPlain, otherReadings } from "./readings.js";
import { coversMethod } from "./route-key.js";
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
  /** Keys with different prices price the handler, and none of them names the request. `entry` is the first of them. */
  | { readonly kind: "unnamed"; readonly entry: RouteEntry<T> };

const FREE = Object.freeze({ kind: "free" });
const AMBIGUOUS = Object.freeze({ kind: "ambiguous" });
const PREFLIGHT = Object.freeze({ kind: "preflight" });

/** A request at a handler. */
export interface HandlerQuery {
  readonly method: string;
  /** As the router sees it, with all mounts. */
  readonly fullPath: string;
  /** The mounts of the table as the seller wrote them, with those of its app. */
  readonly mounts: readonly string[];
  /** Methods of the handler's route that run the same function as the request's. Default: every method. */
  readonly sharing?: () => readonly string[];
}

/** A request to price by its path. */
interface Spot<T> {
  readonly method: string;
  readonly path: string;
  /** The keys that a path may be spelled as. */
  readonly find: (path: string, method?: string) => readonly RouteCandidate<T>[];
  /** A path without the mounts of the table, and with them. */
  readonly cut: (path: string) => readonly string[];
}

/** Resolves the keys of one table to handlers. */
export class ResolvedTable<T extends Priceable> {
  readonly table: RouteTable<T>;
  #handlers: ReadonlyMap<object, Binding<T>> = new Map();
  /** Of the table itself, for keys that no handler is known for. */
  #inFront: Binding<T>;
  /** The handlers of each key. */
  readonly #byKey = new Map<RouteEntry<T>, object[]>();
  /** Where the table stands. */
  #home: Mounted | undefined;

  constructor(table: RouteTable<T>) {
    this.table = table;
    this.#inFront = { ...bindKeys(table, NOWHERE).inFront, isAnyMethod: false };
  }

  /**
   * Resolves every key anew, and returns the handlers that keys price.
   *
   * @param mounts - Those of the table, as the seller wrote them, if the routers do not show it.
   */
  bind(gate: object, view: RouterView, mounts?: readonly string[]): readonly object[] {
    this.#home = { gate, view, mounts: mounts ?? view.mountsOf(gate) };
    const { handlers, inFront } = bindKeys(this.table, this.#home);
    this.#handlers = new Map([...this.#handlers, ...handlers]);
    this.#inFront = inFront;
    this.#byKey.clear();
    for (const [handler, { whole }] of this.#handlers) {
      for (const entry of whole) this.#byKey.set(entry, [...this.#handlersOf(entry), handler]);
    }
    return [...handlers.keys()];
  }

  /** The price of a request where the table stands. */
  inFront(query: RouteQuery): Coverage<T> {
    const { method = "", path, mountPath } = query;
    const fullPath = belowMount(mountPath, path);
    const find = (one: string, by?: string) => this.table.find({ method: by, mountPath, path: one });
    const [first] = find(path, method).filter(isExactOrPriced);
    const spot = { method, path, find, cut: (one: string) => [one, belowMount(mountPath, one)] };
    if (first?.match === "exact") {
      const own = this.#handlersOf(first.entry).flatMap((one) => this.#handlers.get(one) ?? []);
      return this.#unlessAmbiguous(first, [this.#inFront, ...own], spot);
    }
    // In another spelling, it is the request of the handler to which Express gives it.
    const met = first === undefined ? [] : (this.#home?.view.receiversOf(this.#home.gate, method, fullPath) ?? []);
    for (const { handler, isBefore, kind } of met) {
      const coverage = this.atHandler(handler, { method, fullPath, mounts: this.#home?.mounts ?? [] });
      if (isBefore) continue;
      if (coverage.kind !== "free") return coverage;
      // From here on, the request has another price.
      if (kind === "charge") break;
    }
    const coverage = this.#priceByPath(this.#inFront, spot);
    // Asked last: it walks through the routers, and most requests are free anyway.
    if (this.#home === undefined || coverage.kind === "free") return coverage;
    return this.#isPassed(this.#home.gate, this.#inFront, method, fullPath) ? FREE : coverage;
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
  atHandler(handler: object, { method, fullPath, mounts, sharing }: HandlerQuery): Coverage<T> {
    const binding = this.#handlers.get(handler);
    if (binding === undefined || (binding.isFiles && method !== "GET" && method !== "HEAD")) return FREE;
    const { whole } = binding;
    const find = (path: string, by?: string) => mounts.flatMap((mount) => this.#findBelow(mount, path, by));
    const cut = (path: string) => mounts.map((mount) => belowThatMount(mount, path)?.path ?? path);
    const spot = { method, path: fullPath, find, cut };
    // The most specific key that is spelled as the request, even if another handler is its own: in front, it was asked for.
    const spelled = find(fullPath, method)
      .filter(isExactOrPriced)
      .find(({ match, entry }) => match === "exact" || whole.has(entry));
    if (spelled !== undefined) return this.#unlessAmbiguous(spelled, [binding], spot);
    if (this.#isPassed(handler, binding, method, fullPath)) return FREE;
    if (whole.size === 0) return this.#priceByPath(binding, spot);
    const methods = sharing?.();
    const own = [...whole].filter((entry) => methods?.some((one) => coversMethod(entry.method, one)) !== false);
    return priceOf(own, method);
  }

  /** The price of a key, unless the handler may decode the path to that of another of its keys, with another price. */
  #unlessAmbiguous(candidate: RouteCandidate<T>, bindings: readonly Binding<T>[], spot: Spot<T>): Coverage<T> {
    const { isFree, priceId } = candidate.entry.value;
    const mounts = bindings.flatMap((binding) => binding.mounts);
    const others = readingsBelow(mounts, spot.path).map(
      (one) => spot.find(one, spot.method).find(isExactOrPriced)?.entry,
    );
    const isOther = (entry: RouteEntry<T>) =>
      bindings.some(({ whole, byPath }) => whole.has(entry) || byPath.has(entry)) &&
      (isFree || entry.value.priceId !== priceId);
    if (others.some((entry) => entry !== undefined && isOther(entry))) return AMBIGUOUS;
    return isFree ? FREE : { kind: "priced", candidate };
  }

  /** Whether a handler has to pass a request on to a route behind it. */
  #isPassed(from: object, { behind }: Binding<T>, method: string, path: string): boolean {
    if (behind.size === 0 || this.#home === undefined) return false;
    return this.#home.view.receiversOf(from, method, path).some(({ handler }) => behind.has(handler));
  }

  #handlersOf(entry: RouteEntry<T>): readonly object[] {
    return this.#byKey.get(entry) ?? [];
  }

  /** Whether a path is a key's, unless a handler of the key gets the key's own spelling, but not this one. */
  #isRouted({ entry, form }: RouteCandidate<T>, path: string): boolean {
    const { view, mounts } = this.#home ?? NOWHERE;
    const reaches = (one: string) =>
      this.#handlersOf(entry).some((own) =>
        view.receiversOf(own, undefined, one).some(({ handler }) => handler === own),
      );
    return reaches(path) || !pathsBelow({ forms: [form] }, mounts).some(reaches);
  }

  #findBelow(mount: string, path: string, method: string | undefined): readonly RouteCandidate<T>[] {
    const query = belowThatMount(mount, path);
    if (query === undefined) return [];
    return this.table.find({ ...query, method }).map((found) => ({ ...found, mountTemplate: () => mount }));
  }

  #priceByPath(binding: Binding<T>, { method, path, find, cut }: Spot<T>): Coverage<T> {
    const { byPath, isAnyMethod, mayDecode, files, own, mounts } = binding;
    if (byPath.size === 0) return FREE;
    const isMeant = (entry: RouteEntry<T>) => byPath.has(entry) && (isAnyMethod || coversMethod(entry.method, method));
    const meant = (one: string) => {
      const spelled = elsewhere(mounts, one).flatMap((place) => find(place));
      return spelled.filter(
        (one) =>
          isMeant(one.entry) && (mayDecode || (one.form.expressions.loose.test(one.path) && this.#isRouted(one, path))),
      );
    };
    const met = meant(path);
    const named = met.find(({ entry }) => coversMethod(entry.method, method));
    if (named !== undefined) return { kind: "priced", candidate: named };
    if (met.length > 0)
      return priceOf(
        met.map(({ entry }) => entry),
        method,
      );
    const others = mayDecode ? readingsBelow(mounts, path) : [];
    if (files === undefined) return others.some((one) => meant(one).length > 0) ? AMBIGUOUS : FREE;
    const filesOf = (one: string): readonly RouteEntry<T>[] => {
      const spelled = [one, folderOf(one), indexOf(one)].flatMap((name) => meant(name)).map(({ entry }) => entry);
      const named = cut(one).flatMap((name) => fileNames(name).asked.flatMap((asked) => files.get(asked) ?? []));
      return [...spelled, ...named.filter(isMeant)];
    };
    if (isPlain(path)) return priceOf(filesOf(path), method);
    const found = others.flatMap(filesOf);
    return found.every((entry) => own?.has(entry)) ? priceOf(found, method) : AMBIGUOUS;
  }
}

/** A table without an app. */
const NOWHERE: Mounted = {
  gate: {},
  mounts: [],
  view: { mountsOf: () => [], receiversOf: () => [], routes: [], hasOtherApps: false },
};

function isExactOrPriced({ match, entry }: RouteCandidate<Priceable>): boolean {
  return match === "exact" || !entry.value.isFree;
}

/** A path, and the paths that are the same below each mount of a handler. */
function elsewhere(mounts: readonly string[], path: string): readonly string[] {
  const rests = mounts.map((mount) => belowThatMount(mount, path)?.path ?? path);
  const places = mounts.flatMap((mount) => samplesOf(mount === "" ? "/" : mount) ?? []);
  return [path, ...rests.flatMap((rest) => places.map((place) => belowMount(place === "/" ? "" : place, rest)))];
}

/** The other paths that a handler may read a path as: all of it, or what is below its mount. */
function readingsBelow(mounts: readonly string[], path: string): readonly string[] {
  if (isPlain(path)) return [];
  const below = mounts.flatMap((mount) => (mount === "" ? [] : (belowThatMount(mount, path) ?? [])));
  const read = below.flatMap(({ mountPath, path: rest }) =>
    otherReadings(rest).map((one) => belowMount(mountPath, one)),
  );
  return [...otherReadings(path), ...read];
}

/** The price of a request that no key is spelled as. */
function priceOf<T extends Priceable>(entries: readonly RouteEntry<T>[], method: string): Coverage<T> {
  const named = entries.filter((entry) => coversMethod(entry.method, method));
  if (method === "OPTIONS" && named.length === 0 && entries.length > 0) return PREFLIGHT;
  const [first, ...others] = named.length > 0 ? named : entries;
  if (first === undefined) return FREE;
  const isOnePrice = others.every(({ value }) => value.priceId === first.value.priceId);
  return { kind: isOnePrice ? "bound" : "unnamed", entry: first };
}

function isPriced({ kind }: Coverage<unknown>): boolean {
  return kind === "priced" || kind === "bound";
}
