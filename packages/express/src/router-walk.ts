/**
 * Goes through an app's routers as Express does, and tells who a request would meet.
 *
 * @module
 */

/** Paths or mounts as the seller wrote them, one for each way to match them; `undefined` when they cannot be told. */
export type Prefixes = readonly string[] | undefined;

/** Something on the way of a request. */
export type Met =
  | { readonly kind: "gate"; readonly gate: object; readonly mounts: Prefixes; readonly depth: number }
  | {
      readonly kind: "route";
      readonly route: LayerRoute;
      readonly paths: Prefixes;
      readonly mounts: Prefixes;
      /** How many segments of the path its mounts have taken. */
      readonly depth: number;
    }
  /** Behind this, Express routes by another URL than the one that was walked with. */
  | { readonly kind: "turn"; readonly handler: LayerHandler }
  /** A function that may answer or pass on. `isMeant`: it is mounted for requests like this, or serves files. */
  | { readonly kind: "opaque"; readonly handler: LayerHandler; readonly isMeant: boolean };

/** What is looked for. */
export interface Sought {
  /** Upper case; `undefined`: any. */
  readonly method: string | undefined;
  /** As Express routes by it: a path, or a whole URL; `undefined`: whatever there is, wherever it is mounted. */
  readonly url: string | undefined;
  /** What Express takes for the origin of that URL; middleware may have changed the URL since. Default: the URL's. */
  readonly origin?: string;
  /** How many segments of the path were taken before. Default 0. */
  readonly depth?: number;
  /** The path of a URL, as Express reads it. */
  readonly pathOf: (url: string) => string;
}

/** Walks through the layers, in order, below the given mounts. */
export function* walk(layers: readonly Layer[], sought: Sought, prefixes: Prefixes): Generator<Met> {
  const path = sought.url === undefined ? undefined : sought.pathOf(sought.url);
  for (const layer of layers) {
    const taken = path === undefined ? "" : takenBy(layer, path);
    if (taken === undefined || layer.handle.length > 3) continue;
    if (layer.route === undefined)
      yield* walkThrough(layer, sought, { taken, prefixes: joinAll(prefixes, pathsOf(layer)) });
    else if (handles(layer.route, sought.method)) {
      const { depth = 0 } = sought;
      yield { kind: "route", route: layer.route, paths: joinAll(prefixes, pathsOf(layer)), mounts: prefixes, depth };
    }
  }
}

interface Way {
  readonly taken: string;
  readonly prefixes: Prefixes;
}

function* walkThrough({ handle }: Layer, sought: Sought, { taken, prefixes }: Way): Generator<Met> {
  const gate = gateOf(handle);
  const inner = layersOf(handle);
  const { url, origin = originOf(url ?? ""), ...below } = sought;
  const depth = (sought.depth ?? 0) + countSegments(taken);
  if (url !== undefined && taken !== "" && !isCutClean(url, taken, origin)) {
    yield { kind: "turn", handler: handle };
  }
  if (gate !== undefined) yield { kind: "gate", gate, mounts: prefixes, depth };
  else if (inner !== undefined) {
    const rest = url === undefined ? undefined : withoutTaken(url, taken, origin);
    yield* walk(inner, { ...below, url: rest, depth }, prefixes);
  } else if (!PASSING.has(handle.name)) {
    yield { kind: "opaque", handler: handle, isMeant: isMounted(taken) || SERVING.has(handle.name) };
  }
}

/** Express's own middleware that always passes a request on, and what is most often used beside it. */
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

/** Empty ones do not count: a mount may have swallowed a slash. */
export function countSegments(path: string): number {
  return path.split("/").filter((segment) => segment !== "").length;
}

function isMounted(taken: string): boolean {
  return taken !== "" && taken !== "/";
}

/** `/api` and `/users/:id` are `/api/users/:id`. */
function joinAll(prefixes: Prefixes, paths: readonly string[] | undefined): Prefixes {
  return paths === undefined ? undefined : prefixes?.flatMap((prefix) => paths.map((path) => join(prefix, path)));
}

function join(prefix: string, path: string): string {
  return prefix + (path === "/" ? "" : path);
}

/** A middleware, a router or a route, as a router keeps it. */
export interface Layer {
  readonly handle: LayerHandler;
  readonly route?: LayerRoute;
  /** Express 5.2 and older, and Express 4: whether the path matches; the matched part is then in `path`. */
  match(path: string): unknown;
  readonly path?: unknown;
  /** Express 5.3 and newer: the path as it was written. */
  readonly rawPath?: unknown;
  /** Express 5: mounted at `/`. */
  readonly slash?: boolean;
  /** Express 4: what became of that path. */
  readonly regexp?: RegExp;
  readonly keys?: readonly { readonly name: string | number }[];
}

