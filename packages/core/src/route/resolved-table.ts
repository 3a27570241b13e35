/**
 * A route table that knows the app's own handlers: which key prices a request, in front of the routes and at a handler.
 *
 *   in front          a path that is spelled as a key is priced by that key, before any body is parsed
 *   a key's handler   every request that gets there is priced by one of its keys, or refused
 *   by path           a request is priced where somebody may read its path as a key's
 *
 * @module
 */
import {
  type Binding,
  type Bound,
  bindKeys,
  isForFolders,
  type Mounted,
  type Priceable,
  pathsBelow,
  receiversOf,
} from "./bind-keys.js";
import { belowThatMount, formsOf, samplesOf } from "./path.js";
import { fileNames, isPlain, otherReadings } from "./readings.js";
import type { Cut } from "./request.js";
import { coversMethod } from "./route-key.js";
import { belowMount, type RouteCandidate, type RouteEntry, type RouteQuery, type RouteTable } from "./route-table.js";
import { NO_HANDLERS, type Receiver, type RouterView } from "./router-view.js";

/** Whether a request is priced. */
export type Coverage<T> =
  /** No key prices it here. */
  | { readonly kind: "free" }
  | { readonly kind: "priced"; readonly candidate: RouteCandidate<T> }
  /** A handler's key prices it, although the request's path is not the key's. */
  | { readonly kind: "bound"; readonly entry: RouteEntry<T> }
  /** Somebody may read the path as one with a different price. */
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
  /** Default `right`. */
  readonly cut?: Cut | undefined;
}

/** A request to price. */
interface Spot<T> {
  readonly method: string;
  readonly path: string;
  readonly cut: Cut;
  /** The keys of a path, the most specific first, of any method. */
  readonly find: (path: string) => readonly RouteCandidate<T>[];
}

/** Resolves the keys of one table to handlers. */
export class ResolvedTable<T extends Priceable> {
  readonly table: RouteTable<T>;
  #bound: Bound<T>;
  /** Where the table stands. */
  #home: Mounted = NOWHERE;
  /** The handlers that are a key's own. */
  readonly #ownOf = new Map<RouteEntry<T>, object[]>();
  /** Priced keys without such handlers. */
  #ownless: ReadonlySet<RouteEntry<T>> = new Set();
  /** The handlers that get the path of a key. */
  readonly #takersOf = new Map<RouteEntry<T>, ReadonlySet<object>>();
  /** Keys by the names of their files. */
  readonly #files = new Map<string, RouteEntry<T>[]>();

  constructor(table: RouteTable<T>) {
    this.table = table;
    this.#bound = bindKeys(table, NOWHERE);
    this.#ownless = new Set(table.entries.filter(({ value }) => !value.isFree));
    for (const entry of table.entries) {
      const names = entry.value.isFree ? [] : entry.forms.flatMap(({ sample }) => fileNames(sample).kept);
      for (const name of names) this.#files.set(name, [...(this.#files.get(name) ?? []), entry]);
    }
  }

