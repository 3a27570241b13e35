/**
 * An app's routes as the engine sees them.
 *
 * @module
 */
import type { HandlerPrices, Receiver, RegisteredRoute, RouteGate, RouterView } from "@farebox/core/adapter";
import type { Application } from "express";
import {
  gateOf,
  hidesGates,
  isReadable,
  isTable,
  type Layer,
  type LayerRoute,
  layersOf,
  type Met,
  namesMethod,
  type Prefixes,
  rootOf,
  type Sought,
  tablesAt,
  takesAnyMethod,
  type WalkedGate,
  walk,
} from "./router-walk.js";

const TOP: Prefixes = [""];
const EVERYTHING: Sought = { method: undefined, path: undefined };
/** A path that no app has a route for. */
const NOWHERE: Sought = { method: undefined, path: "/~0/~1/~2/~3/~4/~5" };

/** Creates the view of an app. It is of no use when routes were added since. */
export function createRouterView(app: Application): RouterView {
  const isAppReadable = isReadable(app);
  const layers = (isAppReadable && layersOf(app)) || [];
  const all = [...walk(layers, EVERYTHING, TOP)];
  let everywhere: ReadonlySet<Layer> | undefined;
  let handlers: readonly Receiver[] | undefined;
  const toReceivers = (met: Iterable<Met>) => {
    everywhere ??= new Set([...walk(layers, NOWHERE, TOP)].flatMap((one) => ("layer" in one ? [one.layer] : [])));
    let isCharged = false;
    return [...met].flatMap((one) => {
      isCharged ||= one.kind === "gate" && !isTable(one.gate);
      return listReceivers(one, { everywhere: everywhere ?? new Set(), isCharged });
    });
  };
  return {
    mountsOf: (gate) =>
      all.flatMap((met) =>
        gatesIn(met).includes(gate)
          ? ((met.kind === "gate" || met.kind === "route" ? met.mounts : undefined) ?? [])
          : [],
      ),
    get handlers() {
      handlers ??= toReceivers(all);
      return handlers;
    },
    receiversOf: (method, path) => toReceivers(walk(layers, { method, path }, TOP)),
    routes: all.flatMap((met) => (met.kind === "route" ? toRegistered(met) : [])),
    prices: () => pricesOf(all),
    isReadable: isAppReadable,
    mayHideGates: isInnerApp(app) || hidesGates(app),
  };
}

/** Whether a request for a path, mounts included, would have to pay. If that is not known, it would not. */
export function isPricedIn(app: Application, method: string, path: string): boolean {
  try {
    return meetsPrice(rootOf(app), method, path);
  } catch {
    return false;
  }
}

function meetsPrice(app: Application, method: string, path: string): boolean {
  const query = { method, fullPath: path };
  for (const met of walk(layersOf(app) ?? [], { method, path }, TOP)) {
    if (met.kind === "gate") {
      if (met.gate.prices({ ...query, mounts: met.mounts ?? [] })) return true;
      continue;
    }
    for (const [table, mounts] of tablesAt(met.layer)) {
      if (table.prices({ ...query, mounts }, met.layer)) return true;
    }
    if (met.kind !== "route") continue;
    // The gate of a route has no table to look into.
    const nowhere = { ...query, mounts: [] };
    if (gatesOf(met.route, method.toLowerCase()).some((gate) => gate.prices(nowhere))) return true;
    if (namesMethod(met.route, method)) return false;
  }
  return false;
}

/** A gate is a middleware, or a handler of a route. */
function gatesIn(met: Met): readonly object[] {
  if (met.kind === "gate") return [met.gate];
  return met.kind === "route" ? gatesOf(met.route) : [];
}

/** Whether an app is mounted in another. */
function isInnerApp(app: Application): boolean {
  return (app as { readonly parent?: unknown }).parent !== undefined;
}

const NAMES_NONE = () => false;

/** What a walk has seen. */
interface Walked {
  readonly everywhere: ReadonlySet<Layer>;
  /** Whether a charge is mounted above. */
  readonly isCharged: boolean;
}