/** What a layer calls: a function, or a router or an app, which are functions with layers of their own. */
export type LayerHandler = ((...args: never[]) => unknown) & { readonly stack?: unknown };

/** A route: one path, and handlers by method. */
export interface LayerRoute {
  readonly path: unknown;
  /** Lower case; `_all` for every method. */
  readonly methods: Readonly<Record<string, boolean>>;
  readonly stack: readonly { readonly handle: LayerHandler; readonly method?: string | undefined }[];
}

/** The layers of an app, or of whatever else has any. */
export function layersOf(handler: unknown): readonly Layer[] | undefined {
  const { stack } = handler as { readonly stack?: unknown };
  if (Array.isArray(stack)) return stack;
  const router = hasOldRouter(handler) ? handler._router : (handler as { readonly router?: OwnRouter }).router;
  return Array.isArray(router?.stack) ? router.stack : undefined;
}

interface OwnRouter {
  readonly stack?: unknown;
}

/** Whether an app is one of Express 4, which has `_router`, and a getter `router` that throws. */
export function hasOldRouter(app: unknown): app is { readonly _router?: OwnRouter } {
  return typeof (app as { readonly lazyrouter?: unknown }).lazyrouter === "function";
}

/** What a layer takes of a path: for a router mounted at `/api` that is `/api`. `undefined` when it does not match. */
export function takenBy(layer: Layer, path: string): string | undefined {
  try {
    const match = layer.match(path);
    if (match === false || match === undefined || match === null) return undefined;
    const taken = typeof match === "object" ? (match as { readonly path?: unknown }).path : layer.path;
    return typeof taken === "string" ? taken : "";
  } catch {
    // A parameter that cannot be decoded: Express answers 400 by itself.
    return undefined;
  }
}

/**
 * What is left of a URL for the handlers of a layer. Express cuts as many characters off the URL as were matched of its
 * path, which need not be the same ones: Node's parser encodes what has no place in a path.
 */
export function withoutTaken(url: string, taken: string, origin: string): string {
  if (taken === "") return url;
  const rest = url.slice(origin.length + taken.length);
  return origin !== "" || rest.startsWith("/") ? origin + rest : `/${rest}`;
}

/**
 * Whether what a layer takes of a path is also what is cut off the URL, and at a slash. If not, Express puts another URL
 * together when the layer is done, and all layers behind it see that one.
 */
export function isCutClean(url: string, taken: string, origin: string): boolean {
  const rest = url.slice(origin.length + taken.length);
  return url.slice(origin.length).startsWith(taken) && /^(?:[/?]|$)/.test(rest);
}

/** What comes before the path of a URL in absolute form: `http://host`; otherwise nothing. */
export function originOf(url: string): string {
  if (url.startsWith("/")) return "";
  return /^[^?]*?:\/\/[^/]*(?=\/)/.exec(url)?.[0] ?? "";
}

/** `app.all` registers each method there is, `router.all` and `route.all` one handler for all of them. */
const EVERY = ["get", "post", "put", "patch", "delete", "options", "trace"];

/** Whether a route is for whatever method a request has. */
export function takesAnyMethod({ methods }: Pick<LayerRoute, "methods">): boolean {
  return methods["_all"] === true || EVERY.every((name) => methods[name] === true);
}

/** Whether a route has handlers for a method. Express serves HEAD through GET. */
export function handles({ methods }: LayerRoute, method: string | undefined): boolean {
  if (method === undefined || methods["_all"] === true) return true;
  const name = method.toLowerCase();
  return methods[name] === true || (name === "head" && methods["get"] === true);
}

/** The path of a layer as the seller wrote it, in Express 5's syntax, for every way there is to match it. */
export function pathsOf({ rawPath, slash, regexp, keys, route }: Layer): readonly string[] | undefined {
  const path = route?.path ?? rawPath ?? (slash ? "/" : undefined);
  if (path === undefined) return regexp === undefined ? undefined : readMount(regexp, keys ?? []);
  const texts: readonly unknown[] = Array.isArray(path) ? path.flat(Number.POSITIVE_INFINITY) : [path];
  const read = texts.map((text) => (regexp === undefined ? text : readExpress4(text)));
  return read.every((text) => typeof text === "string") ? read : undefined;
}

/** Express 4 writes optional parameters and wildcards otherwise, and much else as regular expressions. */
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

/** Express 4 keeps of a mount only the expression it became. */
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
  // What is escaped is meant as it is, unless it stands for a kind of character.
  return /[\\^$*+?()[\]{}|]/.test(text.replace(/\\[^\w\s]/g, "")) ? undefined : [text];
}

const gates = new WeakMap<object, object>();

/** Notes that a handler stands for a gate. */
export function markHandler(handler: object, gate: object): void {
  gates.set(handler, gate);
}

/** The gate that a handler stands for, if it is one of ours. */
export function gateOf(handler: object): object | undefined {
  return gates.get(handler);
}