  /**
   * Resolves every key anew, and returns the handlers that keys price.
   *
   * @param mounts - Those of the table, as the seller wrote them, if the routers do not show it.
   */
  bind(gate: object, view: RouterView, mounts?: readonly string[]): readonly object[] {
    this.#home = { gate, view, mounts: mounts ?? view.mountsOf(gate) };
    const bound = bindKeys(this.table, this.#home);
    const here = new Set(view.handlers.map(({ handler }) => handler));
    const elsewhere = [...this.#bound.handlers].filter(([handler]) => !here.has(handler));
    this.#bound = { ...bound, handlers: new Map([...elsewhere, ...bound.handlers]) };
    this.#takersOf.clear();
    this.#ownOf.clear();
    for (const [handler, { whole }] of this.#bound.handlers) {
      for (const entry of whole) this.#ownOf.set(entry, [...(this.#ownOf.get(entry) ?? []), handler]);
    }
    this.#ownless = new Set(this.table.entries.filter((entry) => !entry.value.isFree && !this.#ownOf.has(entry)));
    return [...bound.handlers.keys()];
  }

  /** The price of a request where the table stands. */
  inFront(query: RouteQuery & { readonly cut?: Cut | undefined }): Coverage<T> {
    const { method = "", path: rest, mountPath, cut = "right" } = query;
    if (cut === "wrong") return AMBIGUOUS;
    const path = belowMount(mountPath, rest);
    const find = (one: string) =>
      one.startsWith(mountPath)
        ? this.table.find({ method: undefined, mountPath, path: one.slice(mountPath.length) || "/" })
        : [];
    const spot = { method, path, cut, find };
    const [first] = find(path).filter((one) => isExactOrPriced(one) && coversMethod(one.entry.method, method));
    const own = first && this.#ownOf.get(first.entry);
    // In another spelling, it is the key's if its own handler gets it; without one, in every spelling.
    const isOwn = first?.match === "exact" || this.#home === NOWHERE || (own && this.#isRouted(first, path));
    const isKeys = isOwn === true || (first !== undefined && own === undefined);
    if (first !== undefined && isKeys && !isPlain(path) && this.#isAmbiguous(spot)) return AMBIGUOUS;
    if (first !== undefined && isOwn === true)
      return first.entry.value.isFree ? FREE : { kind: "priced", candidate: first };
    const byPath = isKeys ? this.#ownless : this.#bound.inFront.byPath;
    return this.#price({ ...this.#bound.inFront, byPath, mounts: [mountPath] }, spot);
  }

  /** Whether somebody who gets a request may read it as another key's. */
  #isAmbiguous(spot: Spot<T>): boolean {
    const met = this.#home.view.receiversOf(spot.method, spot.path);
    const bindings = met.flatMap(({ handler }) => this.#bound.handlers.get(handler) ?? []);
    // Of the others, none gets it.
    const last = bindings.findIndex(({ whole }) => whole.size > 0);
    const asked = [this.#bound.inFront, ...(last < 0 ? bindings : bindings.slice(0, last + 1))];
    return asked.some((binding) => this.#price(binding, spot) === AMBIGUOUS);
  }

  /** The price of a request at a handler that {@link ResolvedTable.bind} returned. */
  atHandler(handler: object, { method, fullPath, mounts, cut = "right" }: HandlerQuery): Coverage<T> {
    const binding = this.#bound.handlers.get(handler);
    if (binding === undefined) return FREE;
    if (cut === "wrong") return AMBIGUOUS;
    const spot = { method, path: fullPath, cut, find: (path: string) => this.#findBelow(mounts, path) };
    return this.#price(binding, spot);
  }

  /** Whether a request would have to pay: at a handler, or in front of the routes. */
  prices({ method, fullPath, mounts }: HandlerQuery, handler?: object): boolean {
    if (handler !== undefined) return isPriced(this.atHandler(handler, { method, fullPath, mounts }));
    return mounts.some((mount) => {
      const query = belowThatMount(mount, fullPath);
      return query !== undefined && isPriced(this.inFront({ ...query, method }));
    });
  }

  /** The key that names a request, whoever gets it. */
  named({ method, fullPath, mounts }: HandlerQuery): RouteCandidate<T> | undefined {
    const found = this.#findBelow(mounts, fullPath).filter(({ entry }) => coversMethod(entry.method, method));
    return found.find(({ match }) => match === "exact") ?? found.find((one) => this.#isRouted(one, fullPath));
  }

  /** The keys that a handler's requests are priced by, whatever their path. @param methods - Of which they name one. Default: any. */
  keysAt(handler: object, methods?: readonly string[]): readonly RouteEntry<T>[] {
    const whole = [...(this.#bound.handlers.get(handler)?.whole ?? [])];
    return whole.filter(({ method }) => methods?.some((one) => coversMethod(method, one)) !== false);
  }

  /** The same for all handlers that read a request's path in the same way; `undefined`: no other does. */
  readingOf(handler: object): object | undefined {
    const binding = this.#bound.handlers.get(handler);
    return binding === this.#bound.everywhere ? binding : undefined;
  }

  /** Whether a price that was paid here may be that of a handler's key. Where requests are priced by path, it was asked for by path. */
  sells(handler: object, priceId: string): boolean {
    const whole = this.#bound.handlers.get(handler)?.whole;
    if (whole === undefined || whole.size === 0) return true;
    for (const { value } of whole) if (value.priceId === priceId) return true;
    return false;
  }

  /** The price that a binding has for a request. */
  #price(binding: Binding<T>, spot: Spot<T>): Coverage<T> {
    const { whole, byPath, passing, mounts } = binding;
    const { method, path } = spot;
    const count = whole.size + byPath.size;
    if (count + passing.size === 0) return FREE;
    const readings = count === 0 ? [] : readingsAt(mounts, path);
    const own = this.#findKey(binding, path, spot);
    const others = readings.flatMap((one) => this.#findKey(binding, one, spot) ?? []);
    const found = own === undefined ? others : [own, ...others];
    const entries = found.map(({ entry }) => entry);
    if (whole.size > 0 && own === undefined) {
      // The handler has a price, whatever the path is. Another route of its path may be for a method that no key names.
      const mayBeFree = (entry: RouteEntry<T>) => mounts.length > 0 || !coversMethod(entry.method, method);
      const meant = [...whole].filter((entry) => !(mayBeFree(entry) && this.#isFreed(entry, spot)));
      const price = priceOf(meant, method);
      return price.kind === "bound" && hasOtherPrice([price.entry, ...entries]) ? AMBIGUOUS : price;
    }
    const [first] = found;
    if (first === undefined) return this.#priceOfFile(binding, [path, ...readings], spot);
    if (hasOtherPrice(entries)) return AMBIGUOUS;
    if (first.entry.value.isFree) return FREE;
    if (coversMethod(first.entry.method, method)) return { kind: "priced", candidate: first };
    const isSame = ({ entry, form }: RouteCandidate<T>) => byPath.has(entry) && form.shape === first.form.shape;
    const same = spot.find(path).flatMap((one) => (isSame(one) ? [one.entry] : []));
    return this.#priceOfAny([...entries, ...same], spot);
  }

  /** The key that prices a path at a handler: the one that names method and path, or else one of the path. */
  #findKey({ whole, byPath, passing }: Binding<T>, path: string, spot: Spot<T>): RouteCandidate<T> | undefined {
    const { method, find } = spot;
    const isSpelled = path === spot.path;
    const met = find(path).filter(isExactOrPriced);
    const named = met.filter(({ entry }) => coversMethod(entry.method, method));
    const isRead = ({ entry }: RouteCandidate<T>) => byPath.has(entry) && !this.#isFreed(entry, spot);
    const isMeant = (one: RouteCandidate<T>) => {
      const { match, entry, form, path: rest } = one;
      if ((isSpelled && match === "exact") || whole.has(entry) || isRead(one)) return true;
      // The handler of a price may read the path, too: `/u/%76ip` is `/u/vip` to that of `/u/:id`.
      const isShared = whole.size > 0 && path.split("/").length === spot.path.split("/").length;
      if (!isSpelled) return isShared && passing.has(entry);
      return passing.has(entry) && form.takes(rest) && this.#isRouted(one, path);
    };
    // Without an app, other methods are nobody's.
    return named.find(isMeant) ?? (whole.size > 0 || this.#home === NOWHERE ? undefined : met.find(isRead));
  }

  /** The price of a file that a key names by another name. */
  #priceOfFile(binding: Binding<T>, paths: readonly string[], spot: Spot<T>): Coverage<T> {
    if (binding.byPath.size === 0 || this.#ownless.size === 0 || this.#home === NOWHERE) return FREE;
    for (const path of paths) {
      const folder = path.replace(/(.)\/index(?:\.[^/]*)?$/i, "$1");
      const keys = { ...binding, byPath: this.#ownless };
      const candidate = folder === path ? undefined : this.#findKey(keys, folder, spot);
      if (candidate === undefined) continue;
      const isNamed = coversMethod(candidate.entry.method, spot.method);
      return isNamed ? { kind: "priced", candidate } : this.#priceOfAny([candidate.entry], spot);
    }
    const below = (path: string) => this.#home.mounts.flatMap((mount) => belowThatMount(mount, path)?.path ?? []);
    const names = new Set(paths.flatMap((path) => [path, ...below(path)]).flatMap((path) => fileNames(path).asked));
    const found = [...names].flatMap((name) => this.#files.get(name) ?? []);
    const isMeant = (entry: RouteEntry<T>) => binding.byPath.has(entry) && this.#ownless.has(entry);
    const meant = found.filter((entry) => isMeant(entry) && !this.#isFreed(entry, spot, true));
    return this.#priceOfAny(meant, spot);
  }

  /** The price of keys of which none names the request: that of a key's route which takes it. OPTIONS goes on to such a route. */
  #priceOfAny(entries: readonly RouteEntry<T>[], { method, path }: Spot<T>): Coverage<T> {
    const isKeys = ({ kind, handler }: Receiver) => kind === "route" && this.keysAt(handler).length > 0;
    const taker = entries.length === 0 ? undefined : this.#home.view.receiversOf(method, path).find(isKeys);
    const price = priceOf(taker === undefined ? entries : this.keysAt(taker.handler), method);
    if (price.kind !== "preflight") return price;
    return entries.every((entry) => this.#bound.written.has(entry)) ? FREE : price;
  }

  /** Whether a route that no key is for takes a request by name. One that takes the path of the key, too, is a page for many. */
  #isFreed(entry: RouteEntry<T>, { method, path, cut }: Spot<T>, isFile = false): boolean {
    if (method === "OPTIONS" || cut !== "right") return false;
    const isOther = ({ kind, names, paths, handler }: Receiver) =>
      kind === "route" && paths?.some(isForFolders) === false && names(method) && this.keysAt(handler).length === 0;
    const routes = this.#home.view.receiversOf(method, path).filter(isOther);
    return routes.some(({ handler, takesAll }) => (isFile ? !takesAll : !this.#takes(entry, handler)));
  }

  /** Whether a handler gets the path of a key as one of more than the key has. */
  #takes(entry: RouteEntry<T>, handler: object): boolean {
    let takers = this.#takersOf.get(entry);
    if (takers === undefined) {
      const isKeys = (sample: string) => this.#findBelow(this.#home.mounts, sample).some((one) => one.entry === entry);
      const isWider = ({ paths }: Receiver) => paths?.some((path) => samplesOf(path)?.every(isKeys)) !== true;
      const met = receiversOf({ ...entry, method: undefined }, this.#home);
      takers = new Set(met.filter(isWider).map((one) => one.handler));
      this.#takersOf.set(entry, takers);
    }
    return takers.has(handler);
  }

  /** Whether a key's own handler gets a path, or does not get the one that the key has for it. */
  #isRouted({ entry, form }: RouteCandidate<T>, path: string): boolean {
    const { view, mounts } = this.#home;
    const own = this.#ownOf.get(entry) ?? [];
    const reaches = (one: string) => view.receiversOf(undefined, one).some(({ handler }) => own.includes(handler));
    const { full, relative } = pathsBelow({ forms: [form] }, mounts);
    return reaches(path) || ![...full, ...relative].some(reaches);
  }

  #findBelow(mounts: readonly string[], path: string): readonly RouteCandidate<T>[] {
    return mounts.flatMap((mount) => {
      const query = belowThatMount(mount, path);
      if (query === undefined) return [];
      const found = this.table.find({ ...query, method: undefined });
      const isWritten = mount === query.mountPath || formsOf(mount).some((form) => form.matches(query.mountPath));
      const spelling = isWritten ? {} : ({ match: "spelling" } as const);
      return found.map((one) => ({ ...one, ...spelling, mountTemplate: () => mount }));
    });
  }
}

/** A table without an app. */
const NOWHERE: Mounted = { gate: {}, mounts: [], view: NO_HANDLERS };

function isExactOrPriced({ match, entry }: RouteCandidate<Priceable>): boolean {
  return match === "exact" || !entry.value.isFree;
}

function hasOtherPrice([first, ...others]: readonly RouteEntry<Priceable>[]): boolean {
  const { isFree, priceId } = first?.value ?? {};
  return others.some(({ value }) => value.isFree !== isFree || value.priceId !== priceId);
}

/** The other paths that a handler may read a path as: all of it, or what is below one of its mounts, at each of them. */
function readingsAt(mounts: readonly string[], path: string): readonly string[] {
  if (isPlain(path) && mounts.length < 2) return [];
  const rests = mounts.flatMap((mount) => belowThatMount(mount, path) ?? []);
  const places = mounts.flatMap((mount) => (mount === "" ? "" : (samplesOf(mount) ?? [])));
  const read = rests.flatMap(({ mountPath, path: rest }) =>
    [rest, ...otherReadings(rest)].flatMap((one) => [mountPath, ...places].map((place) => belowMount(place, one))),
  );
  return [...new Set([...otherReadings(path), ...read])].filter((one) => one !== path);
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
