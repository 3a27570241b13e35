/**
 * Which handlers of an app the keys of a table are for.
 *
 *   1. a route that is written like a key, or a function that is mounted at it, is the key's: all requests there are priced
 *   2. any other function is priced by path, and so is a route that gets the path of a key without a route of its own
 *
 * @module
 */
import { belowThatMount, formsOf } from "./path.js";
import { fold, type PathForm } from "./path-form.js";
import { decodeLetters, encodeLetters, otherReadings } from "./readings.js";
import { coversMethod, METHODS } from "./route-key.js";
import { belowMount, type RouteEntry, type RouteTable } from "./route-table.js";
import type { Receiver, RouterView } from "./router-view.js";

type Keys<T> = ReadonlySet<RouteEntry<T>>;

/** What prices a handler. */
export interface Binding<T> {
  /** Keys that price every request that gets to the handler. */
  readonly whole: Keys<T>;
  /** Keys that price the requests whose path can be read as theirs. */
  readonly byPath: Keys<T>;
  /** Keys whose own routes may come behind the handler: they price what is spelled as they are. */
  readonly passing: Keys<T>;
  /** Where the handler is mounted. */
  readonly mounts: readonly string[];
}

/** A table in an app. */
export interface Mounted {
  readonly gate: object;
  readonly mounts: readonly string[];
  readonly view: RouterView;
}

/** What a table asks of its values. */
export interface Priceable {
  readonly isFree: boolean;
  /** Equal for prices that are the same. */
  readonly priceId: string;
}

/** A handler, and a key that is for it. */
export type Pair<T> = readonly [handler: object, entry: RouteEntry<T>];

/** The handlers that keys price. */
export interface Bound<T> {
  readonly handlers: ReadonlyMap<object, Binding<T>>;
  /** Of the table itself, for keys without a handler. */
  readonly inFront: Binding<T>;
  /** Keys that a route is written like. */
  readonly written: Keys<T>;
  /** Of functions that take every path. */
  readonly everywhere: Binding<T>;
}

/** Resolves the keys of a table. */
export function bindKeys<T extends Priceable>(table: RouteTable<T>, mounted: Mounted): Bound<T> {
  const { gate, view } = mounted;
  const priced = new Set(table.entries.filter(({ value }) => !value.isFree));
  const handlers = new Map<object, Binding<T>>();
  if (view.isReadable === false || mounted.mounts.length === 0) {
    return { handlers, inFront: byPath(priced), written: NO_KEYS, everywhere: byPath(priced) };
  }
  const { pairs, own, written } = bindWhole(table, mounted);
  const rest = new Set([...priced].filter((entry) => !own.has(entry)));
  const whole = group(pairs);
  const start = view.handlers.findIndex(({ handler }) => handler === gate);
  const places = group(view.handlers.map((one, at) => [one.handler, { ...one, isBehind: at > start }] as const));
  const isBehind = (handler: object) =>
    places.get(handler)?.some((one) => one.isBehind || one.kind === "route") === true;
  const met = group(
    [...rest]
      .flatMap((entry) => pairsOf(entry, mounted, isBehind))
      .filter(([one, entry]) => !whole.get(one)?.includes(entry)),
  );
  const everywhere = byPath(priced);
  for (const [handler, found] of places) {
    const isFunction = found.some(({ kind }) => kind === "function");
    const mounts = isFunction ? found.flatMap(({ paths = [] }) => paths) : [];
    const passing = found.some(isOpenRoute) ? own : NO_KEYS;
    // In front of the table are functions that have no price. One may be the only handler of a key.
    const keys = isFunction && isBehind(handler) ? priced : new Set(met.get(handler));
    const binding = { whole: new Set(whole.get(handler)), byPath: keys, passing, mounts };
    const isUsual = keys === priced && binding.whole.size === 0 && mounts.every((mount) => mount === "");
    if (isUsual) handlers.set(handler, everywhere);
    else if (binding.whole.size + keys.size + passing.size > 0) handlers.set(handler, binding);
  }
  // A function of the seller's may call the table behind its own handlers.
  if (view.mountsOf(gate).length === 0) return { handlers, inFront: byPath(priced), written, everywhere };
  const known = new Set([...met.values()].flat());
  return { handlers, inFront: byPath(new Set([...rest].filter((entry) => !known.has(entry)))), written, everywhere };
}

