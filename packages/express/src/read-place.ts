/**
 * Where a request is that a route has got by Express's own match.
 *
 * @module
 */
import { type GateRequest, type Place, placeOfRoute } from "@farebox/core";
import type { Request } from "express";
import { type LayerRoute, takesAnyMethod } from "./router-layers.js";

/** Whether the route that got a request was registered for its method by name. */
export function isRouteOfItsMethod(req: Request): boolean {
  const { methods } = (req.route ?? {}) as Partial<Pick<LayerRoute, "methods">>;
  return methods?.[req.method.toLowerCase()] === true && !takesAnyMethod({ methods });
}

/** The route's path and parameters. A path that is a regular expression has neither a template nor names. */
export function readPlace(req: Request, request: GateRequest): Place {
  const path: unknown = (req.route as { readonly path?: unknown } | undefined)?.path;
  const paths: readonly unknown[] = Array.isArray(path) ? path.flat(Number.POSITIVE_INFINITY) : [path ?? "/*"];
  for (const one of paths) {
    const place = typeof one === "string" ? placeOfRoute(one, request) : undefined;
    if (place !== undefined) return place;
  }
  return { routeTemplate: undefined, pathParams: readParams(req) };
}

/** Express 5 has the segments of a wildcard as a list. */
function readParams({ params }: Request): Place["pathParams"] {
  const entries = Object.entries(params as Readonly<Record<string, unknown>>);
  return Object.freeze(
    Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.join("/") : String(value)])),
  );
}
