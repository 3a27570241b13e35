/**
 * Apps as data: what is registered where, and which routes are to be paid for.
 *
 * @module
 */
import type { Method } from "@farebox/core";
import fc from "fast-check";
import {
  type Dialect,
  EVERYTHING,
  hasKey,
  isPlainPath,
  mountPaths,
  PAGE,
  type Path,
  routePaths,
  type Spelling,
} from "./path.js";

/** Routes of a small app hardly ever share one. */
export const LABELS = 16;

export const ROUTE_METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "all"] as const;

export type RouteMethod = (typeof ROUTE_METHODS)[number];

/**
 * How a handler is registered: `app.get(path)`, of two paths, of a regular expression, or with another one by
 * `app.route(path).get().post()`; `app.use(path)` for the others.
 */
export const HANDLER_SORTS = ["path", "array", "regexp", "chain", "use", "files", "proxy", "connect"] as const;

export type HandlerSort = (typeof HANDLER_SORTS)[number];

/** What a handler looks like. It responds in all forms; one that is signed in to has a function before it in its route. */
export const HANDLER_FORMS = ["two arguments", "next", "async", "behind sign-in"] as const;

export type HandlerForm = (typeof HANDLER_FORMS)[number];

/** How requests meet a table: the app shows it; a function calls it; or makes one for each request, or for each tenant. */
export const TABLE_FORMS = ["seen", "wrapped", "per request", "per tenant"] as const;

export type TableForm = (typeof TABLE_FORMS)[number];

/** Who listens: the app, or a function that calls it. */
export const LISTENERS = ["app", "function"] as const;

/** What is behind everything, free. */
export const TAILS = ["nothing", "404", "page", "all pages", "all"] as const;

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

/** A key that covers a route with a charge. */
export interface CoveringPlan extends KeyPlan {
  /** Whether it covers all routes beside it, too. */
  readonly isWide: boolean;
}

export interface RoutePlan {
  readonly kind: "route";
  /** What requests are addressed to, so that a failing app shrinks without its requests going elsewhere. */
  readonly label: number;
  readonly sort: HandlerSort;
  readonly method: RouteMethod;
  /** Of a chain, the second method. */
  readonly second: RouteMethod;
  readonly form: HandlerForm;
  readonly path: Path;
  /** Of an array, the second path. */
  readonly alias: Path;
  /** Of files and proxies: whether a key names all of them, or one. */
  readonly isWhole: boolean;
  readonly cents: Cents;
  /** Whether the handler passes requests on, as one that checks who asks. Only free ones do. */
  readonly passes: boolean;
  readonly pricing: "free" | "charge" | KeyPlan;
  /** Of a route with a charge: a key at another price. */
  readonly covering: CoveringPlan | undefined;
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
  readonly table: TableForm;
  /** Whether every second key is in a table of its own. */
  readonly split: boolean;
  /** Whether the seller calls `ready`. */
  readonly isReady: boolean;
  readonly listener: (typeof LISTENERS)[number];
  /** Already the last of the items. */
  readonly tail: (typeof TAILS)[number];
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
  const app = fc.record({
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
    table: fc.oneof(
      { withCrossShrink: true },
      { weight: 9, arbitrary: fc.constant("seen") },
      { weight: 1, arbitrary: fc.constantFrom(...TABLE_FORMS) },
    ),
    split: seldom(),
    isReady: fc.boolean(),
    listener: fc.constantFrom(...LISTENERS),
    tail: fc.oneof(
      { withCrossShrink: true },
      { weight: 1, arbitrary: fc.constant("nothing") },
      { weight: 1, arbitrary: fc.constantFrom(...TAILS) },
    ),
    items: items(dialect, features, 0),
  } satisfies { [name in keyof AppPlan]: fc.Arbitrary<AppPlan[name]> });
  return app.map((plan) => ({ ...plan, items: [...plan.items, ...tailOf(plan.tail)] }));
}

