/**
 * `/.well-known/x402`: what a server sells, for crawlers that begin at its name.
 *
 * There is no standard for it. `version` and `resources` are what crawlers read; `items` are the same routes as entries of a
 * catalog.
 *
 * @module
 */
import type { DescribedRoute, JsonObject } from "@farebox/core";
import { BAZAAR } from "../declaration.js";
import { declarationOf } from "./declared.js";

/** Writes the document. A route with parameters has no URL of its own, so it is among the items only. */
export function writeWellKnown(routes: readonly DescribedRoute[], baseUrl: string): JsonObject {
  const urls = routes.filter(({ params }) => params.length === 0).map(({ template }) => baseUrl + template);
  return {
    version: 1,
    resources: [...new Set(urls)],
    x402Version: 2,
    items: routes.map((route) => toItem(route, baseUrl)),
  };
}

function toItem(route: DescribedRoute, baseUrl: string): JsonObject {
  const { method, template, params, description, mimeType, service, offers } = route;
  const declared = declarationOf(route);
  return {
    resource: baseUrl + template,
    type: declared?.info.input.type ?? "http",
    method,
    ...(params.length === 0 ? {} : { routeTemplate: template }),
    description,
    mimeType,
    ...service,
    accepts: offers.map(({ scheme, network, amount, asset, payTo, price, symbol }) => ({
      ...{ scheme, network, amount, asset, payTo },
      ...(price === undefined ? {} : { price: `${price} ${symbol}` }),
    })),
    ...(declared === undefined ? {} : { extensions: { [BAZAAR]: declared } }),
  };
}
