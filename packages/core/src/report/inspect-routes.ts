/**
 * Compares a seller's route tables with each other and with the routes that the app registered.
 *
 * @module
 */

import { type Finding, finding } from "../events/findings.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import { bindWhole, pathsBelow } from "../route/bind-keys.js";
import { fold } from "../route/path-form.js";
import { METHODS } from "../route/route-key.js";
import { coversPath, type RouteEntry, type RouteTable, sharesMethod } from "../route/route-table.js";
import type { Receiver, RegisteredRoute, RouterView } from "../route/router-view.js";
import { countTypos } from "../typos.js";
import { type PricedTable, pathOf } from "./places.js";

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
export function inspectRoutes(tables: readonly PricedTable[], view: RouterView): readonly Finding[] {
  const looks = tables.map((priced) => ({ priced, probes: probesOf(priced, view) }));
  return [
    ...looks.flatMap(({ priced, probes }) => inspectMounted(priced, probes, view)),
    ...inspectPrices(looks, view),
  ];
}

/** The app's handlers for one path of one key. */
interface Probe {
  readonly entry: Entry;
  readonly path: string;
  readonly receivers: readonly Receiver[];
}

function probesOf({ gate, table }: PricedTable, view: RouterView): readonly Probe[] {
  const mounts = view.mountsOf(gate);
  return table.entries.flatMap((entry) =>
    pathsBelow(entry, mounts).map((path) => ({ entry, path, receivers: view.receiversOf(gate, entry.method, path) })),
  );
}

function inspectMounted(priced: PricedTable, probes: readonly Probe[], view: RouterView): readonly Finding[] {
  const { gate, table } = priced;
  if (view.mountsOf(gate).length === 0) {
    if (view.isCalled?.(gate) === true) return [];
    const [first] = table.entries;
    return view.hasOtherApps && view.isReadable !== false
      ? []
      : [
          finding(
            "FAREBOX_TABLE_NOT_FOUND",
            first?.key,
            view.isReadable === false
              ? "The routers of this version of Express cannot be read, so only paths in front of the routes are priced"
              : "Its table is not among the handlers of the app, so its routes cannot be checked",
          ),
        ];
  }
  const byEntry = new Map<Entry, Probe[]>();
  for (const probe of probes) byEntry.set(probe.entry, [...(byEntry.get(probe.entry) ?? []), probe]);
  const { pairs } = bindWhole(table, { gate, view, mounts: view.mountsOf(gate) });
  const bound = new Set(pairs.map(([, entry]) => entry));
  const free = unpriced(view.routes, probes);
  return table.entries.flatMap((entry) => {
    const probed = byEntry.get(entry) ?? [];
    // A free key needs no handler of its own.
    const isServed = bound.has(entry) || probed.some((probe) => isServedAt(probe, entry.value.isFree));
    return inspectReach(entry, { probes: probed, isServed, free });
  });
}

interface Reach {
  readonly probes: readonly Probe[];
  readonly isServed: boolean;
  readonly free: readonly RegisteredRoute[];
}

function inspectReach(entry: Entry, { probes, isServed, free }: Reach): readonly Finding[] {
  const isLate = probes.some(({ receivers }) =>
    receivers.some(({ kind, isBefore, isFinal }) => kind === "route" && isBefore && isFinal),
  );
  if (isLate) {
    return [
      finding(
        "FAREBOX_TABLE_TOO_LATE",
        entry.key,
        "A route that it matches is registered before the table, which does not see its requests",
      ),
    ];
  }
  if (isServed) return [];
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

/** Whether a handler behind the table gets the requests of a probe. For a price, one that is for everything does. */
function isServedAt({ receivers }: Probe, isAny: boolean): boolean {
  const handlers = receivers.filter(({ kind, isBefore }) => !isBefore && kind !== "function" && kind !== "charge");
  return handlers.some(({ takesAll }) => isAny || takesAll);
}

/** Routes that neither a key nor their own handlers price. */
function unpriced(routes: readonly RegisteredRoute[], probes: readonly Probe[]): readonly RegisteredRoute[] {
  const met = new Set(
    probes.flatMap(({ receivers }) => receivers.flatMap(({ handler, isBefore }) => (isBefore ? [] : [handler]))),
  );
  return routes.filter(({ route, gates }) => gates.length === 0 && !met.has(route));
}

interface Look {
  readonly priced: PricedTable;
  readonly probes: readonly Probe[];
}

/** Finds requests that are priced twice. */
function inspectPrices(looks: readonly Look[], view: RouterView): readonly Finding[] {
  const found: Finding[] = [];
  for (const { priced, probes } of looks) {
    // A table that stands in a route is a price of its own there.
    const isOther = (gate: object) => gate !== priced.gate;
    const charging = new Set(view.routes.flatMap(({ route, gates }) => (gates.some(isOther) ? [route] : [])));
    for (const probe of probes) {
      if (isCharged(probe, charging) || isPricedElsewhere(probe, priced, looks)) {
        found.push(
          finding(
            "FAREBOX_PRICED_TWICE",
            probe.entry.key,
            "Another table or handler also prices its requests; they are charged once",
          ),
        );
      }
    }
  }
  const charged = view.routes.filter(({ gates }) => gates.length > 1);
  for (const { path = "a route", methods } of charged) {
    const route = `${methods?.join("|") ?? "any method"} ${path}`;
    found.push(finding("FAREBOX_PRICED_TWICE", route, "Two of its handlers charge; a request pays the first"));
  }
  return found;
}

function isCharged({ receivers }: Probe, charging: ReadonlySet<object>): boolean {
  return receivers.some(({ handler, isBefore }) => !isBefore && charging.has(handler));
}

function isPricedElsewhere({ entry, path }: Probe, own: PricedTable, looks: readonly Look[]): boolean {
  return looks.some(
    ({ priced, probes }) =>
      priced !== own &&
      probes.some((other) => other.path === path && sharesMethod(other.entry, entry) && isServedAt(other, true)),
  );
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
