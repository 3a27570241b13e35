/**
 * Apps, tables and requests are generated. However a request comes to a handler that is priced, it does not run unpaid; a free
 * one is never charged for; no request is charged at another's price, and every request is answered. `draws.ts` says from
 * which seeds. Each version of Express has a file of its own, so that both run at once.
 *
 * - `FAREBOX_REQUESTS`: how many requests to send at least, on each version.
 *
 * @module
 */
import { createTestFacilitator } from "@farebox/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readDraws, USUAL_SEED } from "../draws.js";
import { VERSIONS } from "../express/shop.js";
import { appPlans, HANDLER_SORTS, type ItemPlan, REWRITERS, ROUTE_METHODS } from "./app-plan.js";
import { openCourt } from "./court.js";
import { type Court, createTally, judgeApp, type Tally } from "./judge.js";
import type { Dialect } from "./path.js";
import { readFeatures } from "./purse.js";
import { MUTATION_KINDS, requestPlans } from "./request-plan.js";
import { resolveApp } from "./resolved-app.js";

const features = readFeatures({ facilitator: createTestFacilitator() });
/** In one draw. */
const APPS = 80;
/** About fifty for an app, as it takes longer to build than to ask; and one is enough to fail. */
const requests = fc.array(requestPlans(), { minLength: 1, maxLength: 100, size: "max" });
/** On a slow machine. */
const MS_PER_REQUEST = 10;

/** The generated tests of one version of Express. */
export function testGenerated(name: Dialect): void {
  const draws = readDraws(`requests without payment, ${name}`);
  const wanted = Number(process.env["FAREBOX_REQUESTS"] ?? 0);
  const express = VERSIONS.find(([one]) => one === name)?.[1];
  if (express === undefined) throw new TypeError(`there is no ${name}`);

  test(
    "no priced handler runs unpaid, no other price is charged, and every request is answered",
    async () => {
      const court = await openCourt(name, express);
      const tally = createTally();
      try {
        for (const seed of draws.seeds(() => tally.requests < wanted)) {
          const before = { ...tally };
          await judgeMany(court, seed, tally);
          // A run in which nothing could be bought would prove nothing.
          const [sent, stopped, sold, given] = (["requests", "stopped", "sold", "given"] as const).map(
            (one) => tally[one] - before[one],
          ) as [number, number, number, number];
          expect(sent).toBeGreaterThan(25 * APPS);
          expect(Math.min(stopped, sold, given)).toBeGreaterThan(sent / 100);
        }
      } finally {
        console.log(`${name}: ${JSON.stringify(tally)}`);
        await court.close();
      }
    },
    draws.timeoutMs + wanted * MS_PER_REQUEST,
  );

  test("the usual draw has every kind of middleware, group, route, price and request", () => {
    const plans = fc.tuple(appPlans(name, features), requests);
    const drawn = fc.sample(plans, { seed: USUAL_SEED, numRuns: APPS });
    const [groups, routes] = partition(drawn.flatMap(([app]) => listItems(app.items)));
    expect(new Set(drawn.flatMap(([app]) => app.rewriters))).toEqual(new Set(REWRITERS));
    expect(new Set(drawn.flatMap(([app]) => app.between))).toEqual(new Set(REWRITERS));
    for (const one of ["followed", "inside", "late", "wrapped", "split", "isReady"] as const) {
      expect(new Set(drawn.map(([app]) => app[one])), one).toEqual(new Set([true, false]));
    }
    expect(new Set(groups.map(({ sort }) => sort))).toEqual(new Set(["router", "app", "flat"]));
    expect(groups.some(({ also, sort }) => also !== undefined && sort === "router")).toBe(true);
    expect(new Set(routes.map(({ method }) => method))).toEqual(new Set(ROUTE_METHODS));
    for (const sort of HANDLER_SORTS) {
      const own = routes.filter((route) => route.sort === sort);
      const prices = new Set(own.map(({ pricing }) => (typeof pricing === "string" ? pricing : "by a key")));
      expect(prices, sort).toEqual(new Set(["free", "charge", "by a key"]));
    }
    expect(new Set(routes.map(({ passes }) => passes))).toEqual(new Set([true, false]));
    const sent = drawn.flatMap(([, some]) => some);
    const mutations = sent.flatMap((request) => request.mutations);
    expect(new Set(mutations.map(({ kind }) => kind))).toEqual(new Set(MUTATION_KINDS));
    expect(new Set(sent.map(({ pays }) => pays))).toEqual(new Set(["nothing", "the price", 1, 2, 3]));
  });
}

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
async function judgeMany(court: Court, seed: number, tally: Tally): Promise<void> {
  const property = fc.asyncProperty(appPlans(court.name, features), requests, async (plan, sent) => {
    const [finding] = await judgeApp(court, resolveApp(plan), { requests: sent, tally });
    if (finding !== undefined) throw new FoundError(finding.report);
  });
  const { failed, errorInstance } = await fc.check(property, {
    seed,
    numRuns: APPS,
    interruptAfterTimeLimit: SHRINK_MS,
  });
  if (!failed) return;
  if (errorInstance instanceof FoundError) expect.fail(`${errorInstance.message}\n  repeat with FAREBOX_SEED=${seed}`);
  throw errorInstance;
}

/** A draw takes a tenth of it. The rest is for finding the smallest app. */
const SHRINK_MS = 100_000;

/** Tells a finding from a mistake in the test itself. */
class FoundError extends Error {}
