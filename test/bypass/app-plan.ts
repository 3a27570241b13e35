/**
 * Apps as data: what is registered where, and which routes are to be paid for.
 *
 * @module
 */
import type { Method } from "@farebox/core";
import fc from "fast-check";
import { type Dialect, hasKey, isPlainPath, mountPaths, type Path, routePaths, type Spelling } from "./path.js";

/** Routes of a small app hardly ever share one. */
export const LABELS = 16;

export const ROUTE_METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "all"] as const;

export type RouteMethod = (typeof ROUTE_METHODS)[number];

/** How a handler is registered: `app.get(path)`, of two paths, or of a regular expression; `app.use(path)` for the others. */
export const HANDLER_SORTS = ["path", "array", "regexp", "use", "files", "proxy"] as const;

export type HandlerSort = (typeof HANDLER_SORTS)[number];

/** In cents, so that the amount of a payment tells which price it was for. */
export const PRICES = [1, 2, 3] as const;

export type Cents = (typeof PRICES)[number];

/** What a seller wrote for a route, if the table is where it can see the route at all. */
export interface KeyPlan extends Spelling {
  /** With the route's method, or for any. */
  readonly named: boolean;
  /** By the full path, or relative to where the table is mounted. */
  readonly full: boolean;
}

export interface RoutePlan {
  readonly kind: "route";
  /** What requests are addressed to, so that a failing app shrinks without its requests going elsewhere. */
  readonly label: number;
  readonly sort: HandlerSort;
  readonly method: RouteMethod;
  readonly path: Path;
  /** Of an array, the second path. */
  readonly alias: Path;
  /** Of files and proxies: whether a key names all of them, or one. */
  readonly isWhole: boolean;
  readonly cents: Cents;
  /** Whether the handler passes requests on, as one that checks who asks. Only free ones do. */
  readonly passes: boolean;
  readonly pricing: "free" | "charge" | KeyPlan;
}

/** A nested router, a mounted app, or routes that are written with a common beginning. */
export interface GroupPlan {
  readonly kind: "group";
  readonly sort: "router" | "app" | "flat";
  readonly mount: Path;
  /** A router may be mounted twice. */
  readonly also: Path | undefined;
  readonly caseSensitive: boolean;
  readonly strict: boolean;
  readonly items: readonly ItemPlan[];
}

export type ItemPlan = RoutePlan | GroupPlan;

/** What middleware does to a request. */
export const REWRITERS = [
  "strips /v9",
  "collapses slashes",
  "decodes the URL",
  "sends /go elsewhere",
  "overrides the method",
  "overrides the method by query",
  "lower-cases the path",
  "resolves dots",
] as const;

export type Rewriter = (typeof REWRITERS)[number];

export interface AppPlan {
  readonly dialect: Dialect;
  readonly caseSensitive: boolean;
  readonly strict: boolean;
  /** Before the table. */
  readonly rewriters: readonly Rewriter[];
  /** Between the table and the routes. */
  readonly between: readonly Rewriter[];
  /** Which group has the table: the app itself, or one of the others. */
  readonly site: number;
  /** Whether the table is in that group, or mounted at the same path before it. */
  readonly inside: boolean;
  /** Whether an anonymous middleware follows the table. */
  readonly followed: boolean;
  /** Whether the table is behind the routes. */
  readonly late: boolean;
  /** Whether the seller calls the table from a function of his own. */
  readonly wrapped: boolean;
  /** Whether every second key is in a table of its own. */
  readonly split: boolean;
  /** Whether the seller calls `ready`. */
  readonly isReady: boolean;
  readonly items: readonly ItemPlan[];
}

/** What the library at hand can do. */
export interface Features {
  /** `payments.charge(config)` in a route. */
  readonly charge: boolean;
  /** `[id]` and `*` in keys. */
  readonly spellings: boolean;
}

/** Generates apps for a version of Express. */
export function appPlans(dialect: Dialect, features: Features): fc.Arbitrary<AppPlan> {
  return fc.record({
    dialect: fc.constant(dialect),
    caseSensitive: seldom(),
    strict: seldom(),
    rewriters: rewriters(),
    between: rewriters(),
    site: fc.oneof(
      { withCrossShrink: true },
      { weight: 2, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.nat(5) },
    ),
    inside: fc.boolean(),
    followed: seldom(),
    late: hardlyEver(),
    wrapped: hardlyEver(),
    split: seldom(),
    isReady: fc.boolean(),
    items: items(dialect, features, 0),
  });
}

