/**
 * An app's routes as the engine sees them.
 *
 * @module
 */
import type { Receiver, RegisteredRoute, RouterView } from "@farebox/core/adapter";
import type { Application } from "express";
import {
  gateOf,
  guardsOf,
  isReadable,
  type Layer,
  type LayerRoute,
  layersOf,
  type Met,
  type Prefixes,
  rootOf,
  type Sought,
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
  return {
    mountsOf: (gate) => all.flatMap((met) => mountsIn(met, gate)),
    receiversOf(from, method, path) {
      everywhere ??= new Set([...walk(layers, NOWHERE, TOP)].flatMap((met) => ("layer" in met ? [met.layer] : [])));
      const met = path === undefined ? all : [...walk(layers, { method, path }, TOP)];
      const start = met.findIndex((one) => isFrom(one, from));
      const receivers: Receiver[] = [];
      for (const [at, one] of met.entries()) {
        const isBefore = at < start;
        const charges = toCharges(one, isBefore);
        if (one.kind === "gate") {
          receivers.push(...charges);
          continue;
        }
        const receiver = toReceiver(one, method, { isBefore, takesAll: everywhere.has(one.layer) });
        receivers.push(receiver, ...charges);
        const isLast = receiver.isFinal && at > start && (one.kind !== "route" || takesAll(one.route, method));
        if (isLast && path !== undefined) break;
      }
      return receivers;
    },
    routes: all.flatMap((met) => (met.kind === "route" ? toRegistered(met) : [])),
    isReadable: isAppReadable,
    hasOtherApps: isInnerApp(app) || all.some(isMountedApp),
  };
}

function isFrom(met: Met, from: object): boolean {
  return isGate(met, from) || ("layer" in met && met.layer === from);
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
    const guards = [...guardsOf(met.layer)];
    if (guards.some(([table, { mounts }]) => table.prices({ ...query, mounts }, met.layer))) return true;
    if (met.kind !== "route") continue;
    // The gate of a route has no table to look into.
    const nowhere = { ...query, mounts: [] };
    if (gatesOf(met.route, method.toLowerCase()).some((gate) => gate.prices(nowhere))) return true;
    if (isFinal(met.route, method)) return false;
  }
  return false;
}

/** A gate is a middleware, or a handler of a route. */
function isGate(met: Met, gate: object): boolean {
  if (met.kind !== "gate" && met.kind !== "route") return false;
  return met.kind === "gate" ? met.gate === gate : gatesOf(met.route).some((one) => one === gate);
}

function mountsIn(met: Met, gate: object): readonly string[] {
  if (!isGate(met, gate) || !("mounts" in met)) return [];
  return met.mounts ?? [];
}

function isMountedApp(met: Met): boolean {
  return met.kind === "opaque" && met.name === "mounted_app";
}

/** Whether an app is mounted in another. */
function isInnerApp(app: Application): boolean {
  return (app as { readonly parent?: unknown }).parent !== undefined;
}

type MetRoute = Extract<Met, { kind: "route" }>;

function toReceiver(
  met: Exclude<Met, { kind: "gate" }>,
  method: string | undefined,
  seen: Pick<Receiver, "isBefore" | "takesAll">,
): Receiver {
  const { layer: handler, paths } = met;
  if (met.kind === "route") return { ...seen, handler, kind: "route", isFinal: isFinal(met.route, method), paths };
  return { ...seen, handler, kind: met.sort, isFinal: met.isFinal, paths };
}

/** The gates with a price of their own. A table has many. */
function toCharges(met: Met, isBefore: boolean): readonly Receiver[] {
  if (met.kind === "opaque") return [];
  const gates = met.kind === "route" ? gatesOf(met.route) : "bind" in met.gate ? [] : [met.gate];
  const paths = met.kind === "route" ? met.paths : met.mounts;
  return gates.map((handler) => ({ handler, kind: "charge", isBefore, isFinal: false, takesAll: false, paths }));
}

/** Whether a route takes all requests of a method, or of any. */
function takesAll(route: LayerRoute, method: string | undefined): boolean {
  return method !== undefined || takesAnyMethod(route);
}

function toRegistered({ layer, route, paths, ownPaths }: MetRoute): readonly RegisteredRoute[] {
  const known = paths?.map((path) => (path === "" ? "/" : path)) ?? [undefined];
  const [ownPath] = ownPaths ?? [];
  return methodsByGates(route).flatMap((priced) => known.map((path) => ({ route: layer, path, ownPath, ...priced })));
}

/** A route's methods, together where the same gates price them: `app.route("/a").get(…).post(…)` may have two prices. */
function methodsByGates(route: LayerRoute): readonly Pick<RegisteredRoute, "methods" | "gates">[] {
  if (takesAnyMethod(route)) return [{ methods: undefined, gates: gatesOf(route) }];
  const found: { readonly methods: string[]; readonly gates: readonly object[] }[] = [];
  for (const name of Object.keys(route.methods).filter((one) => one !== "_all")) {
    const gates = gatesOf(route, name);
    const same = found.find(
      (one) => one.gates.length === gates.length && gates.every((gate) => one.gates.includes(gate)),
    );
    if (same === undefined) found.push({ methods: [name.toUpperCase()], gates });
    else same.methods.push(name.toUpperCase());
  }
  return found;
}

/** The gates among a route's handlers, each once: `app.all` registers a handler once for each method. */
function gatesOf({ stack }: LayerRoute, name?: string): readonly WalkedGate[] {
  const layers = stack.filter(({ method }) => name === undefined || method === undefined || method === name);
  return [...new Set(layers.flatMap(({ handle }) => gateOf(handle) ?? []))];
}

/** Whether a route responds to every request it gets: its first handler takes no `next`. */
function isFinal({ stack }: LayerRoute, method: string | undefined): boolean {
  const wanted = method?.toLowerCase();
  const first = stack.find((one) => one.method === undefined || wanted === undefined || isSame(one.method, wanted));
  return first?.handle.length === 2;
}

function isSame(method: string, wanted: string): boolean {
  return method === wanted || (wanted === "head" && method === "get");
}
