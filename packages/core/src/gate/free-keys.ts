/**
 * Keys that cost nothing: exceptions among keys that are priced.
 *
 * @module
 */
import { type Coverage, type CoverageQuery, cover } from "../route/coverage.js";
import type { RouteTable } from "../route/route-table.js";
import type { PricedRoute } from "./parse-routes.js";

const FREE: Coverage<PricedRoute> = Object.freeze({ kind: "free" });

/**
 * Decides whether a request is priced. An exception is for what is written just as its key: any other spelling may get to
 * what the next key prices, and is priced by that.
 */
export function coverPriced(table: RouteTable<PricedRoute>, query: CoverageQuery): Coverage<PricedRoute> {
  const coverage = cover(table, query);
  if (coverage.kind !== "priced" || !coverage.candidate.entry.value.isFree) return coverage;
  if (coverage.candidate.match === "exact" && !query.isUnclear) return FREE;
  const next = table.find(query).find(({ entry }) => !entry.value.isFree);
  return next === undefined ? FREE : { kind: "priced", candidate: next };
}
