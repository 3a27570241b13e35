/**
 * An app's routes as the gate sees them, and their inspection before the first request.
 *
 * @module
 */
import { ConfigError, type PaymentsEngine, type PaymentsReport } from "@farebox/core";
import {
  type OpaqueReceiver,
  type Receiver,
  type Receivers,
  type RegisteredRoute,
  type RoutedRequest,
  type RouterView,
  samplesOf,
  UNKNOWN_RECEIVERS,
} from "@farebox/core/adapter";
import type { Application } from "express";
import {
  gateOf,
  hasOldRouter,
  type LayerRoute,
  layersOf,
  type Met,
  type Prefixes,
  type Sought,
  takesAnyMethod,
  type WalkedGate,
  walk,
  withoutSegments,
} from "./router-walk.js";

const TOP: Prefixes = [""];
const EVERYTHING: Sought = { method: undefined, url: undefined, pathOf: (url) => url };

/** Creates the view of an app. Routes that are registered later are seen, too. */
export function createRouterView(app: Application): RouterView {
  const walkAll = () => [...walk(layersOf(app) ?? [], EVERYTHING, TOP)];
  return {
    mountsOf: (gate) => walkAll().flatMap((met) => mountsIn(met, gate)),
    receiversOf: (gate, method, path) => receiversIn(app, gate, { method, url: path, pathOf: (url) => url }),
    get routes() {
      return walkAll().flatMap((met) => (met.kind === "route" ? toRegistered(met) : []));
    },
    get hasOtherApps() {
      return isInnerApp(app) || walkAll().some(isMountedApp);
    },
  };
}

interface SoughtBelow extends Sought {
  /** The mounts of the app itself. An inner app does not know them. Default: none. */
  readonly prefixes?: Prefixes | "unknown";
  /** How many segments of the path are taken where the gate is asked. Default: any number. */
  readonly gateDepth?: number;
}

