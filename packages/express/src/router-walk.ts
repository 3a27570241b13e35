/**
 * Walks through an app's routers as Express does, and yields everything that would receive a request.
 *
 * Express 4 and 5 keep their layers in the same places, and neither documents them. Anything that is not as expected counts
 * as unknown, never as absent.
 *
 * @module
 */
import type { TableGate } from "@farebox/core/adapter";
import type { Application } from "express";

/** A middleware, a router or a route, as a router keeps it. */
export interface Layer {
  /** Replaced by a guard where keys price it. */
  handle: LayerHandler;
  readonly route?: LayerRoute;
  /** Whether the path matches. Express 5.2 and older, and Express 4, put the matched part into `path`. */
  match(path: string): unknown;
  readonly path?: unknown;
  /** Express 5.3 and newer: the path as it was written. */
  readonly rawPath?: unknown;
  /** Express 5: mounted at `/`. */
  readonly slash?: boolean;
  /** Express 4: the path, compiled. */
  readonly regexp?: RegExp;
  readonly keys?: readonly { readonly name: string | number }[];
}

/** The function that a layer calls. A router or an app is a function with layers of its own. */
export type LayerHandler = ((...args: never[]) => unknown) & { readonly stack?: unknown };

/** A route: one path, and handlers by method. */
export interface LayerRoute {
  readonly path: unknown;
  /** Lower case; `_all` for every method. */
  readonly methods: Readonly<Record<string, boolean>>;
  readonly stack: readonly { readonly handle: LayerHandler; readonly method?: string | undefined }[];
}

/** Paths or mounts as the seller wrote them, one for each way to match them; `undefined` when they are unknown. */
export type Prefixes = readonly string[] | undefined;

/** One receiver of a request. */
export type Met =
  | { readonly kind: "gate"; readonly gate: WalkedGate; readonly mounts: Prefixes }
  | {
      readonly kind: "route";
      readonly layer: Layer;
      readonly route: LayerRoute;
      readonly paths: Prefixes;
      readonly mounts: Prefixes;
      /** Without the mounts. */
      readonly ownPaths: Prefixes;
    }
  /** A function that may respond or pass on. `function`: it gets every request of its router. */
  | {
      readonly kind: "opaque";
      readonly layer: Layer;
      readonly name: string;
      readonly sort: "mount" | "files" | "function";
      /** Whether it takes no `next`. */
      readonly isFinal: boolean;
      /** Where it is mounted. */
      readonly paths: Prefixes;
    };

/** The request to walk with. */
export interface Sought {
  /** Upper case; `undefined` for any. */
  readonly method: string | undefined;
  /** `undefined` matches every layer. */
  readonly path: string | undefined;
  /** The routers above. Default: none. */
  readonly above?: readonly (readonly Layer[])[];
}

/** Routers in routers. */
const MAX_DEPTH = 100;

/** What a walk knows of a gate. */
export type WalkedGate = Pick<TableGate, "prices">;

const gates = new WeakMap<object, WalkedGate>();

/** Records that a handler stands for a gate, so that a walk recognizes it. */
export function markHandler(handler: object, gate: WalkedGate): void {
  gates.set(handler, gate);
}

/** The gate that a handler stands for, if any. */
export function gateOf(handler: object): WalkedGate | undefined {
  return gates.get(handler);
}

/** A table that prices a handler. */
export interface GuardingTable {
  readonly gate: TableGate;
  /** The mounts of the table. */
  readonly mounts: readonly string[];
  /** Whether it prices only the requests that it was called for: a function of the seller's calls it, or the seller says so. */
  readonly isWrapped: boolean;
}

const guards = new WeakMap<Layer, Map<TableGate, GuardingTable>>();

/** The tables that price a layer's handler. */
export function guardsOf(layer: Layer): Map<TableGate, GuardingTable> {
  const known = guards.get(layer) ?? new Map<TableGate, GuardingTable>();
  guards.set(layer, known);
  return known;
}

/** Handlers that stand behind a guard, by the guard. */
const guarded = new WeakMap<object, LayerHandler>();

