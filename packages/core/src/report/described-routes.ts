/**
 * Descriptions of priced routes for OpenAPI, agents and crawlers. They are made from the routes that the gate uses, so
 * the two cannot differ.
 *
 * @module
 */

import { formatAmount } from "../price/price.js";
import type { ServiceInfo } from "../pricing/challenge.js";
import type { DynamicTerms } from "../pricing/payment-option.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import type { Extensions } from "../protocol/documents.js";
import { compileRegistered } from "../route/path.js";
import { templatesOf } from "../route/path-form.js";
import { METHODS } from "../route/route-key.js";
import type { Offer } from "../scheme/offer.js";
import { type PricedPlace, pathOf } from "./places.js";

/** The description of one payment option. */
export interface DescribedOffer {
  readonly scheme: string;
  /** CAIP-2. */
  readonly network: string;
  /** Decimal, in units of the asset: `"0.01"`. For `upto`, the maximum. `undefined` if the request decides. */
  readonly price: string | undefined;
  /** `USDC`; `undefined` if the request decides. */
  readonly symbol: string | undefined;
  /** Atomic units. */
  readonly amount: string | undefined;
  readonly asset: string | undefined;
  readonly payTo: string | undefined;
  /** As in a challenge; absent if the request decides. */
  readonly full?: Offer["requirements"];
  /** Whether a lower amount may be charged. */
  readonly isMaximum: boolean;
}

/** One method of one path. */
export interface DescribedRoute {
  readonly method: string;
  /** In the syntax of catalogs, with its mounts: `/users/:id`. */
  readonly template: string;
  /** Names of the path parameters. */
  readonly params: readonly string[];
  /** Those that take several segments. */
  readonly wildcards: readonly string[];
  /** Absolute URL of the resource, if the seller set one. */
  readonly resource: string | undefined;
  /** Whether nobody can pay for it: only requests that a hook grants are served. */
  readonly isGrantOnly: boolean;
  readonly description: string;
  /** Media type of the response, or `""`. */
  readonly mimeType: string;
  readonly service: ServiceInfo;
  readonly offers: readonly DescribedOffer[];
  /** The declarations for this method and path. */
  readonly extensions: Extensions | undefined;
}

/** What is called by its name and not by HTTP: an MCP tool. */
export interface DescribedTool
  extends Pick<DescribedRoute, "description" | "mimeType" | "service" | "offers" | "extensions"> {
  /** URL of the resource. */
  readonly url: string;
  /** Where the server is, if it is known and `url` does not say. */
  readonly serverUrl: string | undefined;
}

/** The methods of a key without a method. HEAD is like GET, and OPTIONS is free. */
const ANY: readonly string[] = METHODS.filter((method) => method !== "HEAD" && method !== "OPTIONS");

/**
 * Describes the routes that clients may find. Left out are routes that are declared as not discoverable, and handlers at a path
 * that is no text, such as a regular expression. A key whose table is in no known app is described without its mount.
 */
export function describeRoutes(places: readonly PricedPlace[]): readonly DescribedRoute[] {
  return places.flatMap((place) => {
    const path = place.path ?? (place.key === undefined ? undefined : pathOf(place.key));
    if (path === undefined || isHidden(place.route)) return [];
    const compiled = compileRegistered(path);
    if (!compiled.ok) return [];
    const methods = place.method === "ANY" ? ANY : [place.method];
    return templatesOf(compiled.forms).flatMap((form) => methods.map((method) => describe(place, method, form)));
  });
}

/** Describes what clients may find among the tools. */
export function describeTools(routes: readonly PricedRoute[]): readonly DescribedTool[] {
  return routes.flatMap((route) => {
    const { url, isHttp, serverUrl, description, mimeType, service } = route;
    if (url === undefined || isHttp || isHidden(route)) return [];
    const extensions = route.declareAt({ method: "", locate: () => ({ routeTemplate: undefined, pathParams: {} }) });
    return [{ url, serverUrl, description, mimeType, service, offers: describeOffers(route), extensions }];
  });
}

function isHidden({ isPublic, declarations }: PricedRoute): boolean {
  return declarations.compiled.size > 0 && !isPublic;
}

function describe(
  { route }: PricedPlace,
  method: string,
  { template, params, wildcards }: Pick<DescribedRoute, "template" | "params" | "wildcards">,
): DescribedRoute {
  const { description, mimeType, service, declareAt, url, isGrantOnly } = route;
  // There is no request, so the template replaces its path.
  const place = { routeTemplate: template, pathParams: {} };
  return {
    method,
    ...{ template, params, wildcards, description, mimeType, service },
    resource: url,
    isGrantOnly,
    offers: describeOffers(route),
    extensions: declareAt({ method, locate: () => place }),
  };
}

function describeOffers({ offers, dynamic }: PricedRoute): readonly DescribedOffer[] {
  return [...offers.map(describeOffer), ...dynamic.map(describeDynamic)];
}

function describeOffer({ scheme: { allowsLess = false }, asset, amount, requirements }: Offer): DescribedOffer {
  const { scheme, network, payTo } = requirements;
  const price = asset.decimals === undefined ? undefined : formatAmount(amount, asset.decimals);
  const terms = { amount: amount.toString(), asset: asset.id, symbol: asset.symbol, payTo };
  return { scheme, network, price, ...terms, isMaximum: allowsLess, full: requirements };
}

function describeDynamic({ scheme, network, payTo }: DynamicTerms): DescribedOffer {
  const unknown = { price: undefined, symbol: undefined, amount: undefined, asset: undefined };
  const known = typeof payTo === "string" ? payTo : undefined;
  return { scheme: scheme.scheme, network, ...unknown, payTo: known, isMaximum: scheme.allowsLess ?? false };
}
