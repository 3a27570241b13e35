/**
 * Facets: one number for each combination of filters that an entry matches. Any page of a combination is then one range of one
 * index, at any offset.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { CatalogFilter, RegisteredOffer } from "@farebox/bazaar/facilitator";

const FILTERS = ["type", "network", "scheme", "payTo"] as const;
type Values = Partial<Readonly<Record<(typeof FILTERS)[number], string>>>;

/** The facets of a filter. An entry matches when it has them all. */
export function facetsOfFilter({ extensions = [], ...values }: CatalogFilter): readonly number[] {
  return [facetOf(values), ...extensions.map(extensionFacet)];
}

/** The facets of an entry: all combinations for each offer, because a filter must match one and the same offer. */
export function facetsOfEntry(
  type: "http" | "mcp",
  offers: readonly RegisteredOffer[],
  extensions: readonly string[],
): readonly number[] {
  const facets = offers.flatMap(({ network, scheme, payTo }) =>
    combinations({ type, network, scheme, payTo }).map(facetOf),
  );
  return [...new Set([...facets, ...extensions.map(extensionFacet)])];
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
