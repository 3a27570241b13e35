/**
 * An app's routes, as the gate asks about them.
 *
 * @module
 */
import {
  ConfigError,
  type OpaqueReceiver,
  type PaymentsEngine,
  type PaymentsReport,
  type Receiver,
  type Receivers,
  type RegisteredRoute,
  type RouterView,
  samplesOf,
  UNKNOWN_RECEIVERS,
} from "@farebox/core";
import type { Application } from "express";
import {
  gateOf,
  type Layer,
  type LayerRoute,
  layersOf,
  type Met,
  type Prefixes,
  type Sought,
  takesAnyMethod,
  walk,
} from "./router-walk.js";

const TOP: Prefixes = [""];
const EVERYTHING: Sought = { method: undefined, url: undefined, pathOf: (url) => url };

/** Looks at an app. What is registered later is seen, too. */
export function createRouterView(app: Application): RouterView {
  return {
    get hasOtherApps() {
      return isInnerApp(app) || [...walk(layersOf(app) ?? [], EVERYTHING, TOP)].some(isAppWithin);
    },
    mountsOf: (gate) => findMounts(layersOf(app) ?? [], gate),
    receiversOf: (gate, method, path) => receiversIn(app, gate, { method, url: path, pathOf: (url) => url }),
    get routes() {
      return [...walk(layersOf(app) ?? [], EVERYTHING, TOP)].flatMap((met) =>
        met.kind === "route" ? toRegistered(met) : [],
      );
    },
  };
}

interface SoughtBelow extends Sought {
  /** What comes before the app's own paths. */
  readonly prefixes?: Prefixes | "unknown";
  /** How many segments of the path are taken where the gate is asked; default: wherever it is. */
  readonly gateDepth?: number;
}

/** Who would get a request that passes a gate. An app in an app does not know what comes after itself. */
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
  for (const one of met) if (one.kind === "turn") opaque.push({ handler: one.handler, isMeant: false });
  if (isFound && final === -1 && (prefixes === "unknown" || isInnerApp(app)))
    opaque.push({ handler: app, isMeant: false });
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

function isGate(met: Met, gate: object, depth: number | undefined): boolean {
  if (met.kind !== "gate" && met.kind !== "route") return false;
  const isSame = met.kind === "gate" ? met.gate === gate : gatesOf(met.route).includes(gate);
  return isSame && (depth === undefined || met.depth === depth);
}

function isAppWithin(met: Met): boolean {
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

/** Whether the first handler cannot pass a request on, having no `next`. */
function isFinal({ stack }: LayerRoute, method: string | undefined): boolean {
  const wanted = method?.toLowerCase();
  const first = stack.find((one) => one.method === undefined || wanted === undefined || isSame(one.method, wanted));
  return first?.handle.length === 2;
}

function isSame(method: string, wanted: string): boolean {
  return method === wanted || (wanted === "head" && method === "get");
}

function gatesOf({ stack }: LayerRoute): readonly object[] {
  return stack.flatMap(({ handle }) => gateOf(handle) ?? []);
}

function toRegistered({ route, paths }: MetRoute): readonly RegisteredRoute[] {
  const names = Object.keys(route.methods).filter((name) => name !== "_all");
  const methods = takesAnyMethod(route) ? undefined : names.map((name) => name.toUpperCase());
  const gates = gatesOf(route);
  if (paths === undefined) return [{ route, path: undefined, methods, gates }];
  return paths.map((path) => ({ route, path: path === "" ? "/" : path, methods, gates }));
}

/** Where a gate is, among the middleware or among the handlers of a route. */
function findMounts(layers: readonly Layer[], gate: object): readonly string[] {
  return [...walk(layers, EVERYTHING, TOP)].flatMap((met) => {
    if (met.kind === "gate" && met.gate === gate) return met.mounts ?? [];
    return met.kind === "route" && gatesOf(met.route).includes(gate) ? (met.mounts ?? []) : [];
  });
}

/** Looks at the apps that the prices turn out to be in. */
export interface Inspection {
  /** Default: the app that was looked at last. */
  report(app?: Application): PaymentsReport;
  /** @throws ConfigError with every finding, if the seller asked for that. */
  check(app: Application): PaymentsReport;
  /** The same for the gates of one app, once, when its first request comes before anybody has checked it. */
  checkOnce(app: Application, gate: object): void;
}

/** Prepares to look at apps. */
export function createInspection(engine: PaymentsEngine): Inspection {
  const checked = new WeakMap<Application, { readonly error: unknown } | undefined>();
  let latest: Application | undefined;

  function remember(app: Application, check: () => PaymentsReport): PaymentsReport {
    latest = app;
    try {
      const report = check();
      checked.set(app, undefined);
      return report;
    } catch (error) {
      // A router that cannot be looked at is no reason to serve nothing.
      checked.set(app, error instanceof ConfigError ? { error } : undefined);
      throw error;
    }
  }

  return {
    report: (app = latest) => (app === undefined ? engine.report() : engine.report(createRouterView(app))),
    check: (app) => remember(app, () => engine.check(createRouterView(app))),
    checkOnce(app, gate) {
      if (!checked.has(app)) {
        const view = createRouterView(app);
        attempt(() => remember(app, () => engine.check(view, (one) => one === gate || view.mountsOf(one).length > 0)));
      }
      const failure = checked.get(app);
      if (failure !== undefined) throw failure.error;
    },
  };
}

/** What went wrong is known by then, if it is to be thrown. */
function attempt(check: () => unknown): void {
  try {
    check();
  } catch {
    // Thrown with every request, if the seller asked for that.
  }
}
