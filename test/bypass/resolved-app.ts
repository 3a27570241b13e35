/**
 * An app plan thought through: every route with its whole path, and the keys of the table.
 *
 * @module
 */
import type { Method } from "@farebox/core";
import {
  type AppPlan,
  type Cents,
  coversMethod,
  type GroupPlan,
  type ItemPlan,
  isMounted,
  type Key,
  type RoutePlan,
} from "./app-plan.js";
import {
  CHILD,
  EVERYTHING_BELOW,
  FILE,
  loosePattern,
  loosePrefix,
  type Path,
  RESOURCE,
  samplePaths,
  writeKeyPath,
  writtenOut,
} from "./path.js";

export interface Route {
  readonly id: number;
  readonly plan: RoutePlan;
  /** The mounts above it and its own path. */
  readonly chain: readonly Path[];
  /** All chains of paths that lead to it, or below it. */
  readonly ways: readonly (readonly Path[])[];
  readonly price: { readonly by: "free" | "charge" } | { readonly by: "table"; readonly key: Key };
}

export interface ResolvedApp {
  readonly plan: AppPlan;
  readonly routes: readonly Route[];
  readonly keys: readonly Key[];
  /** The group that has the table; `undefined`: the app itself. */
  readonly site: GroupPlan | undefined;
  /** Where the table is mounted. */
  readonly siteChain: readonly Path[];
  /** Whether the table gets every request of its routes first. */
  readonly isFirst: boolean;
  /** Whether the table cannot see the routes. */
  readonly opaque: boolean;
  /** Whether a router mounts an app. Express then leaves requests to that app, also behind it. */
  readonly isLost: boolean;
}

interface Found<T> {
  readonly plan: T;
  /** The groups above it, the outermost first. */
  readonly above: readonly GroupPlan[];
}

/** Resolves a plan. Routes are numbered in the order they are registered. */
export function resolveApp(plan: AppPlan): ResolvedApp {
  const { groups, routes: found } = walk(plan.items, []);
  const site = [undefined, ...groups][plan.site % (groups.length + 1)];
  const siteChain = site === undefined ? [] : [...site.above, site.plan].map(({ mount }) => mount);
  const keys = new Map<string, Key>();
  const routes = found.map((route, id) => withOneKey(resolveRoute(plan, route, { id, site }), keys));
  return {
    plan,
    routes,
    keys: [...keys.values()],
    site: site?.plan,
    siteChain,
    isFirst: !plan.late && (site === undefined || (plan.inside && site.plan.sort !== "flat")),
    isLost: groups.some(({ plan: { sort }, above }) => {
      return sort === "app" && above.findLast((group) => group.sort !== "flat")?.sort === "router";
    }),
    opaque: plan.wrapped || groups.some((group) => group.plan.sort === "app"),
  };
}

function walk(
  items: readonly ItemPlan[],
  above: readonly GroupPlan[],
): { readonly groups: readonly Found<GroupPlan>[]; readonly routes: readonly Found<RoutePlan>[] } {
  const groups: Found<GroupPlan>[] = [];
  const routes: Found<RoutePlan>[] = [];
  for (const plan of items) {
    if (plan.kind === "route") {
      routes.push({ plan, above });
      continue;
    }
    const inner = walk(plan.items, [...above, plan]);
    groups.push({ plan, above }, ...inner.groups);
    routes.push(...inner.routes);
  }
  return { groups, routes };
}

function resolveRoute(
  app: AppPlan,
  { plan, above }: Found<RoutePlan>,
  { id, site }: { readonly id: number; readonly site: Found<GroupPlan> | undefined },
): Route {
  const chain = [...above.map(({ mount }) => mount), plan.path];
  const { pricing } = plan;
  const route = { id, plan, chain, ways: waysTo(plan, above) };
  // A file server and a proxy have no handler of a route before them.
  if (pricing === "charge") return { ...route, price: { by: "charge" } };
  const isSeen = site === undefined || above.includes(site.plan);
  if (pricing === "free" || !isSeen) return { ...route, price: { by: "free" } };

  const hidden = site === undefined ? 0 : site.above.length + 1;
  const keyChain = [...chain, ...namedBelow(plan)];
  const path = writeKeyPath(pricing.full ? keyChain : keyChain.slice(hidden), app.dialect, pricing);
  const isNamed = pricing.named && plan.method !== "all";
  const method = !isNamed ? undefined : isMounted(plan) ? "GET" : (plan.method.toUpperCase() as Method);
  const text = method === undefined ? path : `${method} ${path}`;
  if (countWildcards(path) > MAX_WILDCARDS) return { ...route, price: { by: "charge" } };
  // A key for any method names no OPTIONS, and has no route in one for OPTIONS.
  const isNamedHere = plan.method !== "options" || method !== undefined;
  const hasRoute = isNamedHere && (plan.sort === "path" || plan.sort === "array");
  const key = { text, method, chain: keyChain, plan: pricing, cents: plan.cents, hasRoute };
  return { ...route, price: { by: "table", key } };
}

/** The rest of a key's path that is below a mounted handler. */
function namedBelow({ sort, path, isWhole }: RoutePlan): readonly Path[] {
  if (sort === "files") return [isWhole ? EVERYTHING_BELOW : FILE];
  if (sort === "proxy") return [isWhole && path.pieces.length > 0 ? EVERYTHING_BELOW : RESOURCE];
  return [];
}

