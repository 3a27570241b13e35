/**
 * Whatever is asked for, however it is spelled: a priced handler never runs unpaid, a free one is never charged for, and
 * every request is answered. Apps, tables and requests are generated. `FAREBOX_SEED` repeats a run and
 * `FAREBOX_RUNS=5000` makes it longer: see `run-settings.ts`.
 *
 * @module
 */
import { createTestFacilitator } from "@farebox/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { appPlans } from "./app-plan.js";
import { openCourt } from "./court.js";
import { type Court, createTally, judgeApp, type Tally } from "./judge.js";
import type { Dialect } from "./path.js";
import { readFeatures } from "./purse.js";
import { requestPlans } from "./request-plan.js";
import { resolveApp } from "./resolved-app.js";
import { readRunSettings } from "./run-settings.js";

const settings = readRunSettings("requests that nobody paid for");
const features = readFeatures({ facilitator: createTestFacilitator() });
/** About fifty for an app, as it takes longer to build than to ask; and one is enough to fail. */
const requests = fc.array(requestPlans(), { minLength: 1, maxLength: 100, size: "max" });

describe.each(VERSIONS)("on %s", (name, express) => {
  test(
    "no priced handler runs unpaid, no free one is charged for, and every request is answered",
    async () => {
      const court = await openCourt(name as Dialect, express);
      try {
        const tally = await judgeMany(court);
        console.log(`${name}: ${JSON.stringify(tally)}`);
        // A run in which nothing was to be had would prove nothing.
        expect(tally.requests).toBeGreaterThan(25 * settings.runs);
        expect(Math.min(tally.stopped, tally.sold, tally.given)).toBeGreaterThan(tally.requests / 50);
      } finally {
        await court.close();
      }
    },
    settings.timeoutMs,
  );
});

/** Fails with the report of the smallest app and request that something is wrong with. */
async function judgeMany(court: Court): Promise<Tally> {
  const tally = createTally();
  const property = fc.asyncProperty(appPlans(court.name, features), requests, async (plan, sent) => {
    const [finding] = await judgeApp(court, resolveApp(plan), { requests: sent, tally });
    if (finding !== undefined) throw new FoundError(finding.report);
  });
  const { seed, runs: numRuns } = settings;
  const { failed, errorInstance } = await fc.check(property, { seed, numRuns });
  if (!failed) return tally;
  if (errorInstance instanceof FoundError) expect.fail(`${errorInstance.message}\n  repeat with FAREBOX_SEED=${seed}`);
  throw errorInstance;
}

/** Tells a finding from a mistake in the test itself. */
class FoundError extends Error {}
