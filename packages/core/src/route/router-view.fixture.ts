/**
 * A small router: a list of registered routes and middleware, and a view of it.
 *
 * @module
 */

import { formsOf } from "./route.fixture.js";
import type { OpaqueReceiver, Receiver, Receivers, RegisteredRoute, RouterView } from "./router-view.js";

/** A gate, a route, or other middleware, mounted at a path. */
export type Registered =
  | { readonly gate: object; readonly mount: string }
  | RegisteredRouteOf
  | { readonly opaque: OpaqueReceiver; readonly mount: string };

interface RegisteredRouteOf {
  readonly route: object;
  readonly path: string;
  readonly methods: readonly string[] | undefined;
  readonly gates: readonly object[];
  readonly isFinal: boolean;
}

/** A route that always responds; without a method, to every one. Gates among its handlers price it. */
export function route(words: string, more: Partial<RegisteredRouteOf> = {}): RegisteredRouteOf {
  const [path = "", ...methods] = words.split(" ").reverse();
  return {
    route: {},
    path,
    methods: methods.length === 0 ? undefined : methods[0]?.split("|"),
    gates: [],
    isFinal: true,
    ...more,
  };
}

/** Middleware that is not a route, by default a file server. */
export function opaque(mount: string, isMeant = true, handler: object = {}): Registered {
  return { opaque: { handler, isMeant }, mount };
}

/** A view of the list. Routes of a mounted router have the mount in their paths. */
export function viewOf(registered: readonly Registered[], hasOtherApps = false): RouterView {
  const routes = registered.filter((one) => "route" in one);
  return {
    hasOtherApps,
    mountsOf: (gate) => registered.flatMap((one) => ("gate" in one && one.gate === gate ? [one.mount] : [])),
    receiversOf: (gate, method, path) => receiversOf(registered, { gate, method, path }),
    routes: routes.map(({ route, path, methods, gates }): RegisteredRoute => ({ route, path, methods, gates })),
  };
}

interface Query {
  readonly gate: object;
  readonly method: string | undefined;
  readonly path: string;
}

function receiversOf(registered: readonly Registered[], query: Query): Receivers {
  const met = metBy(registered, query);
  const found = met.findIndex((one) => "gate" in one);
  const routesOf = (some: readonly Registered[]) =>
    some.flatMap((one) => ("route" in one ? [toReceiver(one, query.gate)] : []));
  const [before, after] = found < 0 ? [met, []] : [met.slice(0, found), met.slice(found)];
  return {
    isFound: found >= 0,
    before: routesOf(before),
    after: routesOf(after),
    beyond: [],
    opaque: after.flatMap((one) => ("opaque" in one ? [one.opaque] : [])),
  };
}

/** The items that a request reaches, up to the first route that always responds. Other gates let it pass. */
function metBy(registered: readonly Registered[], query: Query): readonly Registered[] {
  const met = registered.filter((one) => {
    if ("route" in one) return isMet(one, query);
    return isBelow(query.path, one.mount) && (!("gate" in one) || one.gate === query.gate);
  });
  const end = met.findIndex((one) => "route" in one && one.isFinal);
  return end < 0 ? met : met.slice(0, end + 1);
}

/** A mount may have parameters, which match any segment. */
function isBelow(path: string, mount: string): boolean {
  const segments = path.split("/");
  return mount.split("/").every((segment, at) => segment.startsWith(":") || segment === segments[at]);
}

function isMet({ path, methods }: RegisteredRouteOf, query: Query): boolean {
  const { method } = query;
  const isMethod =
    methods === undefined ||
    method === undefined ||
    methods.includes(method) ||
    (method === "HEAD" && methods.includes("GET"));
  return isMethod && formsOf(path).some((form) => form.paramsOf(query.path) !== undefined);
}

function toReceiver({ route, path, methods, gates, isFinal }: RegisteredRouteOf, gate: object): Receiver {
  return {
    route,
    samples: formsOf(path).map(({ sample }) => sample),
    isFinal,
    takesAnyMethod: methods === undefined,
    charges: gates.filter((other) => other !== gate).length,
  };
}
