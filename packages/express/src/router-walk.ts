/**
 * Walks through an app's routers as Express does, and yields everything that would receive a request.
 *
 * Express 4 and 5 keep their layers in the same places, and neither documents them. Anything that is not as expected counts
 * as unknown, never as absent.
 *
 * @module
 */
import type { RouteGate, TableGate } from "@farebox/core/adapter";
import type { Application } from "express";

/** A middleware, a router or a route, as a router keeps it. */
export interface Layer {
  /** Replaced by a guard where keys price it. */
  handle: LayerHandler;
  readonly route?: LayerRoute;
  /** Whether the path matches. Express 5.2 and older, and Express 4, put the matched part into `path`. */
  match(path: string): unknown;
  readonly path?: unknown;
  /** Of the function that it was made with. */
  readonly name?: string;
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
  /** Any other function: it may respond or pass on, and read the path in its own way. */
  | { readonly kind: "function"; readonly layer: Layer; readonly paths: Prefixes; readonly isMounted: boolean };

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
export type WalkedGate = TableGate | RouteGate;

/** Whether a gate has a table. */
export function isTable(gate: WalkedGate): gate is TableGate {
  return "bind" in gate;
}

/** By it a gate's handler is known, also behind a wrapper that copies properties: those that are enumerable, by text. */
const MARK = "fareboxGate";

/** Records that a handler stands for a gate, so that a walk recognizes it. */
export function markHandler(handler: object, gate: WalkedGate): void {
  Object.defineProperty(handler, MARK, { value: gate, enumerable: true });
}

/** The gate that a handler stands for, if any. */
export function gateOf(handler: object): WalkedGate | undefined {
  return versionsOf(handler).flatMap((one) => (one as { readonly [MARK]?: WalkedGate })[MARK] ?? [])[0];
}

/** A function, and those that it wraps, as far as wrappers tell: `shimmer` does, by which tracers wrap. */
function versionsOf(handler: object): readonly object[] {
  const versions = new Set<object>();
  // A wrapper may name itself.
  for (let one: unknown = handler; typeof one === "function" && !versions.has(one); ) {
    versions.add(one);
    one = (one as { readonly __original?: unknown }).__original;
  }
  return [...versions];
}

/** A handler behind a guard. */
export interface Guarded {
  handler: LayerHandler;
  /** The tables that price it, with their mounts. */
  readonly tables: Map<TableGate, readonly string[]>;
}

const guarded = new WeakMap<Layer, Guarded>();

/** The tables that price a layer's handler, with their mounts. */
export function tablesAt(layer: Layer): ReadonlyMap<TableGate, readonly string[]> {
  return guarded.get(layer)?.tables ?? NO_TABLES;
}

const NO_TABLES: Guarded["tables"] = new Map();

/** Puts a guard in front of a layer's handler, once. Whatever replaces the handler stands behind it, too. */
export function guardLayer(layer: Layer, guardOf: (guarded: Guarded) => LayerHandler): Guarded["tables"] {
  const known = guarded.get(layer);
  if (known !== undefined) return known.tables;
  const { handle: handler } = layer;
  const own: Guarded = { handler, tables: new Map() };
  const guard = guardOf(own);
  guarded.set(layer, own);
  Object.defineProperty(layer, "handle", {
    configurable: true,
    enumerable: true,
    get: () => guard,
    set(replacement: LayerHandler) {
      own.handler = replacement;
    },
  });
  return own.tables;
}

/** The handler of a layer, without its guard. */
function handlerOf(layer: Layer): LayerHandler {
  return guarded.get(layer)?.handler ?? layer.handle;
}

/** The apps in which others were found. Express tells of one that is mounted in an app, but not of one that is mounted in a router. */
const holders = new WeakMap<object, Application>();

/** The outermost of the apps that an app is mounted in, as far as they were looked into. */
export function rootOf(app: Application, depth = 0): Application {
  const { parent = holders.get(app) } = app as { readonly parent?: Application };
  return parent === undefined || depth > MAX_DEPTH ? app : rootOf(parent, depth + 1);
}

/** A router, and the layers that it had. */
export interface Stack {
  readonly owner: OwnRouter;
  readonly layers: readonly unknown[];
}

/** Every router in an app, with itself. */
export function stacksOf(app: Application): readonly Stack[] {
  const known = new Set<unknown>();
  const stacks = stacksIn(app, known);
  for (const inner of known) if (inner !== app) holders.set(inner as object, app);
  return stacks;
}

function stacksIn(router: unknown, known: Set<unknown>): readonly Stack[] {
  if (known.has(router) || !isReadable(router)) return [];
  known.add(router);
  const below = (layersOf(router) ?? []).flatMap((layer) => {
    if (layer.route !== undefined) return [];
    const inner = routerIn(layer);
    // Express 4 does not tell of an app that is empty.
    const isEmpty = inner === undefined && layer.name === MOUNTED_APP;
    return isEmpty ? [toStack(() => ownerOf(routerIn(layer)))] : stacksIn(inner, known);
  });
  return [toStack(() => ownerOf(router)), ...below];
}

function toStack(find: () => OwnRouter | undefined): Stack {
  const owner = find() ?? {
    get stack() {
      return find()?.stack;
    },
  };
  return { owner, layers: [...(owner.stack ?? [])] };
}

/** Whether layers were added, removed or replaced. */
export function hasChanged({ owner: { stack = [] }, layers }: Stack): boolean {
  for (let at = 0; at < layers.length; at++) if (stack[at] !== layers[at]) return true;
  return stack.length !== layers.length;
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
    const inner = route === undefined && gate === undefined ? routerIn(layer) : undefined;
    if (route !== undefined) {
      if (handles(route, method)) yield { kind: "route", layer, route, paths, mounts: prefixes, ownPaths };
    } else if (gate !== undefined) {
      yield { kind: "gate", gate, mounts: asMounts(paths) };
    } else if (inner !== undefined) {
      const rest = path === undefined ? undefined : withoutTaken(path, taken);
      yield* walk(layersOf(inner) ?? [], { method, path: rest, above: [...above, layers] }, asMounts(paths));
    } else {
      const isMounted = ownPaths?.some((one) => one === "/" || one === "") !== true;
      yield { kind: "function", layer, paths: asMounts(paths), isMounted };
    }
  }
}

