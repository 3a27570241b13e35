/**
 * An app plan thought through: every route with its whole path, and the keys of the table.
 *
 * @module
 */
import type { Method } from "@farebox/core";
import {
  type AppPlan,
  type Cents,
  type CoveringPlan,
  type GroupPlan,
  type ItemPlan,
  isFunction,
  isKeyOfAll,
  isMounted,
  type Key,
  type KeyPlan,
  methodsOf,
  PRICES,
  type RoutePlan,
} from "./app-plan.js";
import { CHILD, EVERYTHING_BELOW, FILE, type Path, RESOURCE, writeKeyPath } from "./path.js";

export interface Route {
  readonly id: number;
  readonly plan: RoutePlan;
  /** The mounts above it and its own path. */
  readonly chain: readonly Path[];
  /** All chains of paths that lead to it, or below it. */
  readonly ways: readonly (readonly Path[])[];
  /** Whether it is behind the table, if that is the first. */
  readonly isSeen: boolean;
  readonly price: { readonly by: "free" | "charge" } | { readonly by: "table"; readonly key: Key };
  /** What it costs, if it is not free. */
  readonly cents: Cents;
}

export interface ResolvedApp {
  readonly plan: AppPlan;
  readonly routes: readonly Route[];
  readonly keys: readonly Key[];
  readonly groups: readonly GroupPlan[];
  /** The group that has the table; `undefined`: the app itself. */
  readonly site: GroupPlan | undefined;
  /** Where the table is mounted. */
  readonly siteChain: readonly Path[];
  /** Whether the table gets every request of its routes first. */
  readonly isFirst: boolean;
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
  const routes = found.map((one, id) => {
    const route = withOneKey(resolveRoute(plan, one, { id, site }), keys);
    const covering = route.price.by === "charge" ? coveringKey(plan, one, { route, site }) : undefined;
    if (covering !== undefined) keepKey(covering, keys);
    return route;
  });
  return {
    plan,
    routes,
    keys: [...keys.values()],
    groups: groups.map((group) => group.plan),
    site: site?.plan,
    siteChain,
    isFirst: !plan.late && (site === undefined || (plan.inside && site.plan.sort !== "flat")),
    isLost: groups.some(({ plan: { sort }, above }) => {
      return sort === "app" && above.findLast((group) => group.sort !== "flat")?.sort === "router";
    }),
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

type Site = Found<GroupPlan> | undefined;

function resolveRoute(
  app: AppPlan,
  { plan, above }: Found<RoutePlan>,
  { id, site }: { readonly id: number; readonly site: Site },
): Route {
  const chain = [...above.map(({ mount }) => mount), plan.path];
  const { pricing, cents } = plan;
  const isSeen = site === undefined || above.includes(site.plan);
  const route = { id, plan, chain, ways: waysTo(plan, above), isSeen, cents };
  // A file server and a proxy have no handler of a route before them.
  if (pricing === "charge") return { ...route, price: { by: "charge" } };
  if (pricing === "free" || !isSeen) return { ...route, price: { by: "free" } };

  const method = pricing.named ? namedMethod(plan) : undefined;
  const key = writeKey(app, { method, chain: [...chain, ...namedBelow(plan)], plan: pricing, cents }, site);
  return { ...route, price: key === undefined ? { by: "charge" } : { by: "table", key } };
}

/** GET, if the handler takes all. */
function namedMethod(plan: RoutePlan): Method {
  const own = isMounted(plan) ? undefined : methodsOf(plan).find((method) => method !== "all");
  return (own ?? "get").toUpperCase() as Method;
}

function writeKey(app: AppPlan, key: Omit<Key, "text">, site: Site): Key | undefined {
  const hidden = site === undefined ? 0 : site.above.length + 1;
  const path = writeKeyPath(key.plan.full ? key.chain : key.chain.slice(hidden), app.dialect, key.plan);
  if (countWildcards(path) > MAX_WILDCARDS) return undefined;
  return { ...key, text: key.method === undefined ? path : `${key.method} ${path}` };
}

/** A key at another price than the charge that stands in the route. */
function coveringKey(
  app: AppPlan,
  { plan }: Found<RoutePlan>,
  { route, site }: { readonly route: Route; readonly site: Site },
): Key | undefined {
  const { covering } = plan;
  if (covering === undefined || !route.isSeen) return undefined;
  const cents = PRICES[(PRICES.indexOf(plan.cents) + 1) % PRICES.length] ?? plan.cents;
  const method = covering.named ? namedMethod(plan) : undefined;
  const chain = covering.isWide ? widened(route.chain) : route.chain;
  return writeKey(app, { method, chain, plan: toKeyPlan(covering), cents }, site);
}

function toKeyPlan({ named, full, brackets, star }: CoveringPlan): KeyPlan {
  return { named, full, brackets, star };
}

/** The path with all that lies beside it, if that is not the whole app. */
function widened(chain: readonly Path[]): readonly Path[] {
  const last = chain.at(-1)?.pieces.slice(0, -1) ?? [];
  const above = chain.slice(0, -1);
  return last.length + above.length === 0 ? chain : [...above, { pieces: last, slash: false }, EVERYTHING_BELOW];
}

/** The rest of a key's path that is below a mounted handler. */
function namedBelow(plan: RoutePlan): readonly Path[] {
  if (plan.sort !== "files" && plan.sort !== "proxy") return [];
  return [isKeyOfAll(plan) ? EVERYTHING_BELOW : plan.sort === "files" ? FILE : RESOURCE];
}

function waysTo(plan: RoutePlan, above: readonly GroupPlan[]): readonly (readonly Path[])[] {
  const steps: (readonly Path[])[] = above.map(({ mount, also, sort }) =>
    also === undefined || sort !== "router" ? [mount] : [mount, also],
  );
  steps.push(plan.sort === "array" ? [plan.path, plan.alias] : [plan.path]);
  if (plan.sort === "files") steps.push([FILE]);
  if (plan.sort === "proxy") steps.push([RESOURCE]);
  if (isFunction(plan) || plan.sort === "regexp") steps.push([CHILD]);
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
  const own = route.price.key;
  const key = keepKey(own, keys);
  // Another route's key may mean the same path by another chain of mounts.
  if (key.text !== own.text || writtenIn(key) !== writtenIn(own)) return { ...route, price: { by: "free" } };
  return { ...route, price: { by: "table", key }, cents: key.cents };
}

/** Returns the key that is kept. */
function keepKey(key: Key, keys: Map<string, Key>): Key {
  const meant = key.text
    .toLowerCase()
    .replace(/\[(\w+)\]/g, ":$1")
    .replace(/([:*])([pqs]\d_\d+|below)/g, "$1")
    .replace(/\/+$/, "");
  const known = keys.get(meant) ?? key;
  keys.set(meant, known);
  return known;
}

function writtenIn({ chain }: Key): string {
  return JSON.stringify(chain.map(({ pieces }) => pieces.map(({ five }) => five)));
}
