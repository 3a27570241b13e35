/**
 * Whatever is asked for, however it is spelled: a priced handler never runs unpaid, a free one is never charged for, and
 * every request is answered. Apps, tables and requests are generated; how many and from which seed is said in
 * `run-settings.ts`.
 *
 * @module
 */
import { createTestFacilitator } from "@farebox/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { appPlans } from "./app-plan.js";
import { openCourt } from "./court.js";
import { type Court, createTally, type Finding, judgeApp } from "./judge.js";
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
        const { finding, tally, details } = await run(court);
        expect(finding === undefined ? "" : `${finding.report}\n${details}`).toBe("");
        console.log(`${name}: ${JSON.stringify(tally)}`);
        // A run in which nothing was to be had would prove nothing.
        expect(Math.min(tally.stopped, tally.sold, tally.given)).toBeGreaterThan(tally.requests / 50);
      } finally {
        await court.close();
      }
    },
    settings.timeoutMs,
  );
});

async function run(court: Court) {
  const tally = createTally();
  const property = fc.asyncProperty(appPlans(court.name as Dialect, features), requests, async (plan, sent) => {
    const [finding] = await judgeApp(court, resolveApp(plan), { requests: sent, tally });
    if (finding !== undefined) throw new FoundError(finding);
  });
  const { seed, runs: numRuns } = settings;
  const { failed, counterexamplePath, errorInstance, numShrinks } = await fc.check(property, { seed, numRuns });
  if (!failed) return { tally, details: "" };
  if (!(errorInstance instanceof FoundError)) throw errorInstance;
  return {
    tally,
    finding: errorInstance.finding,
    details: `  FAREBOX_SEED=${seed}, path ${counterexamplePath}, ${numShrinks} times smaller`,
  };
}

class FoundError extends Error {
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(finding.problem);
    this.finding = finding;
  }
}
