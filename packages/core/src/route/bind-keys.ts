/**
 * Which handlers of an app the keys of a table are for. Express's own match decides.
 *
 *   1. routes that are spelled as the key
 *   2. routes and mounts that Express gives the key's path to
 *   3. routes that are written like the key in a router mounted elsewhere
 *   4. handlers of every path: by path, as the key is one of many
 *
 * A file server also finds the files of keys that other handlers are for.
 *
 * @module
 */
import { createFilePaths, type FilePaths, otherSpellings } from "./file-paths.js";
import { compileRegistered, matchesMount, samplesOf } from "./path.js";
import type { PathForm } from "./path-form.js";
import { coversMethod, METHODS } from "./route-key.js";
import { belowMount, type RouteEntry, type RouteQuery, type RouteTable } from "./route-table.js";
import type { Receiver, RouterView } from "./router-view.js";

/** The keys that price a handler. */
export interface Binding<T> {
  /** Whether they price every request that gets to the handler, or those with their paths. */
  readonly isWhole: boolean;
  readonly entries: ReadonlySet<RouteEntry<T>>;
  /** Keys that the handler is not for, although a path there may be theirs. */
  readonly others: ReadonlySet<RouteEntry<T>>;
  /** Of a file server: the keys whose files a path leads to. */
  readonly files?: FilePaths<T> | undefined;
  /** Whether no request gets past the handler. */
  readonly isFinal: boolean;
  /** Where it is mounted. */
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
type Pair<T> = readonly [handler: object, entry: RouteEntry<T>];

/** The handlers that keys price. */
export function bindKeys<T extends Priceable>(table: RouteTable<T>, mounted: Mounted): ReadonlyMap<object, Binding<T>> {
  const { gate, mounts, view } = mounted;
  const priced = table.entries.filter(({ value }) => !value.isFree);
  if (mounts.length === 0 || view.isReadable === false) return new Map();
  const { own, met, open } = bindWhole(table, mounted);
  const elsewhere = bindElsewhere(without(priced, [...own, ...met]), view);
  const whole = [...own, ...met, ...elsewhere];
  const rest = without(priced, [...own.filter(([, entry]) => !open.has(entry)), ...met, ...elsewhere]);
  const unbound = new Set(rest);
  const all = view.receiversOf(gate, undefined, undefined);
  const byHandler = new Map(all.map((receiver) => [receiver.handler, receiver]));
  const placesOf = (handler: object) =>
    all.flatMap((receiver) => (receiver.handler === handler ? (receiver.paths ?? []) : []));
  const bindings = new Map<object, Binding<T>>();
  for (const [handler, entries] of group(whole)) {
    const { kind = "route", isFinal = true } = byHandler.get(handler) ?? {};
    // A route is its keys' own: nothing else is meant by a request that gets there. So are files.
    const isLast = kind === "route" || kind === "files" || isFinal;
    const known = isLast ? [] : placesOf(handler);
    bindings.set(handler, { isWhole: true, entries, others: new Set(), isFinal: isLast, mounts: known });
  }
  for (const [handler, entries] of group([
    ...bindByPath(rest, mounted),
    ...bindBeside([...met.map(([, entry]) => entry), ...open], mounted),
  ])) {
    const whole = bindings.get(handler);
    if (whole !== undefined) {
      bindings.set(handler, { ...whole, others: entries });
      continue;
    }
    const { kind, takesAll, isFinal: isLast } = byHandler.get(handler) ?? {};
    const isFinal = isLast === true || (kind === "route" && takesAll === false);
    bindings.set(handler, { isWhole: false, entries, others: new Set(), isFinal, mounts: placesOf(handler) });
  }
  for (const server of all) {
    const isBound = bindings.get(server.handler)?.isWhole === true;
    if (server.kind !== "files" || isBound || (server.isBefore && rest.length === 0)) continue;
    const near = (entry: RouteEntry<T>) => isBelow(entry, mounts, server);
    const own = rest.filter(near);
    const others = new Set(server.isBefore ? [] : priced.filter((entry) => !unbound.has(entry) && near(entry)));
    if (own.length + others.size === 0) continue;
    const files = { entries: new Set(own), others, files: createFilePaths(own) };
    bindings.set(server.handler, { isWhole: false, ...files, isFinal: true, mounts: placesOf(server.handler) });
  }
  for (const handler of regularExpressions(all, view)) {
    const known = bindings.get(handler) ?? { isWhole: false, entries: new Set(), isFinal: true, mounts: [] };
    bindings.set(handler, { ...known, others: new Set(priced) });
  }
  return bindings;
}

/** The routes that may take more paths of a key than the one that is tried. */
function regularExpressions(all: readonly Receiver[], view: RouterView): readonly object[] {
  const free = freeRoutes(view);
  return all.flatMap(({ handler, kind, paths, takesAll }) =>
    kind === "route" && paths === undefined && !takesAll && free.has(handler) ? [handler] : [],
  );
}

/**
 * Keys, and the routes that are spelled as they are, or else the routes and mounts that get their requests. The routes of an
 * `open` key do not get all of its requests: `/a/b` does not for `/a/:x`. Mounts and routes of others may get the rest.
 */
export function bindWhole<T extends Priceable>(
  table: RouteTable<T>,
  mounted: Mounted,
): { readonly own: Pair<T>[]; readonly met: Pair<T>[]; readonly open: ReadonlySet<RouteEntry<T>> } {
  const priced = table.entries.filter(({ value }) => !value.isFree);
  const spelled = findSpelled(table, mounted).filter(({ entry }) => !entry.value.isFree);
  const own = spelled.map(({ route, entry }): Pair<T> => [route, entry]);
  const rest = without(priced, own);
  const met = bindByMatch(rest, mounted, spellAsSent);
  met.push(...bindByMatch(without(rest, met), mounted, otherSpellings));
  const closed = new Set(spelled.flatMap(({ entry, isGeneral }) => (isGeneral ? [entry] : [])));
  const open = new Set(priced.filter((entry) => !closed.has(entry) && !rest.includes(entry)));
  const routes = new Set(mounted.view.routes.map(({ route }) => route));
  met.push(...bindByMatch([...open], mounted, spellAsSent).filter(([handler]) => !routes.has(handler)));
  return { own, met, open };
}

function without<T>(entries: readonly RouteEntry<T>[], bound: readonly Pair<T>[]): readonly RouteEntry<T>[] {
  const known = new Set(bound.map(([, entry]) => entry));
  return entries.filter((entry) => !known.has(entry));
}

function group<T>(pairs: readonly Pair<T>[]): ReadonlyMap<object, Set<RouteEntry<T>>> {
  const groups = new Map<object, Set<RouteEntry<T>>>();
  for (const [handler, entry] of pairs)
    groups.set(handler, (groups.get(handler) ?? new Set<RouteEntry<T>>()).add(entry));
  return groups;
}

interface Spelled<T> {
  readonly route: object;
  readonly entry: RouteEntry<T>;
  /** Whether the route has the key's parameters, and not one value for them. */
  readonly isGeneral: boolean;
}

/** Keys and the routes that are spelled as they are. A URL has only ASCII: a route may have the same letters encoded. */
function findSpelled<T>(table: RouteTable<T>, { mounts, view }: Mounted): readonly Spelled<T>[] {
  return view.routes.flatMap(({ route, path, methods = METHODS }) => {
    const samples = (path === undefined ? undefined : samplesOf(path)) ?? [];
    const spelled = samples.flatMap((sample) => [...spellAsSent(sample), ...decoded(sample)]);
    const queries = spelled.flatMap((sample) => mounts.flatMap((mount) => belowThatMount(mount, sample) ?? []));
    const met = queries.flatMap((query) => methods.flatMap((method) => table.find({ ...query, method })));
    return met.flatMap(({ match, entry, form, path }): Spelled<T>[] => {
      if (match !== "exact") return [];
      return [{ route, entry, isGeneral: path === form.sample && (isOpen(form) || !entry.forms.some(isOpen)) }];
    });
  });
}

/** Whether a form has parameters or wildcards. */
function isOpen({ ranks }: PathForm): boolean {
  return ranks.some((rank) => rank > 0);
}

/** The spelling of a path, and the one that clients send. */
function spellAsSent(path: string): readonly string[] {
  return /[^\x21-\x7e]/.test(path) ? [path, path.replace(/[^\x21-\x7e]+/g, encodeLetters)] : [path];
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

/** Keys without a route of their own, and the handlers that get their requests. A full path goes before a relative one. */
function bindByMatch<T>(
  entries: readonly RouteEntry<T>[],
  { gate, mounts, view }: Mounted,
  spell: (path: string) => readonly string[],
): Pair<T>[] {
  const free = freeRoutes(view);
  const callers = callersOf({ gate, mounts, view });
  return entries.flatMap((entry) => {
    for (const read of [fullPathsBelow, relativePathsBelow]) {
      const samples = entry.forms.flatMap(({ sample }) => spell(sample));
      const paths = mounts.flatMap((mount) => read(samples, mount));
      const met = paths.flatMap((path) => view.receiversOf(gate, entry.method, path));
      // A route that charges by itself has its own price.
      const meant = met.filter(
        (one) => isFor(one) && !callers.has(one.handler) && (one.kind !== "route" || free.has(one.handler)),
      );
      // Beside a mount, a route that also gets some of the key's requests is for others as well: see bindBeside.
      const mount = meant.filter(({ kind, isFinal }) => kind === "files" || (kind === "mount" && isFinal));
      const own = (mount.length > 0 ? mount : meant).map(({ handler }): Pair<T> => [handler, entry]);
      if (own.length > 0) return own;
    }
    return [];
  });
}

/** Functions that may be the one that calls a table which the routers do not show. */
function callersOf({ gate, mounts, view }: Mounted): ReadonlySet<object> {
  if (view.mountsOf(gate).length > 0) return new Set();
  const all = view.receiversOf(gate, undefined, undefined);
  const near = all.filter(
    ({ kind, isFinal, paths = [] }) => kind === "mount" && !isFinal && paths.some((path) => mounts.includes(path)),
  );
  return new Set(near.map(({ handler }) => handler));
}

/** Whether a receiver of a key's path is for the key, and not one for everything. */
function isFor({ kind, takesAll, isBefore, isFinal, paths }: Receiver): boolean {
  if (kind === "route") return !takesAll;
  // Before the table, mounts are middleware as a rule.
  return kind === "mount" ? !isBefore || isFinal : kind === "files" && !isBefore && paths?.includes("") !== true;
}

/** Keys, and the routes that also get some of their requests: by another reading, or beside a mount. */
function bindBeside<T>(bound: readonly RouteEntry<T>[], { gate, mounts, view }: Mounted): Pair<T>[] {
  const free = freeRoutes(view);
  return [...new Set(bound)].flatMap((entry) => {
    const paths = mounts.flatMap((mount) => pathsBelow(entry, mount));
    const met = paths.flatMap((path) => view.receiversOf(gate, entry.method, path));
    return met.flatMap(({ handler, takesAll }): Pair<T>[] =>
      free.has(handler) && !takesAll ? [[handler, entry]] : [],
    );
  });
}

/** The routes that do not charge by themselves. */
function freeRoutes({ routes }: RouterView): ReadonlySet<object> {
  return new Set(routes.flatMap(({ route, gates }) => (gates.length === 0 ? [route] : [])));
}

/** Keys that are written for a router, in a table that is not mounted there. */
function bindElsewhere<T>(entries: readonly RouteEntry<T>[], { routes }: RouterView): Pair<T>[] {
  if (entries.length === 0) return [];
  const byShape = new Map<string, RouteEntry<T>[]>();
  for (const entry of entries) {
    for (const { shape } of entry.forms) byShape.set(shape, [...(byShape.get(shape) ?? []), entry]);
  }
  return routes.flatMap(({ route, ownPath, methods = METHODS }) => {
    const compiled = ownPath === undefined ? undefined : compileRegistered(ownPath);
    const found = compiled?.ok ? compiled.forms.flatMap(({ shape }) => byShape.get(shape) ?? []) : [];
    const meant = found.filter((entry) => methods.some((method) => coversMethod(entry.method, method)));
    return meant.map((entry): Pair<T> => [route, entry]);
  });
}

/** Keys without a handler, and the handlers that may be for them: behind the table, or if there are none, mounts before it. */
function bindByPath<T>(entries: readonly RouteEntry<T>[], { gate, mounts, view }: Mounted): Pair<T>[] {
  return entries.flatMap((entry) => {
    const paths = mounts.flatMap((mount) => pathsBelow(entry, mount));
    const met = paths.flatMap((path) => view.receiversOf(gate, undefined, path));
    const open = met.filter(({ kind, isBefore, takesAll }) =>
      kind === "route" ? takesAll : kind === "function" && !isBefore,
    );
    const some = open.length > 0 ? open : met.filter(({ kind }) => kind === "mount");
    return some.map(({ handler }): Pair<T> => [handler, entry]);
  });
}

/** Whether a file server is mounted where a key's file may be. */
function isBelow<T>(entry: RouteEntry<T>, mounts: readonly string[], { paths = [""] }: Receiver): boolean {
  const samples = mounts.flatMap((mount) => pathsBelow(entry, mount));
  return samples.some((sample) => paths.some((path) => belowThatMount(path, sample) !== undefined));
}

/** The key's paths relative to a mount, and its full paths that lie below the mount. */
export function pathsBelow(
  { forms }: { readonly forms: readonly Pick<PathForm, "sample">[] },
  mount: string,
): readonly string[] {
  const samples = forms.map(({ sample }) => sample);
  return [...relativePathsBelow(samples, mount), ...fullPathsBelow(samples, mount)];
}

function relativePathsBelow(samples: readonly string[], mount: string): readonly string[] {
  const places = mount === "" ? [mount] : (samplesOf(mount) ?? [mount]);
  return samples.flatMap((path) => places.map((place) => belowMount(place, path)));
}

function fullPathsBelow(samples: readonly string[], mount: string): readonly string[] {
  return mount === "" ? [] : samples.filter((path) => belowThatMount(mount, path) !== undefined);
}

/** The path below a mount of the table; `undefined`: it is not below it. */
export function belowThatMount(mount: string, fullPath: string): Pick<RouteQuery, "path" | "mountPath"> | undefined {
  const end = mount === "" ? 0 : endOfSegments(fullPath, countSegments(mount));
  if (end === undefined) return undefined;
  const mountPath = fullPath.slice(0, end);
  const isBelow = mount === mountPath || matchesMount(mount, mountPath);
  return isBelow ? { mountPath, path: fullPath.slice(end) || "/" } : undefined;
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
