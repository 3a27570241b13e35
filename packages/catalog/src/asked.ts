/**
 * Ranks entries for a question that may have conditions.
 *
 * Words about a price are conditions and nothing else: no text of an entry gains by them. A network and a method may be the subject as
 * well. So such a question is read with all of its conditions, then with those of price alone. A reading is taken where its best entry
 * fits nearly as well as the best of all entries does.
 *
 * @module
 */
import { type CatalogFilter, dollarsOf, PRICE_LIMITS } from "@farebox/bazaar/facilitator";
import { sameNetwork } from "@farebox/core/protocol";
import { type Conditions, readConditions } from "./conditions.js";
import { facetsOfFilter } from "./facets.js";
import { type Fitting, type Ranking, rankEntries, type SearchSources } from "./search.js";
import { nameOf, readService, type Service } from "./service.js";
import type { CatalogStore } from "./store.js";

// Measured with the first half of the questions of `test/catalog/quality`.

/** The conditions hold where the best entry that satisfies them has this part of the best fit. */
const NEARLY = 0.7;
/** `cheapest` sorts the entries that have this part of the best fit, or that fit nearly as well and share words of the question. */
const AS_GOOD = 0.95;

/** A question, and the filter that came with it. */
export interface Asked {
  readonly query: string;
  readonly filter: CatalogFilter;
  /** The facets of entries that match a filter and are shown. */
  facetsOf(filter: CatalogFilter): readonly number[];
}

/** The words of a question that are ranked by, and the conditions that hold. */
interface Reading {
  readonly text: string;
  readonly terms: Terms;
}

/** Ranks the entries that fit a question. */
export async function rankAsked(asked: Asked, sources: SearchSources): Promise<Ranking> {
  const { query, filter, facetsOf } = asked;
  const conditions = readConditions(query);
  if (conditions === undefined) return rankEntries(query, facetsOf(filter), sources);
  let whole: Ranking = { ranked: [], isPartial: false };
  for (const { text, terms } of await readingsOf(conditions, asked, sources.store)) {
    const narrow = await rankEntries(text, facetsOf(narrowed(filter, terms)), sources);
    const ranked = await satisfying(narrow.ranked, terms, sources.store);
    whole = await rankEntries(text, facetsOf(filter), sources);
    if (isNearly(ranked, whole.ranked)) return { ranked, isPartial: narrow.isPartial };
  }
  const order = { isCheapestFirst: conditions.isCheapestFirst, network: filter.network };
  return { ranked: await satisfying(whole.ranked, order, sources.store), isPartial: whole.isPartial };
}

/** The readings of a question that has conditions, the strictest first. The last one has those of price alone. */
async function readingsOf(
  { rest, unpriced, method, networks, ...price }: Conditions,
  { filter }: Asked,
  store: CatalogStore,
): Promise<readonly Reading[]> {
  const named = filter.network === undefined && networks ? await firstListed(networks, store) : undefined;
  const isElsewhere = filter.network === undefined && networks !== undefined && named === undefined;
  const network = named ?? filter.network;
  const byPrice = { text: unpriced, terms: { ...price, network: filter.network } };
  if (isElsewhere || (networks === undefined && method === undefined)) return [byPrice];
  return [{ text: rest, terms: { ...price, network, ...(method && { method }) } }, byPrice];
}

function narrowed(filter: CatalogFilter, { network, most }: Terms): CatalogFilter {
  const limit = PRICE_LIMITS.find((some) => most !== undefined && most <= unitsOf(some));
  return { ...(network && { network }), ...(limit && { maxPrice: limit }), ...filter };
}

function fitOf(ranked: readonly Fitting[]): number {
  return Math.max(0, ...ranked.map(({ fit }) => fit));
}

function isNearly(some: readonly Fitting[], all: readonly Fitting[]): boolean {
  return some.length > 0 && fitOf(some) >= NEARLY * fitOf(all);
}

/** A name stands for its main network, and for a test network where no entry is on the main one. */
async function firstListed(networks: readonly string[], store: CatalogStore): Promise<string | undefined> {
  const facets = networks.map((network) => facetsOfFilter({ network })[0] ?? 0);
  const counts = await store.countEach(facets);
  return networks.find((_, at) => counts.has(facets[at] ?? 0));
}

type Terms = Pick<Conditions, "most" | "least" | "method" | "isCheapestFirst"> & {
  readonly network: string | undefined;
};

/** Keeps the entries with an offer that satisfies all conditions, in the order that they ask for. */
async function satisfying(ranked: readonly Fitting[], terms: Terms, store: CatalogStore): Promise<readonly Fitting[]> {
  const { isCheapestFirst, most, least, method } = terms;
  if (!isCheapestFirst && most === undefined && least === undefined && method === undefined) return ranked;
  const ids = ranked.map(({ id }) => id);
  const costs = new Map((await store.find(ids, [])).map((entry) => [entry.id, costOf(readService(entry), terms)]));
  const costAt = ({ id }: Fitting): bigint => costs.get(id) ?? UNKNOWN;
  const kept = ranked.filter(({ id }) => costs.get(id) !== undefined);
  if (!isCheapestFirst) return kept;
  const best = fitOf(kept);
  const isAsGood = ({ fit, isSharing }: Fitting): boolean => fit >= (isSharing ? NEARLY : AS_GOOD) * best;
  const byCost = (one: Fitting, other: Fitting): number =>
    Number(costAt(one) > costAt(other)) - Number(costAt(one) < costAt(other));
  return [...kept.filter(isAsGood).sort(byCost), ...kept.filter((entry) => !isAsGood(entry))];
}

/** More than any price: what a token costs that is no known stablecoin. */
const UNKNOWN = 10n ** 100n;

/** The least cost of an offer that satisfies the terms; `undefined` when none does. */
function costOf(service: Service, { method, network, most, least }: Terms): bigint | undefined {
  const costs = service.methods
    .filter((some) => method === undefined || nameOf(some) === method)
    .flatMap(({ offers }) => offers)
    .filter((offer) => network === undefined || sameNetwork(offer.network, network))
    .map((offer) => dollarsOf(offer) ?? UNKNOWN)
    .filter((cost) => most === undefined || cost <= most)
    .filter((cost) => least === undefined || (cost >= least && cost < UNKNOWN));
  return costs.reduce<bigint | undefined>((low, cost) => (low === undefined || cost < low ? cost : low), undefined);
}

/** A decimal of dollars in units of 10⁻¹⁸ dollars. */
function unitsOf(dollars: string): bigint {
  const [whole = "", fraction = ""] = dollars.split(".");
  return BigInt(`${whole}${fraction.padEnd(18, "0")}`);
}
