/**
 * Apps as data: what is registered where, and which routes are to be paid for.
 *
 * @module
 */
import type { Method } from "@farebox/core";
import fc from "fast-check";
import { type Dialect, hasKey, mountPaths, type Path, routePaths, type Spelling } from "./path.js";

/** Routes of a small app hardly ever share one. */
export const LABELS = 16;

export const ROUTE_METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "all"] as const;

export type RouteMethod = (typeof ROUTE_METHODS)[number];

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
  readonly method: RouteMethod;
  readonly path: Path;
  readonly pricing: "free" | "charge" | KeyPlan;
}

/** A nested router, a mounted app, or routes that are written with a common beginning. */
export interface GroupPlan {
  readonly kind: "group";
  readonly sort: "router" | "app" | "flat";
  readonly mount: Path;
  readonly caseSensitive: boolean;
  readonly strict: boolean;
  readonly items: readonly ItemPlan[];
}

export type ItemPlan = RoutePlan | GroupPlan;

/** What earlier middleware does to a request. */
export const REWRITERS = [
  "strips /v9",
  "collapses slashes",
  "decodes the URL",
  "sends /go elsewhere",
  "overrides the method",
] as const;

export type Rewriter = (typeof REWRITERS)[number];

export interface AppPlan {
  readonly dialect: Dialect;
  readonly caseSensitive: boolean;
  readonly strict: boolean;
  readonly rewriters: readonly Rewriter[];
  /** Which group has the table: the app itself, or one of the others. */
  readonly site: number;
  /** Whether the table is in that group, or mounted at the same path before it. */
  readonly inside: boolean;
  /** Whether an anonymous middleware follows the table. */
  readonly followed: boolean;
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
    rewriters: fc.oneof(
      { withCrossShrink: true },
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.uniqueArray(fc.constantFrom(...REWRITERS), { minLength: 1, maxLength: 2 }) },
    ),
    site: fc.oneof(
      { withCrossShrink: true },
      { weight: 2, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.nat(5) },
    ),
    inside: fc.boolean(),
    followed: seldom(),
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
    method: fc.oneof(
      { withCrossShrink: true },
      { weight: 5, arbitrary: fc.constant("get") },
      { weight: 3, arbitrary: fc.constantFrom(...ROUTE_METHODS) },
    ),
    path: routePaths(dialect, depth),
    pricing: fc.oneof(
      { weight: 3, arbitrary: key },
      { weight: 2, arbitrary: fc.constant("free") },
      { weight: features.charge ? 2 : 0, arbitrary: fc.constant("charge") },
    ),
  });
  return route.map((plan) => (hasKey(plan.path, dialect, features.spellings) ? plan : { ...plan, pricing: "free" }));
}

function seldom(): fc.Arbitrary<boolean> {
  return fc.nat(3).map((chance) => chance === 3);
}

/** A key of the table. */
export interface Key {
  readonly text: string;
  /** `undefined`: any but OPTIONS. */
  readonly method: Method | undefined;
  /** The chain of mounts and the route that it was written for. */
  readonly chain: readonly Path[];
  readonly plan: KeyPlan;
}

/** Whether a key is for a request's method. */
export function coversMethod(key: Key, method: string): boolean {
  if (key.method === undefined) return method !== "OPTIONS";
  return key.method === method || (key.method === "GET" && method === "HEAD");
}

/** Whether Express hands requests of this method to a route. */
export function servesMethod(route: RoutePlan, method: string): boolean {
  const own = route.method.toUpperCase();
  return own === "ALL" || own === method || (own === "GET" && method === "HEAD");
}
