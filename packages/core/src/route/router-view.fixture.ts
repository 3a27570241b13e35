/**
 * A small router: a list of registered routes and middleware, and a view of it.
 *
 * @module
 */

import type { PathForm } from "./path-form.js";
import { formsOf as compile } from "./route.fixture.js";
import type { Receiver, RegisteredRoute, RouterView } from "./router-view.js";

/** A gate, a route, or another function, mounted at a path. */
export type Registered =
  | { readonly gate: object; readonly mount: string }
  | RegisteredRouteOf
  | { readonly opaque: object; readonly mount: string };

interface RegisteredRouteOf {
  readonly route: object;
  /** `undefined`: a regular expression. */
  readonly path: string | undefined;
  /** Without the mount of its router. Default: unknown. */
  readonly ownPath?: string;
  readonly pattern?: RegExp;
  readonly methods: readonly string[] | undefined;
  readonly gates: readonly object[];
}

/** A route; without a method, for every one. Gates among its handlers price it. */
export function route(words: string, more: Partial<RegisteredRouteOf> = {}): RegisteredRouteOf {
  const [path = "", ...methods] = words.split(" ").reverse();
  return { route: {}, path, methods: methods.length === 0 ? undefined : methods[0]?.split("|"), gates: [], ...more };
}

/** A route by a regular expression. */
export function routeBy(pattern: RegExp, method?: string): RegisteredRouteOf {
  return { route: {}, path: undefined, pattern, methods: method?.split("|"), gates: [] };
}

/** A function that is not a route: a proxy, if it is mounted. @param handler - If it stands in several places. */
export function opaque(mount: string, handler: object = {}): Registered {
  return { opaque: handler, mount };
}

/** A view of the list. Routes of a mounted router have the mount in their paths. */
export function viewOf(registered: readonly Registered[], mayHideGates = false): RouterView {
  const routes = registered.filter((one) => "route" in one);
  return {
    mayHideGates,
    mountsOf: (gate) => registered.flatMap((one) => ("gate" in one && one.gate === gate ? [one.mount] : [])),
    handlers: registered.map(toReceiver),
    receiversOf: (method, path) => registered.filter((one) => isMet(one, { method, path })).map(toReceiver),
    routes: routes.map(({ route, path, ownPath, methods, gates }): RegisteredRoute => {
      return { route, path, ownPath, methods, gates, isCharged: gates.length > 0 };
    }),
    prices: () =>
      routes.map(({ path = "a route", methods = ["any method"], gates }) => ({
        where: `${methods.join("|")} ${path}`,
        prices: gates.map((gate, at) => ({ gate, id: String(at), text: `price ${at}` })),
      })),
  };
}

const compiled = new Map<string, readonly PathForm[]>();

/** Each path is compiled once: a view is asked about every path for every key. */
function formsOf(path: string): readonly PathForm[] {
  const forms = compiled.get(path) ?? compile(path);
  compiled.set(path, forms);
  return forms;
}

/** A path that only a route for everything takes. */
const NOWHERE = "/~0/~1/~2/~3";

function toReceiver(one: Registered): Receiver {
  const more = { takesAll: false, isFiles: false, names: () => false };
  if ("gate" in one) return { ...more, handler: one.gate, kind: "gate", paths: [one.mount] };
  if ("opaque" in one) {
    return { ...more, handler: one.opaque, kind: "function", takesAll: one.mount === "", paths: [one.mount] };
  }
  const { route: handler, path, methods } = one;
  const takesAll = takesPath(one, NOWHERE);
  const names = (method: string) => methods !== undefined && takes(methods, method);
  return { ...more, handler, kind: "route", takesAll, paths: path === undefined ? undefined : [path], names };
}

function takesPath({ path, pattern }: RegisteredRouteOf, sought: string): boolean {
  return pattern?.test(sought) ?? formsOf(path ?? "/").some((form) => form.paramsOf(sought) !== undefined);
}

function takes(methods: readonly string[], method: string): boolean {
  return methods.includes(method) || (method === "HEAD" && methods.includes("GET"));
}

/** A mount may have parameters, which match any segment. */
function isBelow(path: string, mount: string): boolean {
  const segments = path.split("/");
  return mount.split("/").every((segment, at) => segment.startsWith(":") || segment === segments[at]);
}

interface Query {
  readonly method: string | undefined;
  readonly path: string;
}

function isMet(one: Registered, { method, path }: Query): boolean {
  if (!("route" in one)) return isBelow(path, one.mount);
  const isMethod = one.methods === undefined || method === undefined || takes(one.methods, method);
  return isMethod && takesPath(one, path);
}
