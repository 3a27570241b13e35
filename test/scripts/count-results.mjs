/**
 * Ends a CI run: names the steps that failed, and prints `N passed, N failed` as the last line. Counted are the tests,
 * every test file that could not run, and every failed step that no failed test accounts for. Exits 1 if any failed.
 *
 * Usage: `node test/scripts/count-results.mjs <vitest's JSON results> [failed step ...]`
 *
 * @module
 */
import { readFileSync } from "node:fs";

const [resultsFile, ...failedSteps] = process.argv.slice(2);
const results = readResults();

const files = results?.testResults ?? [];
const tests = files.flatMap((file) => file.assertionResults);
const count = (status) => tests.filter((test) => test.status === status).length;
const brokenFiles = files.filter(
  (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
);

const failedTests = count("failed") + brokenFiles.length;
const unexplained = failedSteps.filter((step) => !step.endsWith(" test") || failedTests === 0);
const missing = results === undefined && failedSteps.length === 0 ? 1 : 0;
const failed = failedTests + unexplained.length + missing;

for (const step of failedSteps) console.log(`failed: ${step}`);
console.log(`${count("passed")} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

/** `undefined` when the tests did not come to an end, or never began. */
function readResults() {
  try {
    return JSON.parse(readFileSync(resultsFile, "utf8"));
  } catch {
    return undefined;
  }
}