/** Puts a guard in front of a layer's handler. It gets what the handler gets, and calls the handler. */
export function guardLayer(layer: Layer, guardOf: (handler: LayerHandler) => LayerHandler): void {
  const { handle } = layer;
  const guard = guardOf(handle);
  guarded.set(guard, handle);
  layer.handle = guard;
}

/** The handler of a layer, without its guard. */
function handlerOf({ handle }: Layer): LayerHandler {
  return guarded.get(handle) ?? handle;
}

/** The outermost of the apps that an app is mounted in. */
export function rootOf(app: Application): Application {
  const { parent } = app as { readonly parent?: Application };
  return parent === undefined ? app : rootOf(parent);
}

/** Every list of layers in an app or router. A route that is added later makes one of them longer. */
export function stacksOf(
  layers: readonly Layer[],
  known: Set<readonly Layer[]> = new Set(),
): readonly (readonly Layer[])[] {
  if (known.has(layers)) return [];
  known.add(layers);
  for (const layer of layers) {
    const below = layer.route === undefined ? layersOf(handlerOf(layer)) : undefined;
    if (below !== undefined) stacksOf(below, known);
  }
  return [...known];
}

/** Walks through layers in order. `prefixes` are the mounts they stand below. */
export function* walk(layers: readonly Layer[], sought: Sought, prefixes: Prefixes): Generator<Met> {
  const { method, path, above = [] } = sought;
  if (isLoop(layers, sought)) return;
  for (const layer of layers) {
    const { route } = layer;
    const handler = handlerOf(layer);
    const taken = path === undefined ? "" : takenBy(layer, path);
    const isErrorHandler = handler.length > 3;
    if (taken === undefined || isErrorHandler) continue;
    const ownPaths = pathsOf(layer);
    const paths = joinAll(prefixes, ownPaths);
    const gate = gateOf(handler);
    const inner = layersOf(handler);
    if (route !== undefined) {
      if (handles(route, method)) yield { kind: "route", layer, route, paths, mounts: prefixes, ownPaths };
    } else if (gate !== undefined) {
      yield { kind: "gate", gate, mounts: asMounts(paths) };
    } else if (inner !== undefined) {
      const rest = path === undefined ? undefined : withoutTaken(path, taken);
      yield* walk(inner, { method, path: rest, above: [...above, layers] }, asMounts(paths));
    } else if (!PASSING.has(handler.name)) {
      const isMounted = path === undefined ? !isTop(ownPaths) : !isTop([taken]);
      yield toOpaque(layer, handler, { isMounted, paths: asMounts(paths) });
    }
  }
}

/** Whether a router is mounted in itself. A path ends such a loop, if its mount takes some of it. */
function isLoop(layers: readonly Layer[], { path, above = [] }: Sought): boolean {
  return above.length > MAX_DEPTH || (path === undefined && above.includes(layers));
}

function isTop(paths: readonly string[] | undefined): boolean {
  return paths?.some((path) => path === "/" || path === "") === true;
}

type Opaque = Extract<Met, { kind: "opaque" }>;

function toOpaque(
  layer: Layer,
  { name, length }: LayerHandler,
  { isMounted, paths }: Pick<Opaque, "paths"> & { readonly isMounted: boolean },
): Opaque {
  const sort = name === "serveStatic" ? "files" : isMounted ? "mount" : "function";
  return { kind: "opaque", layer, name, sort, isFinal: length === 2, paths };
}

/** Middleware that always passes a request on: Express's own, and the most popular packages. */
const PASSING: ReadonlySet<string> = new Set([
  "query",
  "expressInit",
  "jsonParser",
  "urlencodedParser",
  "textParser",
  "rawParser",
  "cookieParser",
  "corsMiddleware",
  "helmetMiddleware",
]);

/** `/api` and `/users/:id` are `/api/users/:id`. */
function joinAll(prefixes: Prefixes, paths: readonly string[] | undefined): Prefixes {
  return paths === undefined ? undefined : prefixes?.flatMap((prefix) => paths.map((path) => join(prefix, path)));
}

function join(prefix: string, path: string): string {
  return prefix + (path === "/" ? "" : path);
}

/** A mount is the same with a slash at its end. A route need not be. */
function asMounts(paths: Prefixes): Prefixes {
  return paths?.map((path) => path.replace(/\/$/, ""));
}

