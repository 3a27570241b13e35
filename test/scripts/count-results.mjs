/**
 * Ends a CI run: names the tests and steps that failed, and prints `N passed, N failed` as the last line. Counted are the tests of all
 * runs, every test file that could not run, and every failed step that no failed test accounts for. Exits 1 if any failed.
 *
 * Usage: `node test/scripts/count-results.mjs <folder with vitest's JSON results> [failed step ...]`. The results of the step
 * `pnpm test:nodes` are in the files `test-nodes*.json` there.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** Of what a failed test said. */
const MESSAGE_CHARACTERS = 2_000;

/**
 * Counts tests, and as one failed test each file that could not run. A file of results that cannot be read counts as that, too:
 * the run did not come to an end.
 *
 * @param files - Vitest's JSON results.
 */
export function countResults(files) {
  let [passed, failed] = [0, 0];
  for (const file of files) {
    for (const { status, assertionResults } of readResults(file)) {
      const count = (wanted) => assertionResults.filter((test) => test.status === wanted).length;
      passed += count("passed");
      failed += status === "failed" ? Math.max(1, count("failed")) : 0;
    }
  }
  return { passed, failed };
}

function readResults(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).testResults;
  } catch {
    return [{ status: "failed", assertionResults: [] }];
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, ...failedSteps] = process.argv.slice(2);
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  const { passed, failed } = countResults(files.map((name) => join(folder, name)));
  const unexplained = failedSteps.filter((step) => !isExplained(step));
  // A run without a single result has proved nothing.
  const total = failed + unexplained.length + (passed + failed + unexplained.length === 0 ? 1 : 0);
  for (const name of files) {
    for (const { file, test, message } of failuresOf(join(folder, name)))
      console.log(`failed: ${name} ${file} ${test}\n${message}`);
  }
  for (const step of failedSteps) console.log(`failed: ${step}`);
  console.log(`${passed} passed, ${total} failed`);
  process.exitCode = total > 0 ? 1 : 0;

  /** Where each failed test is, and the beginning of what it said. */
  function failuresOf(file) {
    return readResults(file)
      .filter(({ status }) => status === "failed")
      .flatMap(({ name = "no results", message = "", assertionResults }) => {
        const tests = assertionResults.filter((test) => test.status === "failed");
        const said = tests.map(({ fullName, failureMessages }) => ({
          test: fullName,
          message: failureMessages.join("\n"),
        }));
        return (said.length > 0 ? said : [{ test: "", message }]).map((one) => ({
          file: relative(process.cwd(), name),
          test: one.test,
          message: one.message.slice(0, MESSAGE_CHARACTERS),
        }));
      });
  }

  /** Whether a failed test accounts for a failed step. */
  function isExplained(step) {
    const [, script = ""] = /^npx -y pnpm@10 (test\S*)/.exec(step) ?? [];
    const name = script.replace(":", "-");
    const own = files.filter((file) => file === `${name}.json` || (name === "test-nodes" && file.startsWith(name)));
    return script !== "" && countResults(own.map((file) => join(folder, file))).failed > 0;
  }
}
