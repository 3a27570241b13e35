/**
 * An app's routes, as the gate asks about them.
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
} from "@farebox/core";
import type { Application } from "express";
import { gateOf } from "./gate-handlers.js";
import { type Layer, type LayerRoute, layersOf, takesAnyMethod } from "./router-layers.js";
import { type Met, type Prefixes, type Sought, walk } from "./router-walk.js";

const EVERYTHING: Sought = { method: undefined, path: undefined };

/** Looks at an app. What is registered later is seen, too. */
export function createRouterView(app: Application): RouterView {
  return {
    get hasOtherApps() {
      return isMountedElsewhere(app) || [...walk(layersOf(app) ?? [], EVERYTHING)].some(isInnerApp);
    },
    mountsOf: (gate) => findMounts(layersOf(app) ?? [], gate),
    receiversOf: (gate, method, path) => receiversIn(app, gate, { method, path }),
    get routes() {
      return [...walk(layersOf(app) ?? [], EVERYTHING)].flatMap((met) =>
        met.kind === "route" ? toRegistered(met) : [],
      );
    },
  };
}

interface SoughtBelow extends Sought {
  /** What comes before the app's own paths. */
  readonly prefixes?: Prefixes | "unknown";
}

/** Who would get a request that passes a gate. An app in an app does not know what comes after itself. */
export function receiversIn(app: Application, gate: object, { prefixes = [""], ...sought }: SoughtBelow): Receivers {
  const layers = layersOf(app);
  if (layers === undefined) return UNKNOWN_RECEIVERS;
  const met = untilFinal(walk(layers, sought, prefixes === "unknown" ? undefined : prefixes), gate, sought.method);
  const at = met.findIndex((one) => isGate(one, gate));
  const isFound = at !== -1;
  const toReceivers = (some: readonly Met[]) =>
    some.flatMap((one) => (one.kind === "route" ? toReceiver(one, gate, sought.method) : []));
  const later = isFound ? met.slice(at) : [];
  const opaque: OpaqueReceiver[] = later.filter((one) => one.kind === "opaque");
  if (isFound && isMountedElsewhere(app)) opaque.push({ handler: app, isMeant: false });
  return { isFound, before: toReceivers(isFound ? met.slice(0, at) : met), after: toReceivers(later), opaque };
}

/** Nobody is met after a route that answers, once the gate has been passed. */
function untilFinal(met: Iterable<Met>, gate: object, method: string | undefined): readonly Met[] {
  const list: Met[] = [];
  let isFound = false;
  for (const one of met) {
    list.push(one);
    isFound ||= isGate(one, gate);
    if (isFound && one.kind === "route" && isFinal(one.route, method)) break;
  }
  return list;
}

function isGate(met: Met, gate: object): boolean {
  return met.kind === "gate" ? met.gate === gate : met.kind === "route" && gatesOf(met.route).includes(gate);
}

function isInnerApp(met: Met): boolean {
  return met.kind === "opaque" && met.handler.name === "mounted_app";
}

function isMountedElsewhere(app: Application): boolean {
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
  return [...walk(layers, EVERYTHING)].flatMap((met) => {
    if (met.kind === "gate" && met.gate === gate) return met.mounts ?? [];
    return met.kind === "route" && gatesOf(met.route).includes(gate) ? (met.mounts ?? []) : [];
  });
}
