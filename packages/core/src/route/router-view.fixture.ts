/**
 * A small router: a list of registered routes and middleware, and a view of it.
 *
 * @module
 */

import type { PathForm } from "./path-form.js";
import { formsOf as compile } from "./route.fixture.js";
import type { Receiver, RegisteredRoute, RouterView } from "./router-view.js";

/** A gate, a route, or other middleware, mounted at a path. */
export type Registered =
  | { readonly gate: object; readonly mount: string }
  | RegisteredRouteOf
  | { readonly opaque: object; readonly kind: Receiver["kind"]; readonly mount: string };

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

/** Middleware that is not a route: a proxy, if it is mounted. */
export function opaque(mount: string, kind: Receiver["kind"] = mount === "" ? "function" : "mount"): Registered {
  return { opaque: {}, kind, mount };
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

const compiled = new Map<string, readonly PathForm[]>();

/** Each path is compiled once: a view is asked about every path for every key. */
function formsOf(path: string): readonly PathForm[] {
  const forms = compiled.get(path) ?? compile(path);
  compiled.set(path, forms);
  return forms;
}

interface Query {
  readonly gate: object;
  readonly method: string | undefined;
  readonly path: string | undefined;
}

/** A path that only a route for everything takes. */
const NOWHERE = "/~0/~1/~2/~3";

function receiversOf(registered: readonly Registered[], query: Query): readonly Receiver[] {
  const met = metBy(registered, query);
  const start = met.findIndex((one) => Object.values(one).includes(query.gate));
  return met.flatMap((one, at): Receiver[] => {
    if ("gate" in one) return [];
    const isBefore = at < start;
    if ("opaque" in one) {
      const { opaque: handler, kind, mount } = one;
      return [{ handler, kind, isBefore, isFinal: false, takesAll: kind === "function", paths: [mount] }];
    }
    const { route: handler, path, isFinal } = one;
    const takesAll = formsOf(path).some((form) => form.paramsOf(NOWHERE) !== undefined);
    return [{ handler, kind: "route", isBefore, isFinal, takesAll, paths: [path] }];
  });
}

/** The items that a request reaches, up to the first route that always responds. Other gates let it pass. */
function metBy(registered: readonly Registered[], query: Query): readonly Registered[] {
  const met = registered.filter((one) => {
    if ("route" in one) return isMet(one, query);
    const isHere = query.path === undefined || isBelow(query.path, one.mount);
    return isHere && (!("gate" in one) || one.gate === query.gate);
  });
  const start = met.findIndex((one) => Object.values(one).includes(query.gate));
  const end = met.findIndex((one, at) => at > start && "route" in one && one.isFinal);
  return end < 0 || query.path === undefined ? met : met.slice(0, end + 1);
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
  const { path: sought } = query;
  return isMethod && (sought === undefined || formsOf(path).some((form) => form.paramsOf(sought) !== undefined));
}