/** The receivers of a request that passes a gate, in the order of the routers. */
export function receiversIn(
  app: Application,
  gate: object,
  { prefixes = TOP, gateDepth, ...sought }: SoughtBelow,
): Receivers {
  const layers = layersOf(app);
  if (layers === undefined) return UNKNOWN_RECEIVERS;
  const met = [...walk(layers, sought, prefixes === "unknown" ? undefined : prefixes)];
  const start = met.findIndex((one) => isGate(one, gate, gateDepth));
  const isFound = start !== -1;
  const later = isFound ? met.slice(start) : [];
  const final = later.findIndex((one) => one.kind === "route" && isFinal(one.route, sought.method));
  const reached = final === -1 ? later : later.slice(0, final + 1);

  const opaque: OpaqueReceiver[] = reached.filter((one) => one.kind === "opaque");
  // Nothing behind a route that responds is reached.
  const walked = final === -1 ? met : met.slice(0, start + final);
  for (const one of walked) if (one.kind === "turn") opaque.push({ handler: one.handler, isMeant: false });
  // Behind an inner app, the routers of the outer one go on.
  const goesOn = isFound && final === -1 && (prefixes === "unknown" || isInnerApp(app));
  if (goesOn) opaque.push({ handler: app, isMeant: false });

  const routesOf = (some: readonly Met[]) =>
    some.flatMap((one) => (one.kind === "route" ? toReceiver(one, gate, sought.method) : []));
  return {
    isFound,
    before: routesOf(isFound ? met.slice(0, start) : met),
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
  for (const met of walk(layersOf(app) ?? [], { method, url: path, pathOf: (url) => url }, TOP)) {
    if (met.kind === "gate" && met.gate.prices(toRouted(app, met, { method, path }))) return true;
    if (met.kind !== "route") continue;
    // The gate of a route has no table to look into.
    const request = { method, path, mountPath: "" };
    if (gatesOf(met.route, method.toLowerCase()).some((gate) => gate.prices(request))) return true;
    if (isFinal(met.route, method)) return false;
  }
  return false;
}

/** A request as a gate would get it. */
function toRouted(
  app: Application,
  { gate, depth }: Extract<Met, { kind: "gate" }>,
  { method, path: fullPath }: { readonly method: string; readonly path: string },
): RoutedRequest {
  const below = withoutSegments(fullPath, depth);
  const mountPath = below === "/" ? fullPath.replace(/\/$/, "") : fullPath.slice(0, -below.length);
  return {
    ...{ method, fullPath, mountPath, path: below },
    hasOldRouter: hasOldRouter(app),
    receiversOf: (url = fullPath, anyMethod = false) =>
      receiversIn(app, gate, { method: anyMethod ? undefined : method, url, pathOf: (one) => one }),
  };
}

/** A gate is a middleware, or a handler of a route. */
function isGate(met: Met, gate: object, depth: number | undefined): boolean {
  if (met.kind !== "gate" && met.kind !== "route") return false;
  const isSame = met.kind === "gate" ? met.gate === gate : gatesOf(met.route).some((one) => one === gate);
  return isSame && (depth === undefined || met.depth === depth);
}

function mountsIn(met: Met, gate: object): readonly string[] {
  if (!isGate(met, gate, undefined) || !("mounts" in met)) return [];
  return met.mounts ?? [];
}

function isMountedApp(met: Met): boolean {
  return met.kind === "opaque" && met.handler.name === "mounted_app";
}

/** Whether an app is mounted in another. */
export function isInnerApp(app: Application): boolean {
  return (app as { readonly parent?: unknown }).parent !== undefined;
}

type MetRoute = Extract<Met, { kind: "route" }>;

function toReceiver({ route, paths }: MetRoute, gate: object, method: string | undefined): Receiver {
  const samples = paths?.map((path) => samplesOf(path === "" ? "/" : path));
  return {
    route,
    samples: samples?.every((some) => some !== undefined) === true ? samples.flat() : undefined,
    isFinal: isFinal(route, method),
    takesAnyMethod: takesAnyMethod(route),
    charges: gatesOf(route).filter((other) => other !== gate).length,
  };
}

function toRegistered({ route, paths }: MetRoute): readonly RegisteredRoute[] {
  const known = paths?.map((path) => (path === "" ? "/" : path)) ?? [undefined];
  return methodsByGates(route).flatMap((priced) => known.map((path) => ({ route, path, ...priced })));
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

/** Compares a seller's prices with the routes of the apps they stand in. */
export interface Inspection {
  /** Default: the app that was inspected last. */
  report(app?: Application): PaymentsReport;
  /** @throws ConfigError with every finding, if `strict` is set. */
  check(app: Application): PaymentsReport;
  /**
   * Checks the gates of an app at its first request, unless `check` has been called for it.
   *
   * @throws ConfigError at every request, if `strict` is set and there are findings.
   */
  checkOnce(app: Application, gate: object): void;
}

/** Creates the inspection for one seller. */
export function createInspection(engine: PaymentsEngine): Inspection {
  /** The apps that were checked, with the error of a strict check. */
  const checked = new WeakMap<Application, ConfigError | undefined>();
  let latest: Application | undefined;

  function check(app: Application, hasGate?: (gate: object) => boolean): PaymentsReport {
    latest = app;
    checked.set(app, undefined);
    try {
      return engine.check(createRouterView(app), hasGate);
    } catch (error) {
      // Any other error says that the routers could not be read. Requests are served all the same.
      if (error instanceof ConfigError) checked.set(app, error);
      throw error;
    }
  }

  return {
    report: (app = latest) => (app === undefined ? engine.report() : engine.report(createRouterView(app))),
    check: (app) => check(app),
    checkOnce(app, gate) {
      if (!checked.has(app)) {
        const view = createRouterView(app);
        try {
          check(app, (one) => one === gate || view.mountsOf(one).length > 0);
        } catch {
          // A ConfigError is remembered, and thrown below.
        }
      }
      const error = checked.get(app);
      if (error !== undefined) throw error;
    },
  };
}
