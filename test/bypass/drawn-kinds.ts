/**
 * What generated apps and requests are made of, so that a test can tell that nothing is left out.
 *
 * @module
 */
import {
  type AppPlan,
  HANDLER_FORMS,
  HANDLER_SORTS,
  type ItemPlan,
  LISTENERS,
  REWRITERS,
  ROUTE_METHODS,
  type RoutePlan,
  TABLE_FORMS,
  TAILS,
} from "./app-plan.js";
import { MUTATION_KINDS, type RequestPlan } from "./request-plan.js";

type Kinds = Readonly<Record<string, readonly unknown[]>>;

/** Each kind of part, and each of its values, sorted. */
export const EVERY_KIND: Kinds = sortAll({
  rewriters: REWRITERS,
  between: REWRITERS,
  flags: ["followed", "inside", "late", "split", "isReady"].flatMap((one) => [`${one} true`, `${one} false`]),
  table: TABLE_FORMS,
  listener: LISTENERS,
  tail: TAILS,
  groups: ["router", "router, mounted twice", "app", "flat"],
  methods: ROUTE_METHODS,
  seconds: ROUTE_METHODS,
  handlers: HANDLER_SORTS.flatMap((sort) => ["free", "by a key", "charge"].map((price) => `${sort}, ${price}`)),
  forms: HANDLER_FORMS,
  ofAll: ["by the key of one method", "by a key without a method"],
  covering: ["none", "the same", "wide"],
  passes: [true, false],
  mutations: MUTATION_KINDS,
  payments: ["nothing", "the price", 1, 2, 3],
});

/** The same of what was drawn. */
export function drawnKinds(drawn: readonly (readonly [AppPlan, readonly RequestPlan[]])[]): Kinds {
  const apps = drawn.map(([app]) => app);
  const items = apps.flatMap((app) => listItems(app.items));
  const groups = items.flatMap((item) => (item.kind === "group" ? [item] : []));
  const routes = items.flatMap((item) => (item.kind === "route" ? [item] : []));
  const sent = drawn.flatMap(([, some]) => some);
  return sortAll({
    rewriters: apps.flatMap((app) => app.rewriters),
    between: apps.flatMap((app) => app.between),
    flags: apps.flatMap((app) =>
      (["followed", "inside", "late", "split", "isReady"] as const).map((one) => `${one} ${app[one]}`),
    ),
    table: apps.map(({ table }) => table),
    listener: apps.map(({ listener }) => listener),
    tail: apps.map(({ tail }) => tail),
    groups: groups.map(({ sort, also }) => (sort === "router" && also !== undefined ? "router, mounted twice" : sort)),
    methods: routes.map(({ method }) => method),
    seconds: routes.flatMap(({ sort, second }) => (sort === "chain" ? [second] : [])),
    handlers: routes.map(({ sort, pricing }) => `${sort}, ${typeof pricing === "string" ? pricing : "by a key"}`),
    forms: routes.map(({ form }) => form),
    ofAll: routes.flatMap(keyOfAll),
    covering: routes.map(({ covering }) => (covering === undefined ? "none" : covering.isWide ? "wide" : "the same")),
    passes: routes.map(({ passes }) => passes),
    mutations: sent.flatMap(({ mutations }) => mutations.map(({ kind }) => kind)),
    payments: sent.map(({ pays }) => pays),
  });
}

function keyOfAll({ sort, method, pricing }: RoutePlan): readonly string[] {
  if (sort !== "path" || method !== "all" || typeof pricing === "string") return [];
  return [pricing.named ? "by the key of one method" : "by a key without a method"];
}

function listItems(items: readonly ItemPlan[]): readonly ItemPlan[] {
  return items.flatMap((item) => (item.kind === "group" ? [item, ...listItems(item.items)] : [item]));
}

function sortAll(kinds: Kinds): Kinds {
  return Object.fromEntries(Object.entries(kinds).map(([kind, values]) => [kind, [...new Set(values)].sort()]));
}
