/**
 * Which handlers of an app the keys of a table are for. Express's own match decides.
 *
 *   1. routes that are spelled as the key, or as one of its paths
 *   2. routes and mounts that Express gives the key's path to
 *   3. routes that are written like the key in a router mounted elsewhere
 *   4. handlers of every path, file servers and regular expressions: by path, as the key is one of many
 *
 * @module
 */
import { compileRegistered, matchesMount, samplesOf } from "./path.js";
import type { PathForm } from "./path-form.js";
import { fileNames, otherReadings } from "./readings.js";
import { coversMethod, METHODS } from "./route-key.js";
import { belowMount, type RouteEntry, type RouteQuery, type RouteTable } from "./route-table.js";
import type { Receiver, RouterView } from "./router-view.js";

/** What prices a handler. */
export interface Binding<T> {
  /** Keys that price every request that gets to the handler. */
  readonly whole: ReadonlySet<RouteEntry<T>>;
  /** Keys that price the requests whose path is theirs. */
  readonly byPath: ReadonlySet<RouteEntry<T>>;
  /** Whether they price methods, too, that they do not name. */
  readonly isAnyMethod: boolean;
  /** Whether the handler may read paths in its own way. Otherwise they are a key's only as Express matches them. */
  readonly mayDecode: boolean;
  /** Routes behind the handler, to which it has to pass their requests. */
  readonly behind: ReadonlySet<object>;
  /** Whether only GET and HEAD are served. */
  readonly isFiles: boolean;
  /** Of a file server for which keys are by path: its keys, by the names under which a path may lead to their files. */
  readonly files?: ReadonlyMap<string, readonly RouteEntry<T>[]> | undefined;
  /** Those of them that no other handler is for. */
  readonly own?: ReadonlySet<RouteEntry<T>> | undefined;
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
type Pair<T> = readonly [handler: object, entry: RouteEntry<T>];

/** The handlers that keys price. */
export interface Bound<T> {
  readonly handlers: ReadonlyMap<object, Binding<T>>;
  /** For requests in front of the routes whose path is not spelled as a key: no handler is known for these keys. */
  readonly inFront: Binding<T>;
}

/** Resolves the keys of a table. */
export function bindKeys<T extends Priceable>(table: RouteTable<T>, mounted: Mounted): Bound<T> {
  const { gate, mounts, view } = mounted;
  const priced = table.entries.filter(({ value }) => !value.isFree);
  const handlers = new Map<object, Binding<T>>();
  const isAnyMethod = true;
  if (view.isReadable === false || mounts.length === 0)
    return { handlers, inFront: { ...byPath(priced), isAnyMethod } };
  const { pairs, rest } = bindWhole(table, mounted);
  const all = group(view.receiversOf(gate, undefined, undefined).map((one) => [one.handler, one] as const));
  const forAll = new Set(view.routes.flatMap(({ route, methods }) => (methods === undefined ? [route] : [])));
  for (const [handler, entries] of group(pairs)) {
    const [place] = all.get(handler) ?? [];
    // Middleware, perhaps: it leaves other methods to the routes behind it.
    const behind = forAll.has(handler) && place !== undefined ? routesBehind(place, view) : routesBelow(place, view);
    const at = (all.get(handler) ?? []).flatMap(({ kind, paths = [] }) => (kind === "route" ? [] : paths));
    const isFiles = place?.kind === "files";
    handlers.set(handler, { ...byPath<T>([]), whole: new Set(entries), behind, isFiles, mounts: at });
  }
  const charging = new Set(view.routes.flatMap(({ route, gates }) => (gates.length > 0 ? [route] : [])));
  const open = group(bindOpen(rest, mounted));
  const known = new Set<RouteEntry<T>>();
  // The routes of other handlers may come first, and take a key's path as Express matches it.
  const beside = { ...byPath(priced), mayDecode: false };
  const order = [...all.keys()];
  const last = order.findLastIndex((handler) => handlers.has(handler));
  const first = new Set(order.slice(0, Math.max(last, 0)));
  const bindPaths = (receiver: Receiver, places: readonly Receiver[]): Binding<T> | undefined => {
    const own = open.get(receiver.handler) ?? [];
    if (receiver.kind === "files") {
      const files = (receiver.isBefore ? rest : priced).filter((entry) => isBelow(entry, mounted, places));
      return files.length === 0
        ? undefined
        : { ...byPath(files), isFiles: true, files: indexFiles(files, rest), own: new Set(rest) };
    }
    if (own.length === 0)
      return first.has(receiver.handler) && !charging.has(receiver.handler) && isOpenRoute(receiver)
        ? beside
        : undefined;
    const all = places.flatMap(({ paths = [] }) => paths);
    return { ...byPath(own), isAnyMethod, behind: routesBehind(receiver, view), mounts: all };
  };
  for (const [handler, places] of all) {
    const [receiver] = places;
    const binding = receiver === undefined || handlers.has(handler) ? undefined : bindPaths(receiver, places);
    if (binding === undefined) continue;
    handlers.set(handler, binding);
    if (binding.mayDecode) for (const entry of binding.byPath) known.add(entry);
  }
  // Other functions may call a table that the routers do not show, and handlers that nothing else does.
  const isHidden = view.mountsOf(gate).length === 0;
  const lost = rest.filter((entry) => isHidden || !known.has(entry));
  return { handlers, inFront: { ...byPath(lost), isAnyMethod, behind: routesBehind({ handler: gate }, view) } };
}

/**
 * Keys, and the handlers that are theirs alone: the routes that are spelled as they are, or else the routes and mounts that get
 * their requests. `rest`: keys for which there may be other handlers.
 */
export function bindWhole<T extends Priceable>(
  table: RouteTable<T>,
  mounted: Mounted,
): { readonly pairs: readonly Pair<T>[]; readonly rest: readonly RouteEntry<T>[] } {
  const priced = table.entries.filter(({ value }) => !value.isFree);
  const spelled = findSpelled(table, mounted).filter(({ entry }) => !entry.value.isFree);
  const own = new Set(spelled.map(({ entry }) => entry));
  // The routes of other keys do not get all of their requests: `/a/b` does not for `/a/:x`.
  const general = new Set(spelled.flatMap(({ entry, isGeneral }) => (isGeneral ? [entry] : [])));
  const open = priced.filter((entry) => !general.has(entry));
  const routes = new Set(mounted.view.routes.map(({ route }) => route));
  const free = freeRoutes(mounted.view);
  const met = open.flatMap((entry) =>
    bindByMatch(entry, mounted, free).flatMap((handler): Pair<T>[] =>
      own.has(entry) && routes.has(handler) ? [] : [[handler, entry]],
    ),
  );
  const found = new Set(met.map(([, entry]) => entry));
  const elsewhere = bindElsewhere(
    open.filter((entry) => !found.has(entry) && !own.has(entry)),
    mounted.view,
  );
  for (const [, entry] of elsewhere) found.add(entry);
  const pairs = [...spelled.map(({ route, entry }): Pair<T> => [route, entry]), ...met, ...elsewhere];
  return { pairs, rest: open.filter((entry) => !found.has(entry)) };
}

function group<V>(pairs: readonly (readonly [handler: object, value: V])[]): ReadonlyMap<object, readonly V[]> {
  const groups = new Map<object, V[]>();
  for (const [handler, value] of pairs) {
    const known = groups.get(handler);
    if (known === undefined) groups.set(handler, [value]);
    else known.push(value);
  }
  return groups;
}

/** The binding of a handler that may be for any of some keys. */
function byPath<T>(entries: readonly RouteEntry<T>[]): Binding<T> {
  return {
    whole: new Set(),
    byPath: new Set(entries),
    isAnyMethod: false,
    mayDecode: true,
    isFiles: false,
    behind: new Set(),
    mounts: [],
  };
}

/** The routes to which a handler can pass requests. */
function routesBehind(
  { handler, isFinal }: Partial<Receiver> & Pick<Receiver, "handler">,
  view: RouterView,
): ReadonlySet<object> {
  if (isFinal) return new Set();
  return new Set(
    view
      .receiversOf(handler, undefined, undefined)
      .filter(isRouteBehind)
      .map((one) => one.handler),
  );
}

/** Those below the mount of a handler, and what charges there by itself. */
function routesBelow(mount: Receiver | undefined, view: RouterView): ReadonlySet<object> {
  if (mount?.kind !== "mount" || mount.isFinal) return new Set();
  const isBelow = (path: string) => mount.paths?.some((prefix) => belowThatMount(prefix, path) !== undefined) === true;
  const behind = view.receiversOf(mount.handler, undefined, undefined).filter((one) => {
    return (isRouteBehind(one) || (one.kind === "charge" && !one.isBefore)) && one.paths?.some(isBelow);
  });
  return new Set(behind.map(({ handler }) => handler));
}

function isRouteBehind({ kind, isBefore, takesAll }: Receiver): boolean {
  return kind === "route" && !isBefore && !takesAll;
}

/** Whether a route or mount takes several paths, but not all. Before the table, mounts are middleware as a rule. */
function isOpenRoute({ kind, paths, takesAll, isBefore }: Receiver): boolean {
  if (takesAll || kind === "function" || kind === "charge" || (kind === "mount" && isBefore)) return false;
  return paths === undefined || paths.some((path) => kind === "mount" || /[:*{]/.test(path));
}

/** Keys by the names under which a file server keeps their files. What lies below a folder is for no key that has a handler. */
function indexFiles<T>(
  entries: readonly RouteEntry<T>[],
  own: readonly RouteEntry<T>[],
): ReadonlyMap<string, readonly RouteEntry<T>[]> {
  const names = new Map<string, RouteEntry<T>[]>();
  for (const entry of entries) {
    const files = entry.forms.map(({ sample }) => fileNames(sample));
    for (const name of files.flatMap(({ kept, below }) => (own.includes(entry) ? [...kept, ...below] : kept))) {
      names.set(name, [...(names.get(name) ?? []), entry]);
    }
  }
  return names;
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
    const compiled = path === undefined ? undefined : compileRegistered(path);
    return (compiled?.ok ? compiled.forms : []).flatMap(({ sample, shape }) => {
      const spelled = [...spellAsSent(sample), ...decoded(sample)];
      const queries = spelled.flatMap((one) => mounts.flatMap((mount) => belowThatMount(mount, one) ?? []));
      const met = queries.flatMap((query) => methods.flatMap((method) => table.find({ ...query, method })));
      return met.flatMap(({ match, entry, form, path }): Spelled<T>[] => {
        if (match !== "exact") return [];
        // Placeholders differ, if the mount has a sign of theirs.
        const isSame = path === form.sample || shape.endsWith(form.shape);
        return [{ route, entry, isGeneral: isSame && (isOpen(form) || !entry.forms.some(isOpen)) }];
      });
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

/** Samples with another value of their parameters: a regular expression may take only numbers, or only letters. */
function withValue(value: string): (sample: string) => readonly string[] {
  return (sample) => (sample.includes("~") ? [sample.replaceAll("~", value)] : []);
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

/** The handlers that get the requests of a key which has no route of its own. A full path goes before a relative one. */
function bindByMatch<T>(
  entry: RouteEntry<T>,
  { gate, mounts, view }: Mounted,
  free: ReadonlySet<object>,
): readonly object[] {
  const isHidden = view.mountsOf(gate).length === 0;
  for (const spell of [spellAsSent, otherReadings, withValue("0"), withValue("a")]) {
    for (const read of [fullPathsBelow, relativePathsBelow]) {
      const samples = entry.forms.flatMap(({ sample }) => spell(sample));
      const sent = mounts.flatMap((mount) => read(samples, mount));
      const met = sent.flatMap((path) => view.receiversOf(gate, entry.method, path));
      // A route that charges by itself has its own price. A function that passes on may be the one that calls a hidden table.
      const meant = met.filter(
        (one) =>
          isFor(one) &&
          (one.kind === "route" ? free.has(one.handler) : one.isFinal || !isHidden || one.kind === "files"),
      );
      // Of several mounts, the one that is spelled as the key. Beside one that responds to everything, no route gets the request.
      const spelled = meant.filter(
        ({ kind, paths = [] }) =>
          kind !== "route" && paths.some((one) => samplesOf(one)?.some((sample) => sent.includes(sample))),
      );
      const mount = meant.filter(({ kind, isFinal }) => kind === "files" || (kind === "mount" && isFinal));
      const own = [spelled, mount, meant].find(({ length }) => length > 0);
      if (own !== undefined) return own.map(({ handler }) => handler);
    }
  }
  return [];
}

/** Whether a receiver of a key's path is for the key, and not one for everything. */
function isFor({ kind, takesAll, isBefore, isFinal, paths }: Receiver): boolean {
  if (kind === "route") return !takesAll;
  // Before the table, mounts are middleware as a rule.
  return kind === "mount" ? !isBefore || isFinal : kind === "files" && !isBefore && paths?.includes("") !== true;
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
function bindOpen<T>(entries: readonly RouteEntry<T>[], { gate, mounts, view }: Mounted): Pair<T>[] {
  return entries.flatMap((entry) => {
    const paths = pathsBelow(entry, mounts);
    const met = paths.flatMap((path) => view.receiversOf(gate, undefined, path));
    const open = met.filter(({ kind, isBefore, takesAll }) =>
      kind === "route" ? takesAll : kind === "function" && !isBefore,
    );
    const some = open.length > 0 ? open : met.filter(({ kind }) => kind === "mount");
    return some.map(({ handler }): Pair<T> => [handler, entry]);
  });
}

/** Whether a file server is mounted where a key's file may be. */
function isBelow<T>(entry: RouteEntry<T>, { mounts }: Mounted, places: readonly Receiver[]): boolean {
  const samples = pathsBelow(entry, mounts);
  const paths = places.flatMap((place) => place.paths ?? [""]);
  return samples.some((sample) => paths.some((path) => belowThatMount(path, sample) !== undefined));
}

/** The key's paths relative to the mounts of its table, and its full paths that lie below one. */
export function pathsBelow(
  { forms }: Pick<RouteEntry<unknown>, "forms">,
  mounts: readonly string[],
): readonly string[] {
  const samples = forms.map(({ sample }) => sample);
  return mounts.flatMap((mount) => [...relativePathsBelow(samples, mount), ...fullPathsBelow(samples, mount)]);
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
