/**
 * Apps, tables and requests are generated. However a request is spelled, a priced handler never runs unpaid, a free one is
 * never charged for, and every request is answered. `draws.ts` says from which seeds.
 *
 * @module
 */
import { createTestFacilitator } from "@farebox/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readDraws, USUAL_SEED } from "../draws.js";
import { VERSIONS } from "../express/shop.js";
import { appPlans, type ItemPlan, REWRITERS, ROUTE_METHODS } from "./app-plan.js";
import { openCourt } from "./court.js";
import { type Court, createTally, judgeApp, type Tally } from "./judge.js";
import type { Dialect } from "./path.js";
import { readFeatures } from "./purse.js";
import { MUTATION_KINDS, requestPlans } from "./request-plan.js";
import { resolveApp } from "./resolved-app.js";

const draws = readDraws("requests without payment");
const features = readFeatures({ facilitator: createTestFacilitator() });
/** In one draw. */
const APPS = 80;
/** About fifty for an app, as it takes longer to build than to ask; and one is enough to fail. */
const requests = fc.array(requestPlans(), { minLength: 1, maxLength: 100, size: "max" });

describe.each(VERSIONS)("on %s", (name, express) => {
  test(
    "no priced handler runs unpaid, no free one is charged for, and every request is answered",
    async () => {
      const court = await openCourt(name as Dialect, express);
      try {
        for (const seed of draws.seeds()) {
          const tally = await judgeMany(court, seed);
          console.log(`${name}: ${JSON.stringify(tally)}`);
          // A run in which nothing could be bought would prove nothing.
          expect(tally.requests).toBeGreaterThan(25 * APPS);
          expect(Math.min(tally.stopped, tally.sold, tally.given)).toBeGreaterThan(tally.requests / 50);
        }
      } finally {
        await court.close();
      }
    },
    draws.timeoutMs,
  );

  test("the usual draw has every kind of middleware, group, route, price and request", () => {
    const plans = fc.tuple(appPlans(name as Dialect, features), requests);
    const drawn = fc.sample(plans, { seed: USUAL_SEED, numRuns: APPS });
    const [groups, routes] = partition(drawn.flatMap(([app]) => listItems(app.items)));
    expect(new Set(drawn.flatMap(([app]) => app.rewriters))).toEqual(new Set(REWRITERS));
    expect(new Set(groups.map(({ sort }) => sort))).toEqual(new Set(["router", "app", "flat"]));
    expect(new Set(routes.map(({ method }) => method))).toEqual(new Set(ROUTE_METHODS));
    expect(new Set(routes.map(({ pricing }) => (typeof pricing === "string" ? pricing : "by a key")))).toEqual(
      new Set(["free", "charge", "by a key"]),
    );
    const mutations = drawn.flatMap(([, sent]) => sent.flatMap((request) => request.mutations));
    expect(new Set(mutations.map(({ kind }) => kind))).toEqual(new Set(MUTATION_KINDS));
  });
});

function listItems(items: readonly ItemPlan[]): readonly ItemPlan[] {
  return items.flatMap((item) => (item.kind === "group" ? [item, ...listItems(item.items)] : [item]));
}

function partition(items: readonly ItemPlan[]) {
  return [
    items.flatMap((item) => (item.kind === "group" ? [item] : [])),
    items.flatMap((item) => (item.kind === "route" ? [item] : [])),
  ] as const;
}

/** Fails with the report of the smallest app and request that something is wrong with. */
async function judgeMany(court: Court, seed: number): Promise<Tally> {
  const tally = createTally();
  const property = fc.asyncProperty(appPlans(court.name, features), requests, async (plan, sent) => {
    const [finding] = await judgeApp(court, resolveApp(plan), { requests: sent, tally });
    if (finding !== undefined) throw new FoundError(finding.report);
  });
  const { failed, errorInstance } = await fc.check(property, { seed, numRuns: APPS });
  if (!failed) return tally;
  if (errorInstance instanceof FoundError) expect.fail(`${errorInstance.message}\n  repeat with FAREBOX_SEED=${seed}`);
  throw errorInstance;
}

/** Tells a finding from a mistake in the test itself. */
class FoundError extends Error {}