/** The layers of an app, a router, or an app in an app; `undefined` for other functions. */
export function layersOf(handler: unknown): readonly Layer[] | undefined {
  const { stack } = handler as { readonly stack?: unknown };
  if (Array.isArray(stack)) return stack;
  const app = typeof handler === "function" && handler.name === "mounted_app" ? innerAppOf(handler) : handler;
  if (app === undefined) return undefined;
  const router = hasOldRouter(app) ? app._router : (app as { readonly router?: OwnRouter }).router;
  return Array.isArray(router?.stack) ? router.stack : undefined;
}

/**
 * Whether an app's private parts are as Express 4 and 5 have them. An app of Express 4 has no router before its first route.
 */
export function isReadable(app: unknown): boolean {
  const layers = layersOf(app);
  if (layers === undefined) return hasOldRouter(app) && app._router === undefined;
  const known = new Set([layers]);
  return layers.every((layer) => isLayer(layer, known));
}

function isLayer(layer: Partial<Layer> | undefined, known: Set<readonly Layer[]>): boolean {
  const { route, handle, match } = layer ?? {};
  if (typeof handle !== "function" || typeof match !== "function") return false;
  if (route !== undefined) return Array.isArray(route.stack) && typeof route.methods === "object";
  const inner = layersOf(handlerOf(layer as Layer));
  if (inner === undefined || known.has(inner)) return true;
  known.add(inner);
  return inner.every((one) => isLayer(one, known));
}

const innerApps = new WeakMap<object, { readonly app: unknown }>();

/** The app behind the function by which Express mounts it in another. */
function innerAppOf(mounted: object): unknown {
  const known = innerApps.get(mounted) ?? { app: findInnerApp(mounted as (...args: unknown[]) => void) };
  innerApps.set(mounted, known);
  return known.app;
}

/**
 * Express shows an inner app to nobody but a request: its first step makes the app's own prototype that of the request. This
 * request notes the prototype, and has no URL from then on, so that no handler of the app gets it.
 */
function findInnerApp(mounted: (...args: unknown[]) => void): unknown {
  let found: { readonly app?: unknown } | undefined;
  const own = { method: "GET", headers: {}, query: {}, params: {}, app: { request: {}, response: {} } };
  const request = new Proxy(own, {
    get: (target, name) => (name === "url" || name === "originalUrl" ? urlBefore(found) : Reflect.get(target, name)),
    set: () => true,
    setPrototypeOf(_target, prototype) {
      found ??= prototype ?? {};
      return true;
    },
  });
  try {
    mounted(request, { setHeader() {}, locals: {} }, () => {});
  } catch {
    // Without a URL nothing can be routed.
  }
  return found?.app;
}

function urlBefore(found: unknown): string {
  if (found !== undefined) throw new TypeError("a request without a URL");
  return "/";
}

interface OwnRouter {
  readonly stack?: unknown;
}

/** Whether an app is one of Express 4, which has its router in `_router`, and a getter `router` that throws. */
export function hasOldRouter(app: unknown): app is { readonly _router?: OwnRouter } {
  return typeof (app as { readonly lazyrouter?: unknown }).lazyrouter === "function";
}

/** The part of a path that a layer takes: `/api` for a router mounted there. `undefined` if the layer does not match. */
function takenBy(layer: Layer, path: string): string | undefined {
  try {
    const match = layer.match(path);
    if (match === false || match === undefined || match === null) return undefined;
    const taken = typeof match === "object" ? (match as { readonly path?: unknown }).path : layer.path;
    return typeof taken === "string" ? taken : "";
  } catch {
    // A parameter that cannot be decoded. Express responds with 400.
    return undefined;
  }
}

