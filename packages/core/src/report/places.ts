/**
 * Where everything is that is priced: tables and handlers, and the paths at which the app serves them.
 *
 * @module
 */
import type { PricedRoute } from "../pricing/priced-route.js";
import { belowMount, type RouteTable } from "../route/route-table.js";
import type { RouterView } from "../route/router-view.js";

/** A route table, and the gate that stands for it among the app's handlers. */
export interface PricedTable {
  readonly gate: object;
  readonly table: RouteTable<PricedRoute>;
}

/** A route that its own handler prices, and the gate of that handler. */
export interface PricedHandler {
  readonly gate: object;
  readonly route: PricedRoute;
}

/** Everything that is priced so far. It grows. */
export interface PricedRoutes {
  readonly tables: readonly PricedTable[];
  readonly handlers: readonly PricedHandler[];
}

/** Every priced route, wherever it is served. */
export function routesOf({ tables, handlers }: PricedRoutes): readonly PricedRoute[] {
  const inTables = tables.flatMap(({ table }) => table.entries.map(({ value }) => value));
  return [...inTables, ...handlers.map(({ route }) => route)];
}

/** A priced route at one of the places where it is served. */
export interface PricedPlace {
  /** `ANY`: every method but OPTIONS. `CALL`: not called by HTTP. */
  readonly method: string;
  /** With its mounts; `undefined` until the app is known. */
  readonly path: string | undefined;
  /** `undefined` for a route that its own handler prices. */
  readonly key: string | undefined;
  readonly route: PricedRoute;
}

/** The places of everything that is priced. Without an app, only what the tables say. */
export function placesOf({ tables, handlers }: PricedRoutes, view: RouterView | undefined): readonly PricedPlace[] {
  return [
    ...tables.flatMap((priced) => placesOfTable(priced, view)),
    ...handlers.flatMap((handler) => placesOfHandler(handler, view)),
  ];
}

function placesOfTable({ gate, table }: PricedTable, view: RouterView | undefined): readonly PricedPlace[] {
  const mounts = view?.mountsOf(gate) ?? [];
  return table.entries.flatMap(({ key, method = "ANY", value }) => {
    const path = pathOf(key);
    const paths = mounts.length === 0 ? [undefined] : mounts.map((mount) => withMount(mount, path));
    return paths.map((full) => ({ method, path: full, key, route: value }));
  });
}

/** The path of a key, without its method. */
export function pathOf(key: string): string {
  return key.slice(key.search(/\{?\//));
}

/** A key may be written with the mount or without. */
function withMount(mount: string, path: string): string {
  if (mount === "" || `${path}/`.startsWith(`${mount}/`)) return path;
  return belowMount(mount, path);
}

function placesOfHandler({ gate, route }: PricedHandler, view: RouterView | undefined): readonly PricedPlace[] {
  const { key, url, isHttp } = route;
  if (!isHttp) return [{ method: "CALL", path: url, key, route }];
  const registered = view?.routes.filter(({ gates }) => gates.includes(gate)) ?? [];
  const mounts = registered.length > 0 ? [] : (view?.mountsOf(gate) ?? []);
  const places = [
    ...registered.flatMap(({ path, methods = ["ANY"] }) => methods.map((method) => ({ method, path }))),
    // It takes everything below its mount.
    ...mounts.map((path) => ({ method: "ANY", path: `${path}/*` })),
  ];
  const known = places.length > 0 ? places : [{ method: "ANY", path: undefined }];
  return known.map(({ method, path }) => ({ method, path, key: undefined, route }));
}
