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
import { expect, onTestFailed, onTestFinished, test } from "vitest";
import { readDraws } from "../draws.js";
import { collectWarnings, EXPRESSES } from "../express/shop.js";
import { appPlans } from "./app-plan.js";
import { openCourt } from "./court.js";
import { drawnKinds, EVERY_KIND } from "./drawn-kinds.js";
import { type Court, createTally, judgeApp, type Tally } from "./judge.js";
import type { Dialect } from "./path.js";
import { readFeatures } from "./purse.js";
import { requestPlans } from "./request-plan.js";
import { resolveApp } from "./resolved-app.js";

const features = readFeatures({ facilitator: createTestFacilitator() });
/** In one draw. */
const APPS = 10;
/** Together they draw every kind of middleware, group, route, price and request; `pnpm test` adds a new one. */
const KEPT: Readonly<Record<Dialect, readonly number[]>> = {
  "Express 4": [162, 519, 156, 235],
  "Express 5": [287, 476, 243],
};
/** About fifty for an app, as it takes longer to build than to ask; and one is enough to fail. */
const requests = fc.array(requestPlans(), { minLength: 1, maxLength: 100, size: "max" });
/** On a slow machine. */
const MS_PER_REQUEST = 10;

/** The generated tests of one version of Express. */
export function testGenerated(name: Dialect): void {
  const draws = readDraws(`requests without payment, ${name}`, KEPT[name]);
  const wanted = Number(process.env["FAREBOX_REQUESTS"] ?? 0);
  const express = EXPRESSES.find(([one]) => one === name)?.[1];
  if (express === undefined) throw new TypeError(`there is no ${name}`);

  test(
    "no priced handler runs unpaid, no other price is charged, and every request is answered",
    async () => {
      // Generated apps have mistakes on purpose.
      collectWarnings();
      const court = await openCourt(name, express);
      onTestFinished(() => court.close());
      const tally = createTally();
      let seed = 0;
      onTestFailed(() => {
        const unanswered = court.line.unanswered();
        if (unanswered !== undefined) console.error(`no response, with FAREBOX_SEED=${seed}, to ${unanswered}`);
      });
      for (seed of draws.seeds(() => tally.requests < wanted)) await judgeMany(court, seed, tally);
      console.log(`${name}: ${JSON.stringify(tally)}`);
      // A run in which nothing could be bought would prove nothing.
      expect(Math.min(tally.stopped, tally.sold, tally.given)).toBeGreaterThan(tally.requests / 200);
    },
    draws.timeoutMs + wanted * MS_PER_REQUEST,
  );

  test("the seeds that are kept draw every kind of middleware, group, route, price and request", () => {
    const plans = fc.tuple(appPlans(name, features), requests);
    const drawn = KEPT[name].flatMap((seed) => fc.sample(plans, { seed, numRuns: APPS }));
    expect(drawnKinds(drawn)).toEqual(EVERY_KIND);
  });
}

/** Fails with the report of the smallest app and request that something is wrong with. */
async function judgeMany(court: Court, seed: number, tally: Tally): Promise<void> {
  let smaller = 0;
  const property = fc.asyncProperty(appPlans(court.name, features), requests, async (plan, sent) => {
    if (smaller > MOST_SMALLER) return;
    const [finding] = await judgeApp(court, resolveApp(plan), { requests: sent, tally });
    if (finding !== undefined || smaller > 0) smaller++;
    if (finding !== undefined) throw new FoundError(finding.report);
  });
  const { failed, errorInstance } = await fc.check(property, { seed, numRuns: APPS });
  if (!failed) return;
  if (errorInstance instanceof FoundError) expect.fail(`${errorInstance.message}\n  repeat with FAREBOX_SEED=${seed}`);
  throw errorInstance;
}

/** So many apps are tried to find the smallest one. */
const MOST_SMALLER = 300;

/** Tells a finding from a mistake in the test itself. */
class FoundError extends Error {}
