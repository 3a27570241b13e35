/**
 * An app's routes as the engine sees them.
 *
 * @module
 */
import {
  type OpaqueReceiver,
  type Receiver,
  type Receivers,
  type RegisteredRoute,
  type RouterView,
  samplesOf,
  UNKNOWN_RECEIVERS,
} from "@farebox/core/adapter";
import type { Application } from "express";
import {
  gateOf,
  guardsOf,
  isReadable,
  type LayerRoute,
  layersOf,
  type Met,
  type Prefixes,
  type Sought,
  takesAnyMethod,
  type WalkedGate,
  walk,
} from "./router-walk.js";

const TOP: Prefixes = [""];
const EVERYTHING: Sought = { method: undefined, path: undefined };

/** Creates the view of an app. Routes that are registered later are seen, too. */
export function createRouterView(app: Application): RouterView {
  const walkAll = () => [...walk(layersOf(app) ?? [], EVERYTHING, TOP)];
  return {
    mountsOf: (gate) => walkAll().flatMap((met) => mountsIn(met, gate)),
    receiversOf: (gate, method, path) => receiversIn(app, gate, { method, path }),
    get routes() {
      return walkAll().flatMap((met) => (met.kind === "route" ? toRegistered(met) : []));
    },
    get isReadable() {
      return isReadable(app);
    },
    get hasOtherApps() {
      return isInnerApp(app) || walkAll().some(isMountedApp);
    },
  };
}

/** The receivers of a request that passes a gate, in the order of the routers. */
function receiversIn(app: Application, gate: object, sought: Sought): Receivers {
  const layers = layersOf(app);
  if (layers === undefined) return UNKNOWN_RECEIVERS;
  const met = [...walk(layers, sought, TOP)];
  const start = met.findIndex((one) => isGate(one, gate));
  const isFound = start !== -1;
  const later = met.slice(Math.max(start, 0));
  const final = later.findIndex((one) => one.kind === "route" && isFinal(one.route, sought.method));
  const reached = final === -1 ? later : later.slice(0, final + 1);
  const opaque: OpaqueReceiver[] = reached.flatMap((one) =>
    one.kind === "opaque" ? [{ handler: one.layer, isMeant: one.isMeant, isAtTop: one.isAtTop }] : [],
  );
  // Behind an inner app, the routers of the outer one go on.
  if (isFound && final === -1 && isInnerApp(app)) opaque.push({ handler: app, isMeant: false });
  const routesOf = (some: readonly Met[]) =>
    some.flatMap((one) => (one.kind === "route" ? toReceiver(one, gate, sought.method) : []));
  return {
    isFound,
    before: routesOf(met.slice(0, Math.max(start, 0))),
    after: routesOf(reached),
    beyond: routesOf(later.slice(reached.length)),
    opaque,
  };
}

/**
 * Whether a request for a path, mounts included, would have to pay: in an app, or in those that it is mounted in. If that is
 * not known, it would not.
 */
export function isPricedIn(app: Application, method: string, path: string): boolean {
  try {
    const mount = app.path();
    if (`${path}/`.startsWith(`${mount}/`) && meetsPrice(app, method, path.slice(mount.length) || "/")) return true;
    const { parent } = app as { readonly parent?: Application };
    return parent !== undefined && isPricedIn(parent, method, path);
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

function toReceiver({ layer, route, paths }: MetRoute, gate: object, method: string | undefined): Receiver {
  const samples = paths?.map((path) => samplesOf(path === "" ? "/" : path));
  return {
    route: layer,
    samples: samples?.every((some) => some !== undefined) === true ? samples.flat() : undefined,
    isFinal: isFinal(route, method),
    takesAnyMethod: takesAnyMethod(route),
    charges: gatesOf(route).filter((other) => other !== gate).length,
  };
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