function waysTo(plan: RoutePlan, above: readonly GroupPlan[]): readonly (readonly Path[])[] {
  const steps: (readonly Path[])[] = above.map(({ mount, also, sort }) =>
    also === undefined || sort !== "router" ? [mount] : [mount, also],
  );
  steps.push(plan.sort === "array" ? [plan.path, plan.alias] : [plan.path]);
  if (plan.sort === "files") steps.push([FILE]);
  if (plan.sort === "proxy") steps.push([RESOURCE]);
  if (plan.sort === "use" || plan.sort === "regexp") steps.push([CHILD]);
  return steps.reduce<readonly (readonly Path[])[]>(
    (chains, step) => chains.flatMap((chain) => step.map((path) => [...chain, path])),
    [[]],
  );
}

/** More than these no key may have; such a route is priced by a handler of its own. */
const MAX_WILDCARDS = 2;

function countWildcards(path: string): number {
  return path.replace(/\\./g, "").split("*").length - 1;
}

/** A table may not have two keys for one route, however they are written: the first one stays. */
function withOneKey(route: Route, keys: Map<string, Key>): Route {
  if (route.price.by !== "table") return route;
  const { key } = route.price;
  const meant = key.text
    .toLowerCase()
    .replace(/\[(\w+)\]/g, ":$1")
    .replace(/([:*])[pqs]\d_\d+/g, "$1")
    .replace(/\/+$/, "");
  const known = keys.get(meant) ?? key;
  keys.set(meant, known);
  return known.text === key.text ? route : { ...route, price: { by: "free" } };
}

/** How a request came to a handler. */
export interface Arrival {
  readonly method: string;
  /** What the server behind a proxy makes of the path, or a file server; `undefined` for other handlers. */
  readonly resource: string | undefined;
}

/**
 * Whether a handler must not run unpaid. `undefined`: the seller has not said, or the table need not know.
 *
 * A table that its seller wraps sees no routes, and prices paths.
 */
export function isPriced(app: ResolvedApp, route: Route, { method, resource }: Arrival): boolean | undefined {
  const { price, plan } = route;
  if (price.by === "free") return false;
  if (price.by !== "table") return plan.method === "options" && method === "OPTIONS" ? undefined : true;
  const { key } = price;
  if (app.plan.wrapped) return undefined;
  if (method === "OPTIONS" && !coversMethod(key, method)) {
    if (plan.method === "options" && !isMounted(plan)) return undefined;
    return isBound(app, route, key) ? true : undefined;
  }
  if (isProxyOfAll(plan)) {
    const isSeen = !app.plan.late && app.plan.between.length === 0 && !overlapsOthers(app, route, key);
    return isSeen && coversMethod(key, method) && resource === "/secret" ? true : undefined;
  }
  // At the top of the app, a file server has one priced file.
  if (isFilesOfAll(route) && !plan.isWhole && resource !== "/secret.txt") return undefined;
  return isBound(app, route, key) ? true : undefined;
}

function isFilesOfAll({ plan, chain }: Route): boolean {
  return plan.sort === "files" && chain.every(({ pieces }) => pieces.length === 0);
}

/** A proxy of all that an app has not: its keys are bound to nothing. */
export function isProxyOfAll({ sort, path }: RoutePlan): boolean {
  return sort === "proxy" && path.pieces.length === 0;
}

/** No path of any app. */
const NOWHERE = "/~0/~1/~2";

/** Whether it is certain which handler a key is bound to. */
function isBound(app: ResolvedApp, route: Route, key: Key): boolean {
  if (key.hasRoute) return true;
  if (app.plan.late || isProxyOfAll(route.plan) || overlapsOthers(app, route, key)) return false;
  // Handlers of everything are no handlers of a key.
  return route.plan.sort !== "regexp" || !loosePrefix(route.chain).test(NOWHERE);
}

function overlapsOthers(app: ResolvedApp, route: Route, key: Key): boolean {
  return app.routes.some((other) => other !== route && overlaps(app, { ...key, hasRoute: false }, other));
}

/** The prices that a request at a route may be charged by: its own, and those of keys that may be meant for it. */
export function pricesOf(app: ResolvedApp, route: Route): ReadonlySet<Cents> {
  const own = route.price.by === "free" ? [] : [route.plan.cents];
  return new Set([...own, ...app.keys.filter((key) => isShared(app, key, route)).map(({ cents }) => cents)]);
}

/** Whether a key could be meant for a route that it was not written for, as both may stand for the same path. */
export function isCoveredByChance(app: ResolvedApp, route: Route): boolean {
  return app.keys.some((key) => isShared(app, key, route));
}

function isShared(app: ResolvedApp, key: Key, route: Route): boolean {
  return sharesMethod(key, route.plan) && overlaps(app, key, route);
}

function sharesMethod(key: Key, plan: RoutePlan): boolean {
  if (!key.hasRoute || isMounted(plan) || plan.method === "all") return true;
  const own = plan.method.toUpperCase();
  return coversMethod(key, own) || (own === "GET" && coversMethod(key, "HEAD"));
}

function overlaps(app: ResolvedApp, key: Key, route: Route): boolean {
  const belowSite = app.siteChain.length;
  const both = (chain: readonly Path[]) => [chain, chain.slice(belowSite)];
  const patterns = both(key.chain).map(loosePattern);
  const ways = route.ways.flatMap(both);
  if (ways.flatMap(sampled).some((sample) => patterns.some((pattern) => pattern.test(sample)))) return true;
  if (key.hasRoute) return false;
  // Its samples go to what Express gives them to, which may stand for more.
  const samples = both(key.chain).flatMap(samplePaths);
  const open = isMounted(route.plan) || route.plan.sort === "regexp" ? [route.chain] : ways;
  const receivers = open.map(isMounted(route.plan) || route.plan.sort === "regexp" ? loosePrefix : loosePattern);
  return samples.some((sample) => receivers.some((pattern) => pattern.test(sample)));
}

function sampled(chain: readonly Path[]): readonly string[] {
  return [...writtenOut(chain), ...samplePaths(chain)];
}
