/**
 * Compares a seller's route tables with each other and with the routes that the app registered.
 *
 * @module
 */

import { type Finding, finding } from "../events/findings.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import { bindWhole, receiversOf } from "../route/bind-keys.js";
import { fold } from "../route/path-form.js";
import { METHODS } from "../route/route-key.js";
import { coversPath, type RouteEntry, type RouteTable } from "../route/route-table.js";
import type { Receiver, RegisteredRoute, RouterView } from "../route/router-view.js";
import { countTypos } from "../typos.js";
import { type PricedRoutes, type PricedTable, pathOf } from "./places.js";

type Entry = RouteEntry<PricedRoute>;

/** Inspects one table without the app: keys that never win. */
export function inspectTable({ table }: PricedTable): readonly Finding[] {
  return table.entries.flatMap((entry) => {
    const winner = winnerOver(entry, table);
    if (winner === undefined) return [];
    return [finding("FAREBOX_KEY_SHADOWED", entry.key, `Every request it matches is priced by ${winner}`)];
  });
}

function winnerOver(entry: Entry, table: RouteTable<PricedRoute>): string | undefined {
  const winners = methodsOf(entry).flatMap((method) =>
    entry.forms.map((form) => {
      const [first] = table.find({ method, path: form.sample, mountPath: "" });
      return first !== undefined && coversPath(first.entry.forms, [form]) ? first.entry : entry;
    }),
  );
  return winners.includes(entry) ? undefined : winners[0]?.key;
}

