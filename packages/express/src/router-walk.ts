/**
 * Walks through an app's routers as Express does, and yields everything that would receive a request.
 *
 * Express 4 and 5 keep their layers in the same places, and neither documents them. Anything that is not as expected counts
 * as unknown, never as absent.
 *
 * @module
 */
import type { TableGate } from "@farebox/core/adapter";

/** A middleware, a router or a route, as a router keeps it. */
export interface Layer {
  readonly handle: LayerHandler;
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
  | { readonly kind: "gate"; readonly gate: WalkedGate; readonly mounts: Prefixes; readonly depth: number }
  | {
      readonly kind: "route";
      readonly route: LayerRoute;
      readonly paths: Prefixes;
      readonly mounts: Prefixes;
      /** How many segments of the path its mounts have taken. */
      readonly depth: number;
    }
  /** Behind this layer, Express routes by another URL than the one of this walk. */
  | { readonly kind: "turn"; readonly handler: LayerHandler }
  /** A function that may respond or pass on. `isMeant`: it is mounted for requests like this, or serves files. */
  | { readonly kind: "opaque"; readonly handler: LayerHandler; readonly isMeant: boolean };

/** The request to walk with. */
export interface Sought {
  /** Upper case; `undefined` for any. */
  readonly method: string | undefined;
  /** The URL that Express routes by, or a path. `undefined` matches every layer. */
  readonly url: string | undefined;
  /** The origin that Express cuts off the URL, which middleware may have changed since. Default: the URL's. */
  readonly origin?: string;
  /** How many segments of the path were taken before. Default 0. */
  readonly depth?: number;
  /** Returns the path of a URL, as Express reads it. */
  readonly pathOf: (url: string) => string;
}

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

/** Walks through layers in order. `prefixes` are the mounts they stand below. */
export function* walk(layers: readonly Layer[], sought: Sought, prefixes: Prefixes): Generator<Met> {
  const { url, depth = 0 } = sought;
  const path = url === undefined ? undefined : sought.pathOf(url);
  for (const layer of layers) {
    const taken = path === undefined ? "" : takenBy(layer, path);
    const isErrorHandler = layer.handle.length > 3;
    if (taken === undefined || isErrorHandler) continue;
    const paths = joinAll(prefixes, pathsOf(layer));
    if (layer.route === undefined) yield* walkThrough(layer.handle, sought, taken, paths);
    else if (handles(layer.route, sought.method)) {
      yield { kind: "route", route: layer.route, paths, mounts: prefixes, depth };
    }
  }
}

/** A layer that is no route: one of our gates, a router with layers of its own, or an unknown function. */
function* walkThrough(handle: LayerHandler, sought: Sought, taken: string, mounts: Prefixes): Generator<Met> {
  const { url, origin = originOf(url ?? ""), ...below } = sought;
  const depth = (sought.depth ?? 0) + countSegments(taken);
  if (url !== undefined && taken !== "" && !isCutClean(url, taken, origin)) yield { kind: "turn", handler: handle };
  const gate = gateOf(handle);
  const inner = layersOf(handle);
  if (gate !== undefined) {
    yield { kind: "gate", gate, mounts, depth };
  } else if (inner !== undefined) {
    const rest = url === undefined ? undefined : withoutTaken(url, taken, origin);
    yield* walk(inner, { ...below, url: rest, depth }, mounts);
  } else if (!PASSING.has(handle.name)) {
    const isMounted = taken !== "" && taken !== "/";
    yield { kind: "opaque", handler: handle, isMeant: isMounted || SERVING.has(handle.name) };
  }
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

/** Express's file server, and an app in an app. */
const SERVING: ReadonlySet<string> = new Set(["serveStatic", "mounted_app"]);

/** Counts the segments of a path. Empty ones do not count, because a mount may have dropped a slash. */
export function countSegments(path: string): number {
  return path.split("/").filter((segment) => segment !== "").length;
}

/** The path below a mount that took some segments. */
export function withoutSegments(path: string, count: number): string {
  let rest = path;
  for (let at = 0; at < count; at++) rest = rest.replace(/^\/+[^/]+/, "");
  return rest === "" ? "/" : rest;
}

/** `/api` and `/users/:id` are `/api/users/:id`. */
function joinAll(prefixes: Prefixes, paths: readonly string[] | undefined): Prefixes {
  return paths === undefined ? undefined : prefixes?.flatMap((prefix) => paths.map((path) => join(prefix, path)));
}

function join(prefix: string, path: string): string {
  return prefix + (path === "/" ? "" : path);
}

/** The layers of an app or a router; `undefined` for other functions. */
export function layersOf(handler: unknown): readonly Layer[] | undefined {
  const { stack } = handler as { readonly stack?: unknown };
  if (Array.isArray(stack)) return stack;
  const router = hasOldRouter(handler) ? handler._router : (handler as { readonly router?: OwnRouter }).router;
  return Array.isArray(router?.stack) ? router.stack : undefined;
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

/**
 * The rest of a URL for the handlers of a layer. Express cuts off as many characters as it matched of the path. Node's parser
 * encodes characters that are invalid in a path, so these may be other characters.
 */
function withoutTaken(url: string, taken: string, origin: string): string {
  if (taken === "") return url;
  const rest = url.slice(origin.length + taken.length);
  return origin !== "" || rest.startsWith("/") ? origin + rest : `/${rest}`;
}

/**
 * Whether the part that a layer takes of a path is also the part that is cut off the URL, and ends at a slash. If not, Express
 * restores another URL when the layer is done, and all layers behind it see that one.
 */
function isCutClean(url: string, taken: string, origin: string): boolean {
  const rest = url.slice(origin.length + taken.length);
  return url.slice(origin.length).startsWith(taken) && /^(?:[/?]|$)/.test(rest);
}

/** Scheme and host of a URL in absolute form: `http://host`; otherwise `""`. */
export function originOf(url: string): string {
  if (url.startsWith("/")) return "";
  return /^[^?]*?:\/\/[^/]*(?=\/)/.exec(url)?.[0] ?? "";
}

/** `app.all` registers each of Node's methods; `router.all` and `route.all` register `_all`. */
const EVERY = ["get", "post", "put", "patch", "delete", "options", "trace"];

/** Whether a route takes every method. */
export function takesAnyMethod({ methods }: Pick<LayerRoute, "methods">): boolean {
  return methods["_all"] === true || EVERY.every((name) => methods[name] === true);
}

/** Whether a route takes a method. Express serves HEAD through GET. */
function handles({ methods }: LayerRoute, method: string | undefined): boolean {
  if (method === undefined || methods["_all"] === true) return true;
  const name = method.toLowerCase();
  return methods[name] === true || (name === "head" && methods["get"] === true);
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
  const text = regexp.source
    .replace(/^\^/, "")
    .replace(/\\\/\?\(\?=\\\/\|\$\)$/, "")
    .replace(
      /\(\?:(\\\/)?\((?:\[\^\\?\/\]\+\?|\(\?:\(\?![^()]*\)\.\)\+\?)\)\)/g,
      (_, slash?: string) => `${slash ? "/" : ""}:${String(names.next().value)}`,
    )
    .replace(/\\([/.-])/g, "$1");
  // An escaped character stands for itself, unless it is a letter or a space.
  return /[\\^$*+?()[\]{}|]/.test(text.replace(/\\[^\w\s]/g, "")) ? undefined : [text];
}
