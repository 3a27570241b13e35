/**
 * An app plan thought through: every route with its whole path, and the keys of the table.
 *
 * @module
 */
import type { Method } from "@farebox/core";
import { type AppPlan, coversMethod, type GroupPlan, type ItemPlan, type Key, type RoutePlan } from "./app-plan.js";
import { loosePattern, type Path, writeKeyPath, writtenOut } from "./path.js";

export interface Route {
  readonly id: number;
  readonly plan: RoutePlan;
  /** The mounts above it and its own path. */
  readonly chain: readonly Path[];
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
  /** Whether something is behind the table that cannot be seen through from the outside. */
  readonly opaque: boolean;
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
    opaque: plan.followed || groups.some((group) => group.plan.sort === "app"),
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
  if (pricing === "charge") return { id, plan, chain, price: { by: "charge" } };
  const isSeen = site === undefined || above.includes(site.plan);
  if (pricing === "free" || !isSeen) return { id, plan, chain, price: { by: "free" } };

  const hidden = site === undefined ? 0 : site.above.length + 1;
  const path = writeKeyPath(pricing.full ? chain : chain.slice(hidden), app.dialect, pricing);
  const method = pricing.named && plan.method !== "all" ? (plan.method.toUpperCase() as Method) : undefined;
  const text = method === undefined ? path : `${method} ${path}`;
  if (countWildcards(path) > MAX_WILDCARDS) return { id, plan, chain, price: { by: "charge" } };
  return { id, plan, chain, price: { by: "table", key: { text, method, chain, plan: pricing } } };
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

/** Whether the price of a route is asked for with this method. `undefined`: the seller has not said. */
export function isPriced({ price }: Route, method: string): boolean | undefined {
  if (price.by === "table") return coversMethod(price.key, method);
  if (price.by === "free") return false;
  return method === "OPTIONS" ? undefined : true;
}

/** Whether a key could be meant for a route that it was not written for, as both may stand for the same path. */
export function isCoveredByChance(app: ResolvedApp, route: Route, method: string): boolean {
  const belowSite = app.siteChain.length;
  const samples = [route.chain, route.chain.slice(belowSite)].flatMap(writtenOut);
  return app.keys.some((key) => {
    const patterns = [loosePattern(key.chain), loosePattern(key.chain.slice(belowSite))];
    return coversMethod(key, method) && patterns.some((pattern) => samples.some((sample) => pattern.test(sample)));
  });
}
