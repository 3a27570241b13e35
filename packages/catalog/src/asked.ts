/**
 * Ranks entries for a question that may have conditions.
 *
 * `under 5 cents` can be a condition or the subject. So such a question is ranked in two readings: the rest of it among the entries
 * that satisfy the conditions, and all of its words among all entries. The first reading is taken where its best entry fits nearly
 * as well.
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
/** `cheapest` sorts the entries that have this part of the best fit, */
const AS_GOOD = 0.95;
/** or this one where they share the words of the question. */
const AS_GOOD_SHARING = 0.8;

/** A question, and the filter that came with it. */
export interface Asked {
  readonly query: string;
  readonly filter: CatalogFilter;
  /** The facets of entries that match a filter and are shown. */
  facetsOf(filter: CatalogFilter): readonly number[];
}

/** Ranks the entries that fit a question. */
export async function rankAsked({ query, filter, facetsOf }: Asked, sources: SearchSources): Promise<Ranking> {
  const conditions = readConditions(query);
  const whole = await rankEntries(query, facetsOf(filter), sources);
  if (conditions === undefined) return whole;
  const networks = filter.network === undefined ? conditions.networks : undefined;
  const network = networks ? await firstListed(networks, sources.store) : filter.network;
  if (networks !== undefined && network === undefined) return whole;
  const limit = PRICE_LIMITS.find((some) => conditions.most !== undefined && conditions.most <= unitsOf(some));
  const narrow = { ...(network && { network }), ...(limit && { maxPrice: limit }), ...filter };
  const ranking = await rankEntries(conditions.rest, facetsOf(narrow), sources);
  const ranked = await satisfying(ranking.ranked, { ...conditions, network }, sources.store);
  return isNearly(ranked, whole.ranked) ? { ranked, isPartial: ranking.isPartial } : whole;
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

type Terms = Conditions & { readonly network: string | undefined };

/** Keeps the entries with an offer that satisfies all conditions, in the order that they ask for. */
async function satisfying(ranked: readonly Fitting[], terms: Terms, store: CatalogStore): Promise<readonly Fitting[]> {
  const { isFree, isCheapestFirst } = terms;
  if (!isFree && !isCheapestFirst && terms.most === undefined && terms.method === undefined) return ranked;
  const ids = ranked.map(({ id }) => id);
  const costs = new Map((await store.find(ids, [])).map((entry) => [entry.id, costOf(readService(entry), terms)]));
  const costAt = ({ id }: Fitting): bigint => costs.get(id) ?? UNKNOWN;
  const kept = ranked.filter(({ id }) => costs.get(id) !== undefined);
  const free = isFree ? kept.filter((entry) => costAt(entry) === 0n) : [];
  if (isNearly(free, kept)) return free;
  if (!isFree && !isCheapestFirst) return kept;
  const best = fitOf(kept);
  const isAsGood = ({ fit, isSharing }: Fitting): boolean => fit >= (isSharing ? AS_GOOD_SHARING : AS_GOOD) * best;
  const byCost = (one: Fitting, other: Fitting): number =>
    Number(costAt(one) > costAt(other)) - Number(costAt(one) < costAt(other));
  return [...kept.filter(isAsGood).sort(byCost), ...kept.filter((entry) => !isAsGood(entry))];
}

/** More than any price: what a token costs that is no known stablecoin. */
const UNKNOWN = 10n ** 100n;

/** The least cost of an offer that satisfies the terms; `undefined` when none does. */
function costOf(service: Service, { method, network, most }: Terms): bigint | undefined {
  const costs = service.methods
    .filter((some) => method === undefined || nameOf(some) === method)
    .flatMap(({ offers }) => offers)
    .filter((offer) => network === undefined || sameNetwork(offer.network, network))
    .map((offer) => dollarsOf(offer) ?? UNKNOWN)
    .filter((cost) => most === undefined || cost <= most);
  return costs.reduce<bigint | undefined>(
    (least, cost) => (least === undefined || cost < least ? cost : least),
    undefined,
  );
}

/** A decimal of dollars in units of 10⁻¹⁸ dollars. */
function unitsOf(dollars: string): bigint {
  const [whole = "", fraction = ""] = dollars.split(".");
  return BigInt(`${whole}${fraction.padEnd(18, "0")}`);
}