function listReceivers(met: Met, { everywhere, isCharged }: Walked): readonly Receiver[] {
  const more = { takesAll: false, isFiles: false, names: NAMES_NONE };
  const paths = met.kind === "gate" ? met.mounts : met.paths;
  const gates = gatesIn(met).map((handler): Receiver => ({ ...more, handler, kind: "gate", paths }));
  if (met.kind === "gate") return gates;
  const { layer: handler, kind } = met;
  if (kind === "function") {
    return [{ ...more, handler, kind, paths, takesAll: !met.isMounted, isFiles: handler.name === "serveStatic" }];
  }
  const names = (method: string) =>
    !isCharged &&
    ![...tablesAt(met.layer)].some(([table]) => hasPrices(table, met.layer)) &&
    [method, method === "HEAD" ? "GET" : method].some((one) => namesMethod(met.route, one)) &&
    chargesOf(met.route, method).length === 0;
  return [...gates, { ...more, handler, kind, paths, takesAll: everywhere.has(handler), names }];
}

type MetRoute = Extract<Met, { kind: "route" }>;

function toRegistered({ layer, route, paths, ownPaths }: MetRoute): readonly RegisteredRoute[] {
  const known = paths?.map((path) => (path === "" ? "/" : path)) ?? [undefined];
  const [ownPath] = ownPaths ?? [];
  return methodsByGates(route).flatMap((priced) => known.map((path) => ({ route: layer, path, ownPath, ...priced })));
}

/** A route's methods, together where the same gates price them: `app.route("/a").get(…).post(…)` may have two prices. */
function methodsByGates(route: LayerRoute): readonly Pick<RegisteredRoute, "methods" | "gates" | "isCharged">[] {
  const isCharged = (gates: readonly WalkedGate[]) => !gates.every(isTable);
  const all = gatesOf(route);
  if (takesAnyMethod(route)) return [{ methods: undefined, gates: all, isCharged: isCharged(all) }];
  const found: { readonly methods: string[]; readonly gates: readonly object[]; readonly isCharged: boolean }[] = [];
  for (const name of Object.keys(route.methods).filter((one) => one !== "_all")) {
    const gates = gatesOf(route, name);
    const same = found.find(
      (one) => one.gates.length === gates.length && gates.every((gate) => one.gates.includes(gate)),
    );
    if (same === undefined) found.push({ methods: [name.toUpperCase()], gates, isCharged: isCharged(gates) });
    else same.methods.push(name.toUpperCase());
  }
  return found;
}

/** Whether keys price a handler, whatever the path is. */
export function hasPrices(gate: WalkedGate, layer: Layer): boolean {
  return isTable(gate) && gate.pricesAt(layer).length > 0;
}

/** The gates among a route's handlers, each once: `app.all` registers a handler once for each method. */
function gatesOf({ stack, methods }: LayerRoute, name?: string): readonly WalkedGate[] {
  const served = name === "head" && methods["head"] !== true ? "get" : name;
  const layers = stack.filter(({ method }) => served === undefined || method === undefined || method === served);
  return [...new Set(layers.flatMap(({ handle }) => gateOf(handle) ?? []))];
}

/** The charges among a route's handlers for a method: a table in a route has keys of its own. */
export function chargesOf(route: LayerRoute, method: string): readonly RouteGate[] {
  return gatesOf(route, method.toLowerCase()).flatMap((gate) => (isTable(gate) ? [] : [gate]));
}

/** The prices that can reach each handler: its own, and those of charges that are mounted above it. */
function pricesOf(all: readonly Met[]): readonly HandlerPrices[] {
  const charges: { readonly gate: WalkedGate; readonly mounts: Prefixes }[] = [];
  return all.flatMap((met): readonly HandlerPrices[] => {
    if (met.kind === "gate") {
      if (!isTable(met.gate)) charges.push(met);
      return [];
    }
    const above = charges.filter(({ mounts = [] }) =>
      mounts.some((mount) => met.paths?.some((path) => `${path}/`.startsWith(`${mount}/`))),
    );
    const tables = [...tablesAt(met.layer).keys()];
    const places = met.kind === "route" ? toRegistered(met) : [{ path: met.paths?.[0], methods: undefined, gates: [] }];
    return places.map(({ path = "a route", methods, gates }) => ({
      where: `${methods?.join("|") ?? "any method"} ${path}`,
      prices: [...above.map(({ gate }) => gate), ...tables, ...(gates as readonly WalkedGate[])].flatMap((gate) =>
        gate.pricesAt(met.layer, methods).map((price) => ({ ...price, gate })),
      ),
    }));
  });
}