/** Whether a router is mounted in itself. A path ends such a loop, if its mount takes some of it. */
function isLoop(layers: readonly Layer[], { path, above = [] }: Sought): boolean {
  return above.length > MAX_DEPTH || (path === undefined && above.includes(layers));
}

/** `/api` and `/users/:id` are `/api/users/:id`. */
function joinAll(prefixes: Prefixes, paths: readonly string[] | undefined): Prefixes {
  const ends = paths?.map((path) => (path === "/" ? "" : path));
  return ends && prefixes?.flatMap((prefix) => ends.map((end) => prefix + end));
}

/** A mount is the same with a slash at its end. A route need not be. */
function asMounts(paths: Prefixes): Prefixes {
  return paths?.map((path) => path.replace(/\/$/, ""));
}

/** The layers of an app or a router; `undefined` for anything else, also for what only looks like one. */
export function layersOf(router: unknown): readonly Layer[] | undefined {
  const stack = ownerOf(router)?.stack;
  if (stack?.every(isLayer) !== true) return undefined;
  // Each app of Express 4 begins with two of Express's own.
  return hasOldRouter(router) ? stack.slice(2) : stack;
}

/** What has the layers of a router, or of an app. */
function ownerOf(router: unknown): OwnRouter | undefined {
  if (hasOldRouter(router)) return router._router;
  const { stack, router: ofApp } = Object(router) as OwnRouter & { readonly router?: OwnRouter };
  return [router as OwnRouter, ofApp].find((one) => Array.isArray(one === router ? stack : one?.stack));
}

/** Whether a layer has what those of Express have. Those of `connect` match no path by themselves. */
function isLayer(layer: Partial<Layer> | undefined): boolean {
  const { route, handle, match } = layer ?? {};
  if (typeof handle !== "function" || typeof match !== "function") return false;
  return route === undefined || (Array.isArray(route.stack) && typeof route.methods === "object");
}

/** Whether an app can be looked into. An app of Express 4 has no router before its first route. */
export function isReadable(app: unknown): boolean {
  return layersOf(app) !== undefined || (hasOldRouter(app) && app._router === undefined);
}

/** The router or app in a layer, also behind wrappers. A copy of an app's properties knows the app by its requests. */
function routerIn(layer: Layer): unknown {
  const versions = versionsOf(handlerOf(layer));
  const mounted = versions.find((handler) => isMountedApp(handler, layer));
  const apps = versions.map((one) => (one as { readonly request?: { readonly app?: unknown } }).request?.app);
  return [mounted && innerAppOf(mounted), ...apps, ...versions].find(isReadable);
}

/** Whether a function is the one by which Express mounts an app in another, perhaps in a wrapper. Others are not called to find out. */
function isMountedApp(handler: object, { name }: Layer): boolean {
  if (name !== MOUNTED_APP) return false;
  return (handler as LayerHandler).name !== name || /\.handle\(\w+, ?\w+, ?/.test(String(handler));
}

const MOUNTED_APP = "mounted_app";

/** Whether there is a router with a `use` of its own: it may wrap what it is given. */
export function hidesGates(app: Application): boolean {
  return stacksOf(app).some(({ owner }) => Object.hasOwn(owner, "use"));
}

const innerApps = new WeakMap<object, object>();

/** The app behind the function by which Express mounts it in another. */
function innerAppOf(mounted: object): unknown {
  const app = innerApps.get(mounted) ?? findInnerApp(mounted as (...args: unknown[]) => unknown);
  if (typeof app === "function") innerApps.set(mounted, app);
  return app;
}

/**
 * Express shows an inner app to nobody but a request: its first step makes the app's own prototype that of the request. This
 * request notes the prototype, and has no URL from then on, so that no handler of the app gets it.
 */
function findInnerApp(mounted: (...args: unknown[]) => unknown): unknown {
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
    const result: unknown = mounted(request, { setHeader() {}, locals: {} }, () => {});
    if (result instanceof Promise) result.catch(() => {});
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
  readonly stack?: readonly Layer[] | undefined;
}

/** Whether an app is one of Express 4, which has its router in `_router`, and a getter `router` that throws. */
export function hasOldRouter(app: unknown): app is { readonly _router?: OwnRouter } {
  return typeof (app as { readonly lazyrouter?: unknown } | undefined)?.lazyrouter === "function";
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

/** Whether a route has functions for OPTIONS, and none for all methods. */
export function hasOwnOptions(route: LayerRoute): boolean {
  return namesMethod(route, "OPTIONS") && route.stack.every(({ method }) => method !== undefined);
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