/** What an app has behind its routes: a handler of what was not found, or pages. */
function tailOf(tail: AppPlan["tail"]): readonly RoutePlan[] {
  if (tail === "nothing") return [];
  const last: RoutePlan = {
    ...{ kind: "route", label: LABELS, sort: "path", method: "get", second: "get", form: "two arguments" },
    ...{ path: EVERYTHING, alias: TOP, isWhole: true, cents: 1, passes: false, pricing: "free", covering: undefined },
  };
  if (tail === "404") return [{ ...last, sort: "use", path: TOP }];
  if (tail === "page") return [{ ...last, path: PAGE }];
  return [tail === "all" ? { ...last, method: "all" } : last];
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
  const written = { named: fc.boolean(), full: fc.boolean(), brackets: spelled, star: spelled };
  const key = fc.record(written);
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
    second: fc.constantFrom(...ROUTE_METHODS),
    form: fc.constantFrom(...HANDLER_FORMS),
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
    covering: fc.option(fc.record({ ...written, isWide: fc.boolean() }), { nil: undefined, freq: 2 }),
  });
  // Where a handler is mounted; at the top of its router, if the seller leaves it out.
  const mount = fc.oneof(
    { weight: 3, arbitrary: mountPaths(dialect, depth) },
    { weight: 1, arbitrary: fc.constant(TOP) },
  );
  return fc.tuple(route, mount).map(([plan, place]) => toPossible(isMounted(plan) ? { ...plan, path: place } : plan));

  function toPossible(plan: RoutePlan): RoutePlan {
    if (!hasKey(plan.path, dialect, features.spellings)) return { ...plan, pricing: "free", covering: undefined };
    if (plan.sort === "regexp" && !isPlainPath(plan.path)) return { ...plan, sort: "path" };
    // What takes everything is no handler of a key.
    const isOfAll = isFunction(plan) && plan.path.pieces.length === 0;
    return isOfAll ? { ...plan, pricing: "free" } : plan;
  }
}

const TOP: Path = { pieces: [], slash: false };

/** Whether a handler is a function at a mount that does not look at the rest of the path. */
export function isFunction({ sort }: Pick<RoutePlan, "sort">): boolean {
  return sort === "use" || sort === "connect";
}

/** Whether a handler leaves the answer to those behind it. */
export function passesOn({ passes, pricing, sort }: RoutePlan): boolean {
  return passes && pricing === "free" && sort !== "files";
}

/** Whether a key names all that a file server or a proxy has. Of a proxy at the top that would be the whole app. */
export function isKeyOfAll({ sort, isWhole, path }: RoutePlan): boolean {
  return isWhole && (sort === "files" || path.pieces.length > 0);
}

/** Whether a handler gets everything below its path, by any method. */
export function isMounted({ sort }: Pick<RoutePlan, "sort">): boolean {
  return sort === "use" || sort === "connect" || sort === "files" || sort === "proxy";
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
}

/** Whether a key is for a request's method. */
export function coversMethod(key: Key, method: string): boolean {
  if (key.method === undefined) return method !== "OPTIONS";
  return key.method === method || (key.method === "GET" && method === "HEAD");
}

/** The methods that a route is registered for. */
export function methodsOf({ sort, method, second }: RoutePlan): readonly RouteMethod[] {
  return sort === "chain" ? [method, second] : [method];
}

/** Whether Express hands requests of this method to a route. */
export function servesMethod(route: RoutePlan, method: string): boolean {
  if (passesOn(route)) return false;
  if (route.sort === "files") return method === "GET" || method === "HEAD";
  return isMounted(route) || methodsOf(route).some((own) => takesMethod(own, method));
}

/** Whether a function that is registered for a method gets requests of another. */
export function takesMethod(registered: RouteMethod, method: string): boolean {
  const own = registered.toUpperCase();
  return own === "ALL" || own === method || (own === "GET" && method === "HEAD");
}
