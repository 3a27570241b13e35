/**
 * Goes through an app's routers as Express does, and tells who a request would meet.
 *
 * @module
 */
import { gateOf } from "./gate-handlers.js";
import {
  handles,
  isCutClean,
  type Layer,
  type LayerHandler,
  type LayerRoute,
  layersOf,
  originOf,
  pathsOf,
  takenBy,
  withoutTaken,
} from "./router-layers.js";

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