/** The path that the handlers of a layer see. */
function withoutTaken(path: string, taken: string): string {
  const rest = path.slice(taken.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** `app.all` registers each of Node's methods; `router.all` and `route.all` register `_all`. */
const EVERY = ["get", "post", "put", "patch", "delete", "options", "trace"];

/** Whether a route takes every method. */
export function takesAnyMethod({ methods }: Pick<LayerRoute, "methods">): boolean {
  return methods["_all"] === true || EVERY.every((name) => methods[name] === true);
}

/** Whether a route takes a method. Express serves HEAD through GET. */
export function handles({ methods }: LayerRoute, method: string | undefined): boolean {
  if (method === undefined || methods["_all"] === true) return true;
  const name = method.toLowerCase();
  return methods[name] === true || (name === "head" && methods["get"] === true);
}

/** Whether a route was registered for a method by name, and not for every method. */
export function namesMethod(route: Pick<LayerRoute, "methods"> | undefined, method: string): boolean {
  return route?.methods[method.toLowerCase()] === true && !EVERY.every((name) => route.methods[name] === true);
}

/** The methods for which a route runs the same function as for one: `app.all` does, `app.route("/a").get(…).post(…)` does not. */
export function methodsSharing({ stack, methods }: LayerRoute, method: string): readonly string[] {
  const handlersFor = (name: string) => {
    const served = name === "head" && methods["head"] !== true ? "get" : name;
    return stack.flatMap((one) => (one.method === undefined || one.method === served ? [one.handle] : []));
  };
  const own = handlersFor(method.toLowerCase());
  // A function before the last one that takes `next` is middleware.
  const final = new Set(own.filter((handle, at) => handle.length < 3 || at === own.length - 1));
  const named = methods["get"] === true ? ["head", ...Object.keys(methods)] : Object.keys(methods);
  const names = methods["_all"] === true ? [...EVERY, ...named] : named;
  return names.flatMap((name) => (handlersFor(name).some((one) => final.has(one)) ? [name.toUpperCase()] : []));
}

/** The path of a layer as the seller wrote it, in Express 5's syntax, one for each way to match it. */
function pathsOf({ rawPath, slash, regexp, keys, route }: Layer): readonly string[] | undefined {
  const path = route?.path ?? rawPath ?? (slash ? "/" : undefined);
  if (path === undefined) return regexp === undefined ? undefined : readMount(regexp, keys ?? []);
  const texts: readonly unknown[] = Array.isArray(path) ? path.flat(Number.POSITIVE_INFINITY) : [path];
  const read = texts.map((text) => (regexp === undefined ? text : readExpress4(text)));
  return read.every((text) => typeof text === "string") ? read : undefined;
}

/** Express 4 has another syntax for optional parameters and wildcards, and allows parts of regular expressions. */
function readExpress4(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  let wildcards = 0;
  const read = text.replace(EXPRESS_4, (piece: string, optional?: string) => {
    if (piece === "*") return `*"${++wildcards}"`;
    return optional === undefined ? piece : `{/:${optional}}`;
  });
  return /[()[\]+?^$|]/.test(read.replace(/\\[\s\S]/g, "")) ? undefined : read;
}

/** An escape, an optional parameter, a wildcard. */
const EXPRESS_4 = /\\[\s\S]|\/:(\w+)\?|\*/g;

/** Express 4 keeps a mount only as the regular expression it was compiled to. */
function readMount(regexp: RegExp, keys: NonNullable<Layer["keys"]>): readonly string[] | undefined {
  if ("fast_slash" in regexp && regexp.fast_slash === true) return ["/"];
  const names = keys.map(({ name }) => name).values();
  const read = regexp.source.split(/\|(?=\^)/).map((source) => readMountPath(source, names));
  return read.every((text) => text !== undefined) ? read : undefined;
}

function readMountPath(source: string, names: Iterator<string | number>): string | undefined {
  const text = source
    .replace(/^\^/, "")
    .replace(/\\\/\?\(\?=\\\/\|\$\)$/, "")
    .replace(
      /\(\?:(\\\/)?\((?:\[\^\\?\/\]\+\?|\(\?:\(\?![^()]*\)\.\)\+\?)\)\)/g,
      (_, slash?: string) => `${slash ? "/" : ""}:${String(names.next().value)}`,
    )
    .replace(/\\([/.-])/g, "$1");
  // An escaped character stands for itself, unless it is a letter or a space.
  return /[\\^$*+?()[\]{}|]/.test(text.replace(/\\[^\w\s]/g, "")) ? undefined : text;
}
