/**
 * Priced routes as they are described to whoever may want to buy: in OpenAPI, for agents, for crawlers. Everything comes from
 * what the gate itself goes by, so that a description cannot say anything else.
 *
 * @module
 */
import { formatAmount } from "../price/price.js";
import type { Extensions } from "../protocol/documents.js";
import { compileRegistered } from "../route/path.js";
import { METHODS } from "../route/route-key.js";
import type { Offer } from "../scheme/offer.js";
import type { LiveTerms } from "./dynamic-price.js";
import type { PricedPlace } from "./report.js";
import type { ServiceInfo } from "./service-info.js";

/** One way to pay, as it is described. */
export interface DescribedOffer {
  readonly scheme: string;
  /** CAIP-2. */
  readonly network: string;
  /** Decimal, of the asset: `"0.01"`; the most that may be taken; `undefined` when the request decides. */
  readonly price: string | undefined;
  /** `USDC`; `undefined` when the request decides. */
  readonly symbol: string | undefined;
  /** Atomic units. */
  readonly amount: string | undefined;
  readonly asset: string | undefined;
  readonly payTo: string | undefined;
  /** Whether less than that may be taken. */
  readonly isMaximum: boolean;
}

/** One method of one path. */
export interface DescribedRoute {
  readonly method: string;
  /** In the syntax of catalogs, with its mounts: `/users/:id`. */
  readonly template: string;
  /** Names of its parameters. */
  readonly params: readonly string[];
  readonly description: string;
  /** Media type of the answer, or `""`. */
  readonly mimeType: string;
  readonly service: ServiceInfo;
  readonly offers: readonly DescribedOffer[];
  /** What is declared at this method and path. */
  readonly extensions: Extensions | undefined;
}

/** What any method means. HEAD is as GET, and OPTIONS is free. */
const ANY: readonly string[] = METHODS.filter((method) => method !== "HEAD" && method !== "OPTIONS");

/** Describes what is to be found; a route that is declared as one that is not stays out of it. */
export function describeRoutes(places: readonly PricedPlace[]): readonly DescribedRoute[] {
  return places.flatMap((place) => {
    const compiled = compileRegistered(place.path ?? "");
    const { isPublic, declarations } = place.route;
    const isHidden = declarations.compiled.size > 0 && !isPublic;
    if (isHidden || !compiled.ok) return [];
    const methods = place.method === "ANY" ? ANY : [place.method];
    return compiled.forms.flatMap(({ template, sample, paramsOf }) => {
      const path = { template, params: Object.keys(paramsOf(sample) ?? {}) };
      return methods.map((method) => describe(place, method, path));
    });
  });
}

function describe(
  { route }: PricedPlace,
  method: string,
  { template, params }: Pick<DescribedRoute, "template" | "params">,
): DescribedRoute {
  const { description, mimeType, service, offers, live, declareAt } = route;
  // By its template alone: a description is of no request.
  const place = { routeTemplate: template, pathParams: {} };
  return {
    method,
    ...{ template, params, description, mimeType, service },
    offers: [...offers.map(describeOffer), ...live.map(describeLive)],
    extensions: declareAt({ method, locate: () => place }),
  };
}

function describeOffer({ scheme: { allowsLess = false }, asset, amount, requirements }: Offer): DescribedOffer {
  const { scheme, network, payTo } = requirements;
  const price = asset.decimals === undefined ? undefined : formatAmount(amount, asset.decimals);
  const terms = { amount: amount.toString(), asset: asset.id, symbol: asset.symbol, payTo };
  return { scheme, network, price, ...terms, isMaximum: allowsLess };
}

function describeLive({ scheme, network, payTo }: LiveTerms): DescribedOffer {
  const unknown = { price: undefined, symbol: undefined, amount: undefined, asset: undefined };
  const known = typeof payTo === "string" ? payTo : undefined;
  return { scheme: scheme.scheme, network, ...unknown, payTo: known, isMaximum: scheme.allowsLess ?? false };
}