function items(dialect: Dialect, features: Features, depth: number): fc.Arbitrary<readonly ItemPlan[]> {
  const route = routes(dialect, features, depth);
  const item =
    depth === 2
      ? route
      : fc.oneof({ withCrossShrink: true }, { weight: 3, arbitrary: route }, { weight: 2, arbitrary: groups() });
  return fc.array<ItemPlan>(item, { minLength: 1, maxLength: depth === 0 ? 4 : 3 });

  function groups(): fc.Arbitrary<GroupPlan> {
    return fc.record({
      kind: fc.constant("group"),
      sort: fc.oneof(
        { weight: 4, arbitrary: fc.constant("router") },
        { weight: 2, arbitrary: fc.constant("flat") },
        { weight: 1, arbitrary: fc.constant("app") },
      ),
      mount: mountPaths(dialect, depth),
      also: fc.oneof(
        { withCrossShrink: true },
        { weight: 3, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: mountPaths(dialect, depth) },
      ),
      caseSensitive: seldom(),
      strict: seldom(),
      items: items(dialect, features, depth + 1),
    });
  }
}

function routes(dialect: Dialect, features: Features, depth: number): fc.Arbitrary<RoutePlan> {
  const spelled = features.spellings ? fc.boolean() : fc.constant(false);
  const key = fc.record({ named: fc.boolean(), full: fc.boolean(), brackets: spelled, star: spelled });
  const route: fc.Arbitrary<RoutePlan> = fc.record({
    kind: fc.constant("route"),
    label: fc.nat(LABELS - 1),
    sort: fc.oneof(
      { withCrossShrink: true },
      { weight: 5, arbitrary: fc.constant("path") },
      { weight: 3, arbitrary: fc.constantFrom(...HANDLER_SORTS) },
    ),
    method: fc.oneof(
      { withCrossShrink: true },
      { weight: 5, arbitrary: fc.constant("get") },
      { weight: 3, arbitrary: fc.constantFrom(...ROUTE_METHODS) },
    ),
    path: routePaths(dialect, depth),
    alias: routePaths(dialect, depth),
    isWhole: fc.boolean(),
    cents: fc.constantFrom(...PRICES),
    passes: seldom(),
    pricing: fc.oneof(
      { weight: 3, arbitrary: key },
      { weight: 2, arbitrary: fc.constant("free") },
      { weight: features.charge ? 2 : 0, arbitrary: fc.constant("charge") },
    ),
  });
  // Where a handler is mounted; at the top of its router, if the seller leaves it out.
  const mount = fc.oneof(
    { weight: 3, arbitrary: mountPaths(dialect, depth) },
    { weight: 1, arbitrary: fc.constant(TOP) },
  );
  return fc.tuple(route, mount).map(([plan, place]) => toPossible(isMounted(plan) ? { ...plan, path: place } : plan));

  function toPossible(plan: RoutePlan): RoutePlan {
    if (!hasKey(plan.path, dialect, features.spellings)) return { ...plan, pricing: "free" };
    if (plan.sort === "regexp" && !isPlainPath(plan.path)) return { ...plan, sort: "path" };
    // What takes everything is no handler of a key.
    return plan.sort === "use" && plan.path.pieces.length === 0 ? { ...plan, pricing: "free" } : plan;
  }
}

const TOP: Path = { pieces: [], slash: false };

/** Whether a handler leaves the answer to those behind it. */
export function passesOn({ passes, pricing, sort }: RoutePlan): boolean {
  return passes && pricing === "free" && sort !== "files";
}

/** Whether a handler gets everything below its path, by any method. */
export function isMounted({ sort }: Pick<RoutePlan, "sort">): boolean {
  return sort === "use" || sort === "files" || sort === "proxy";
}

function rewriters(): fc.Arbitrary<readonly Rewriter[]> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.uniqueArray(fc.constantFrom(...REWRITERS), { minLength: 1, maxLength: 2 }) },
  );
}

function hardlyEver(): fc.Arbitrary<boolean> {
  return fc.nat(11).map((chance) => chance === 11);
}

function seldom(): fc.Arbitrary<boolean> {
  return fc.nat(3).map((chance) => chance === 3);
}

/** A key of the table. */
export interface Key {
  readonly text: string;
  /** `undefined`: any but OPTIONS. */
  readonly method: Method | undefined;
  /** The chain of mounts and the path that it was written for. */
  readonly chain: readonly Path[];
  readonly plan: KeyPlan;
  readonly cents: Cents;
  /** Whether a route is spelled as it is. The others are bound to what Express gives their path to. */
  readonly hasRoute: boolean;
}

/** Whether a key is for a request's method. */
export function coversMethod(key: Key, method: string): boolean {
  if (key.method === undefined) return method !== "OPTIONS";
  return key.method === method || (key.method === "GET" && method === "HEAD");
}

/** Whether Express hands requests of this method to a route. */
export function servesMethod(route: RoutePlan, method: string): boolean {
  if (passesOn(route)) return false;
  if (route.sort === "files") return method === "GET" || method === "HEAD";
  if (isMounted(route)) return true;
  const own = route.method.toUpperCase();
  return own === "ALL" || own === method || (own === "GET" && method === "HEAD");
}
