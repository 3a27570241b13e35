import { writeFileSync } from "node:fs";
import { createTestFacilitator } from "@farebox/testing";
import fc from "fast-check";
import { test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { appPlans } from "./app-plan.js";
import { openCourt } from "./court.js";
import { createTally, judgeApp } from "./judge.js";
import type { Dialect } from "./path.js";
import { readFeatures } from "./purse.js";
import { requestPlans } from "./request-plan.js";
import { resolveApp } from "./resolved-app.js";

const features = readFeatures({ facilitator: createTestFacilitator() });
const requests = fc.array(requestPlans(), { minLength: 1, maxLength: 100, size: "max" });
const only = process.env["SCAN_ONLY"];
test.each(VERSIONS)("scan %s", { timeout: 6e5 }, async (name, express) => {
  if (only !== undefined && !name.endsWith(only)) return;
  const court = await openCourt(name as Dialect, express);
  const tally = createTally();
  const seed = Number(process.env["SCAN_SEED"] ?? 1);
  const n = Number(process.env["SCAN_APPS"] ?? 100);
  const drawn = fc.sample(fc.tuple(appPlans(name as Dialect, features), requests), { seed, numRuns: n });
  const found: { size: number; problem: string; report: string }[] = [];
  const start = performance.now();
  for (const [plan, sent] of drawn) {
    const findings = await judgeApp(court, resolveApp(plan), { requests: sent, tally });
    for (const [problem, report] of new Map(findings.map((f) => [f.problem, f.report])))
      found.push({ size: report.length, problem, report });
  }
  const s = (performance.now() - start) / 1000;
  found.sort((a, b) => a.size - b.size);
  writeFileSync(
    `/tmp/scan-${name.slice(-1)}.txt`,
    `${JSON.stringify(tally)} ${s}s ${tally.requests / s}/s, ${found.length} findings\n${found.map((f) => f.report).join("\n\n")}\n`,
  );
  await court.close();
});
