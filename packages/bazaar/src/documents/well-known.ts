/**
 * `/.well-known/x402`: the priced routes of a server, for crawlers that know only its host.
 *
 * No standard defines this document. Crawlers read `version` and `resources`; `items` holds the same routes as catalog entries.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import type { DescribedRoute, DescribedTool } from "@farebox/core/adapter";
import { BAZAAR, type BazaarDeclaration } from "../declaration.js";
import { declarationOf, toAccepts } from "./declared.js";
import { declaredTools, toToolItem } from "./tools.js";

/**
 * Writes the document. A route with parameters has no single URL, unless the seller set one, so only `items` holds it. A route
 * that nobody can pay for is in neither.
 */
export function writeWellKnown(
  routes: readonly DescribedRoute[],
  baseUrl: string,
  tools: readonly DescribedTool[] = [],
): JsonObject {
  const sold = routes.filter(({ isGrantOnly }) => !isGrantOnly);
  const urls = sold.flatMap(
    ({ resource, params, template }) => resource ?? (params.length === 0 ? baseUrl + template : []),
  );
  return {
    version: 1,
    resources: [...new Set(urls)],
    x402Version: 2,
    items: [...sold.map((route) => toItem(route, baseUrl)), ...declaredTools(tools).map(toToolItem)],
  };
}

function toItem(route: DescribedRoute, baseUrl: string): JsonObject {
  const { method, template, params, resource, description, mimeType, service, offers } = route;
  const declared = declarationOf(route);
  return {
    resource: resource ?? baseUrl + template,
    type: declared?.info.input.type ?? "http",
    method,
    ...(params.length === 0 || resource !== undefined ? {} : { routeTemplate: pathOf(baseUrl) + template }),
    description,
    mimeType,
    ...service,
    accepts: toAccepts(offers),
    ...(declared === undefined
      ? {}
      : { extensions: { [BAZAAR]: resource === undefined ? declared : withoutTemplate(declared) } }),
  };
}

/** A template is for the path of the app, and the seller's URL may have another one. */
function withoutTemplate({ routeTemplate: _, ...declared }: BazaarDeclaration): JsonObject {
  return declared;
}

/** A template begins at the root of the host. */
function pathOf(baseUrl: string): string {
  const path = URL.canParse(baseUrl) ? new URL(baseUrl).pathname : "";
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