/** A key without a handler of its own, and those that get its path: behind the table, or else those that are mounted before it. */
function pairsOf<T>(
  entry: RouteEntry<T>,
  mounted: Mounted,
  isBehind: (handler: object) => boolean,
): readonly Pair<T>[] {
  const met = receiversOf(entry, mounted).filter(({ kind }) => kind !== "gate");
  const behind = met.filter(({ handler }) => isBehind(handler));
  const before = met.filter(({ handler, takesAll }) => !takesAll && !isBehind(handler));
  // A page for what is not found is behind every table.
  const isServed = behind.some(({ takesAll }) => !takesAll);
  const { full, relative } = pathsBelow(entry, mounted.mounts, "shape");
  const shapes = new Set([...full, ...relative]);
  const meant = behind.length === 0 ? before : before.filter((one) => !isServed && isMountedAt(one, shapes));
  return [...behind, ...meant].map(({ handler }): Pair<T> => [handler, entry]);
}

/** Whether a function is mounted at a path that is written like one of a key. */
function isMountedAt({ kind, takesAll, paths = [] }: Receiver, shapes: ReadonlySet<string>): boolean {
  return kind === "function" && !takesAll && paths.some((path) => formsOf(path).some(({ shape }) => shapes.has(shape)));
}

const NO_KEYS: Keys<never> = new Set();

/** The binding of a handler that may be for any of some keys. */
function byPath<T>(keys: Keys<T>): Binding<T> {
  return { whole: NO_KEYS, byPath: keys, passing: NO_KEYS, mounts: [] };
}

