/**
 * Facets: one number for each combination of type, network, scheme and payee that an entry matches. Any page of a combination is
 * then one range of one index, at any offset. Extensions, prices and the owner have facets of their own, which intersect.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type CatalogFilter, isWithinPrice, PRICE_LIMITS, type RegisteredOffer } from "@farebox/bazaar/facilitator";
import { offersOf, type Service } from "./service.js";

const FILTERS = ["type", "network", "scheme", "payTo"] as const;
type Values = Partial<Readonly<Record<(typeof FILTERS)[number], string>>>;

/** The facets of a filter: at least one. An entry matches when it has them all. */
export function facetsOfFilter(filter: CatalogFilter): readonly number[] {
  const { extensions = [], maxPrice, verified, ...values } = filter;
  const others = [
    ...(maxPrice === undefined ? [] : [priceFacet(maxPrice, values.network)]),
    ...(verified === undefined ? [] : [verifiedFacet(verified)]),
    ...extensions.map(extensionFacet),
  ];
  const isAny = FILTERS.every((name) => values[name] === undefined);
  return isAny && others.length > 0 ? others : [facetOf(values), ...others];
}

/** The facets of a service: all combinations for each offer, because a filter must match one and the same offer. */
export function facetsOfService(service: Service, extensions: readonly string[]): readonly number[] {
  const { type, verifiedMs } = service;
  const facets = offersOf(service).flatMap((offer) => {
    const { network, scheme, payTo } = offer;
    return [...combinations({ type, network, scheme, payTo }).map(facetOf), ...priceFacets(offer)];
  });
  return [...new Set([...facets, verifiedFacet(verifiedMs !== undefined), ...extensions.map(extensionFacet)])];
}

/** A price within one limit is within the higher ones. It holds on any network, and on its own. */
function priceFacets(offer: RegisteredOffer): readonly number[] {
  return PRICE_LIMITS.filter((limit) => isWithinPrice(offer, limit)).flatMap((limit) => [
    priceFacet(limit, undefined),
    priceFacet(limit, offer.network),
  ]);
}

/** Every subset of the four values. */
function combinations(values: Values): readonly Values[] {
  let sets: readonly Values[] = [{}];
  for (const name of FILTERS) sets = sets.concat(sets.map((set) => ({ ...set, [name]: values[name] })));
  return sets;
}

function facetOf(values: Values): number {
  const { type, network, scheme, payTo } = values;
  return hash(["offer", type, network && oneSpelling(network), scheme, payTo && oneCase(payTo)]);
}

function priceFacet(limit: string, network: string | undefined): number {
  return hash(["price", limit, network && oneSpelling(network)]);
}

function verifiedFacet(isVerified: boolean): number {
  return hash(["verified", String(isVerified)]);
}

function extensionFacet(name: string): number {
  return hash(["extension", name]);
}

/** A CAIP-2 reference has at most 32 characters; the older spelling of Algorand is longer. */
function oneSpelling(network: string): string {
  const at = network.indexOf(":") + 1;
  return network.slice(0, at + 32);
}

/** Case is ignored for an EVM address. */
function oneCase(address: string): string {
  return /^0x[0-9a-f]+$/i.test(address) ? address.toLowerCase() : address;
}

/** 48 bits fit into an integer of any database and a number of JavaScript. */
function hash(parts: readonly (string | undefined)[]): number {
  return createHash("sha256")
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest()
    .readUIntBE(0, 6);
}