/** The methods that a key covers. QUERY represents the methods that no key can name. */
function methodsOf({ method }: Entry): readonly string[] {
  if (method === undefined) return PRICED_METHODS;
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

/** The methods that a key without a method covers. QUERY represents all methods that no key can name. */
const PRICED_METHODS: readonly string[] = [...METHODS.filter((name) => name !== "OPTIONS"), "QUERY"];

/** Inspects the tables together with the app's routes. */
export function inspectRoutes({ tables, handlers }: PricedRoutes, view: RouterView): readonly Finding[] {
  const gates = new Set([...tables, ...handlers].map(({ gate }) => gate));
  return [...tables.flatMap((priced) => inspectMounted(priced, view)), ...inspectPrices(gates, view)];
}

function inspectMounted({ gate, table }: PricedTable, view: RouterView): readonly Finding[] {
  const mounts = view.mountsOf(gate);
  if (mounts.length === 0) {
    if (view.isCalled?.(gate) === true || (view.mayHideGates && view.isReadable !== false)) return [];
    const [first] = table.entries;
    return view.isReadable === false
      ? [
          finding(
            "FAREBOX_ROUTER_UNREADABLE",
            first?.key,
            "This version of Express cannot be read: only paths are priced",
          ),
        ]
      : [finding("FAREBOX_TABLE_NOT_FOUND", first?.key, "Its table is not among the handlers of the app")];
  }
  const mounted = { gate, view, mounts };
  const start = view.handlers.findIndex(({ handler }) => handler === gate);
  const behind = new Set(view.handlers.slice(start + 1).map(({ handler }) => handler));
  const own = new Map<Entry, object[]>();
  for (const [handler, entry] of bindWhole(table, mounted).pairs) own.set(entry, [...(own.get(entry) ?? []), handler]);
  const met = new Map(table.entries.map((entry) => [entry, own.has(entry) ? [] : receiversOf(entry, mounted)]));
  const priced = new Set([...own.values(), ...[...met.values()].map((some) => some.map((one) => one.handler))].flat());
  const free = view.routes.filter(({ route, gates }) => gates.length === 0 && !priced.has(route));
  return table.entries.flatMap((entry) => {
    const handlers = own.get(entry);
    if (handlers?.some((handler) => behind.has(handler)) === true) return [];
    if (handlers !== undefined) return [finding("FAREBOX_TABLE_TOO_LATE", entry.key, TOO_LATE)];
    const isServed = met.get(entry)?.some((one) => behind.has(one.handler) && mayServe(one)) === true;
    return isServed ? [] : explainUnreachable(entry, free);
  });
}

const TOO_LATE = "Its routes are registered before the table, which asks only at their handlers";

/** Whether a handler is more than middleware for all requests. */
function mayServe({ kind, takesAll, isFiles }: Receiver): boolean {
  return kind === "route" || (kind === "function" && (isFiles || !takesAll));
}

function explainUnreachable(entry: Entry, free: readonly RegisteredRoute[]): readonly Finding[] {
  const near = nearest(entry, free);
  const guess = near?.path === undefined ? "" : `; the nearest is ${near.path}`;
  const unreachable = finding("FAREBOX_KEY_UNREACHABLE", entry.key, `No route that is registered can match it${guess}`);
  if (near?.path === undefined) return [unreachable];
  const route = `${near.methods?.join("|") ?? "any method"} ${near.path}`;
  return [
    unreachable,
    finding("FAREBOX_KEY_NEARLY_MATCHES", route, `The key ${entry.key} nearly matches it, and prices nothing else`),
  ];
}

/** Finds handlers that have two prices, one of them of these gates. */
function inspectPrices(gates: ReadonlySet<object>, view: RouterView): readonly Finding[] {
  return view.prices().flatMap(({ where, prices }) => {
    const asking = new Set(prices.map(({ gate }) => gate));
    if (asking.size < 2 || ![...asking].some((gate) => gates.has(gate))) return [];
    const texts = [...new Set(prices.map(({ text }) => text))];
    const message = `Its prices are ${texts.join(" and ")}; the one that is nearest to the handler counts`;
    return [finding("FAREBOX_PRICED_TWICE", where, message)];
  });
}

/** A path with more typos counts as another word. */
const MAX_TYPOS = 2;

/** The registered route with the nearest path: one or two typos away, or different by its mounts. */
export function nearest(
  entry: Pick<RouteEntry<unknown>, "key" | "method">,
  routes: readonly RegisteredRoute[],
): RegisteredRoute | undefined {
  const path = normalise(pathOf(entry.key));
  const distances = routes.flatMap((route) => {
    const distance = route.path === undefined ? undefined : distanceTo(path, normalise(route.path));
    return distance === undefined ? [] : [{ route, distance }];
  });
  return distances.sort((a, b) => a.distance - b.distance)[0]?.route;
}

/** Removes differences of case, trailing slash and parameter names. */
function normalise(path: string): string {
  const names = fold(path).replace(/[:*]"?[\w$]+"?|\[[\w$]+\]/g, ":");
  return names.endsWith("/") ? names.slice(0, -1) : names;
}

function distanceTo(path: string, other: string): number | undefined {
  if (path === other) return 0;
  if (path !== "" && other.endsWith(path)) return 1;
  if (other !== "" && path.endsWith(other)) return 1;
  const typos = countTypos(path, other, MAX_TYPOS);
  if (typos <= MAX_TYPOS && typos * 3 < path.length) return typos;
  // Every key is compared with every route, and most end in another name.
  if (path.slice(path.lastIndexOf("/")) !== other.slice(other.lastIndexOf("/"))) return undefined;
  return differingLevels(path.split("/"), other.split("/"));
}

/** Levels in which two mounts may differ. */
const MAX_LEVELS = 2;

/** How many levels differ above the same name, as in `/api/weather` and `/api/v1/weather`, ranked behind all typos. */
function differingLevels(path: readonly string[], other: readonly string[]): number | undefined {
  const least = Math.min(path.length, other.length);
  let tail = 0;
  while (tail < least && path.at(-1 - tail) === other.at(-1 - tail)) tail++;
  let head = 0;
  while (head < least - tail && path[head] === other[head]) head++;
  const isNamed = tail > 0 && path.slice(-tail).some((segment) => segment !== "" && segment !== ":");
  const levels = Math.max(path.length, other.length) - tail - head;
  return isNamed && levels <= MAX_LEVELS ? MAX_TYPOS + levels : undefined;
}