/** Whether a route takes more than one path. */
function isOpenRoute({ kind, paths }: Receiver): boolean {
  return kind === "route" && (paths === undefined || paths.some((path) => /[:*{]/.test(path)));
}

function group<V>(pairs: readonly (readonly [handler: object, value: V])[]): ReadonlyMap<object, readonly V[]> {
  const groups = new Map<object, V[]>();
  for (const [handler, value] of pairs) {
    if (groups.get(handler)?.push(value) === undefined) groups.set(handler, [value]);
  }
  return groups;
}

/** Keys, and the handlers of which every request is priced. */
export interface Whole<T> {
  /** Written like the key, or routes to which Express gives its path. */
  readonly pairs: readonly Pair<T>[];
  /** Keys of which no other handler gets a request, if it is not on the way: their routes say all that the key says. */
  readonly own: Keys<T>;
  /** Keys that a route is written like. */
  readonly written: Keys<T>;
}

/** Finds the handlers that are a key's own. */
export function bindWhole<T extends Priceable>(table: RouteTable<T>, mounted: Mounted): Whole<T> {
  const spelled = findSpelled(table, mounted).filter(({ entry }) => !entry.value.isFree);
  // The routes of other keys do not get all of their requests: `/a/b` does not for `/a/:x`.
  const general = new Set(
    spelled.flatMap(({ entry, isGeneral, isCharged }) => (isGeneral && !isCharged ? [entry] : [])),
  );
  const open = table.entries.filter((entry) => !entry.value.isFree && !general.has(entry));
  const pairsOfOpen = (find: (entry: RouteEntry<T>) => readonly object[]) =>
    open.flatMap((entry) => find(entry).map((handler): Pair<T> => [handler, entry]));
  const mounts = pairsOfOpen((entry) => mountedAt(entry, mounted));
  const atMounts = new Set(mounts.map(([, entry]) => entry));
  const isPlaced = new Set([...atMounts, ...spelled.flatMap(({ entry, isGeneral }) => (isGeneral ? [entry] : []))]);
  const others = pairsOfOpen((entry) => (isPlaced.has(entry) ? [] : routesFor(entry, mounted)));
  const known = new Set([...spelled.map(({ entry }) => entry), ...[...mounts, ...others].map(([, entry]) => entry)]);
  const elsewhere = bindElsewhere(
    open.filter((entry) => !known.has(entry)),
    mounted.view,
  );
  const written = [...spelled.map(({ route, entry }): Pair<T> => [route, entry]), ...elsewhere];
  return {
    pairs: [...written, ...mounts, ...others],
    own: new Set([...general, ...atMounts, ...elsewhere.map(([, entry]) => entry)]),
    written: new Set(written.map(([, entry]) => entry)),
  };
}

interface Spelled<T> {
  readonly route: object;
  readonly entry: RouteEntry<T>;
  /** Whether the route has the key's parameters, and not one value for them. */
  readonly isGeneral: boolean;
  /** Whether it has a price of its own. */
  readonly isCharged: boolean;
}

/** Keys and the routes that are spelled as they are. A URL has only ASCII: a route may have the same letters encoded. */
function findSpelled<T>(table: RouteTable<T>, { mounts, view }: Mounted): readonly Spelled<T>[] {
  const takes = (route: object, path: string) =>
    view.receiversOf(undefined, path).some(({ handler }) => handler === route);
  return view.routes.flatMap(({ route, path, methods = METHODS, isCharged }) => {
    const forms = path === undefined ? [] : formsOf(path);
    // A path for whole folders is for more than the one of its forms that has none of them.
    const folders = forms.filter(isOfFolders);
    return (folders.length > 0 ? folders : forms).flatMap(({ sample, shape }) => {
      const read = sample.includes("%") ? otherReadings(sample) : [];
      const samples = new Set([sample, encodeLetters(sample), decodeLetters(sample), ...read]);
      const queries = [...samples].flatMap((one) => mounts.flatMap((mount) => belowThatMount(mount, one) ?? []));
      const met = queries.flatMap((query) => methods.flatMap((method) => table.find({ ...query, method })));
      return met.flatMap(({ match, entry, form, path, mountPath }): Spelled<T>[] => {
        const spelled = match === "exact" ? path : spellAs(path, form.sample);
        if (match !== "exact" && !(form.matches(spelled) && takes(route, mountPath + spelled))) return [];
        // Placeholders differ, if the mount has a sign of theirs.
        const isSame = path === form.sample || shape.endsWith(form.shape);
        const isGeneral = isSame && (hasParameters(form) || !entry.forms.some(hasParameters));
        return [{ route, entry, isGeneral, isCharged }];
      });
    });
  });
}

/** A path with the letters of another one, where both differ by their case or by a slash at the end. */
function spellAs(path: string, other: string): string {
  const texts = other.split("/");
  const spelled = path.split("/").map((text, at) => (fold(texts[at] ?? "") === fold(text) ? (texts[at] ?? "") : text));
  return spelled.join("/").replace(/(.)\/$/, "$1");
}

/** Whether a form has a wildcard. */
function isOfFolders({ ranks }: PathForm): boolean {
  return ranks.some((rank) => rank >= 1.5);
}

/** Whether a form has parameters or wildcards. */
function hasParameters({ ranks }: PathForm): boolean {
  return ranks.some((rank) => rank > 0);
}

/** Functions that are mounted at a key's path behind the table. */
function mountedAt<T>(entry: RouteEntry<T>, { gate, mounts, view }: Mounted): readonly object[] {
  const { full, relative } = pathsBelow(entry, mounts, "shape");
  const start = view.handlers.findIndex(({ handler }) => handler === gate);
  const at = (shapes: readonly string[]) =>
    view.handlers.slice(start + 1).flatMap((one) => (isMountedAt(one, new Set(shapes)) ? [one.handler] : []));
  const found = at(full);
  return found.length > 0 ? found : at(relative);
}

/**
 * Routes to which Express gives a key's path, the full one before the relative: `/u/:id` for `/u/me`, or a regular expression. One that
 * takes whole folders is for more than the key, and one that takes none is not for a key that does. One with a charge is the key's,
 * and no other.
 */
function routesFor<T>(entry: RouteEntry<T>, { mounts, view }: Mounted): readonly object[] {
  const charging = new Set(view.routes.flatMap(({ route, isCharged }) => (isCharged ? [route] : [])));
  const folders = entry.forms.filter(isOfFolders);
  const { full, relative } = pathsBelow({ forms: folders.length > 0 ? folders : entry.forms }, mounts);
  const isMeant = ({ kind, paths, takesAll }: Receiver) => kind === "route" && !takesAll && !paths?.some(isForFolders);
  for (const path of [...spellings(full), ...spellings(relative)]) {
    const meant = view.receiversOf(entry.method, path).filter(isMeant);
    if (meant.length > 0)
      return meant.some(({ handler }) => charging.has(handler)) ? [] : meant.map(({ handler }) => handler);
  }
  return [];
}

/** Whether a path has a wildcard. */
export function isForFolders(path: string): boolean {
  return /\*/.test(path.replace(/\\./g, ""));
}

/** Paths as clients send them, as others read them, and with other values of parameters: an expression may take only numbers. */
function spellings(samples: readonly string[]): readonly string[] {
  const sent = samples.flatMap((path) => [path, encodeLetters(path), decodeLetters(path)]);
  const valued = ["0", "a"].flatMap((value) => sent.map((path) => path.replaceAll("~", value)));
  return [...new Set([...sent, ...samples.flatMap(otherReadings), ...valued])];
}

/** Keys that are written for a router, in a table that is not mounted there. */
function bindElsewhere<T>(entries: readonly RouteEntry<T>[], { routes }: RouterView): readonly Pair<T>[] {
  const byShape = new Map<string, RouteEntry<T>[]>();
  for (const entry of entries) {
    for (const { shape } of entry.forms) byShape.set(shape, [...(byShape.get(shape) ?? []), entry]);
  }
  return routes.flatMap(({ route, ownPath, methods = METHODS, isCharged }) => {
    const forms = ownPath === undefined || isCharged ? [] : formsOf(ownPath);
    const found = forms.flatMap(({ shape }) => byShape.get(shape) ?? []);
    const meant = found.filter((entry) => methods.some((method) => coversMethod(entry.method, method)));
    return meant.map((entry): Pair<T> => [route, entry]);
  });
}

/** The handlers to which Express gives the path of a key, by a method of the key. */
export function receiversOf(entry: RouteEntry<unknown>, { mounts, view }: Mounted): readonly Receiver[] {
  const { full, relative } = pathsBelow(entry, mounts);
  return spellings([...full, ...relative]).flatMap((path) => view.receiversOf(entry.method, path));
}

/** The key's full paths that lie below a mount of its table, and its paths relative to the mounts: as samples, or as shapes. */
export function pathsBelow(
  { forms }: Pick<RouteEntry<unknown>, "forms">,
  mounts: readonly string[],
  as: "sample" | "shape" = "sample",
): Readonly<Record<"full" | "relative", readonly string[]>> {
  const isBelow = (mount: string, path: string) => mount !== "" && belowThatMount(mount, path) !== undefined;
  const full = forms.filter(({ sample }) => mounts.some((mount) => isBelow(mount, sample)));
  const written = (mount: string) => (mount === "" ? [] : formsOf(mount).map((form) => form[as]));
  const places = mounts.flatMap((mount) => (written(mount).length > 0 ? written(mount) : [mount]));
  return {
    full: full.map((form) => form[as]),
    relative: forms.flatMap((form) => places.map((place) => belowMount(place, form[as]))),
  };
}
