/**
 * Ends a CI run: tells each failed test's file, name, message and the command that runs it alone, within the last 40 lines, and prints
 * `N passed, N failed` as the last one. Counted are the tests of all runs, every test file that could not run, every error outside of
 * a test, and every failed step that no failed test accounts for. Exits 1 if any failed.
 *
 * Usage: `node test/scripts/count-results.mjs <folder with vitest's JSON results> [failed step ...]`. The results of the step
 * `pnpm test:nodes` are in the files `test-nodes*.json` there.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** Of a failed test's messages, where there is room. */
const LONG_CHARACTERS = 2_000;
/** Of a failed test's message in the last lines. */
const SHORT_CHARACTERS = 300;
/** Three lines each, and a few more: 40. */
const SHORT_FAILURES = 12;

/**
 * Counts tests, and as one failed test each file that could not run. A file of results that cannot be read counts as that, too:
 * the run did not come to an end.
 *
 * @param files - Vitest's JSON results. Errors outside of tests are in a file beside them: `test.errors.json` beside `test.json`.
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
  const failures = files.flatMap((name) => failuresOf(join(folder, name)));
  for (const { file, test, message } of failures)
    console.log(`failed: ${file} ${test}\n${message.slice(0, LONG_CHARACTERS)}`);
  if (failures.length > 0) console.log("");
  for (const { file, test, message, command } of failures.slice(0, SHORT_FAILURES))
    console.log(`failed: ${file}: ${onOneLine(test)}\n  ${onOneLine(message)}\n  ${command}`);
  if (failures.length > SHORT_FAILURES) console.log(`and ${failures.length - SHORT_FAILURES} more, above`);
  if (failedSteps.length > 0) console.log(`failed steps: ${failedSteps.join("; ")}`);
  console.log(`${passed} passed, ${total} failed`);
  process.exitCode = total > 0 ? 1 : 0;

  /** Where each failed test is, what it said, and how to run it. */
  function failuresOf(results) {
    return readResults(results)
      .filter(({ status }) => status === "failed")
      .flatMap(({ name = "no results", message = "", assertionResults }) => {
        const tests = assertionResults.filter((test) => test.status === "failed");
        const said = tests.map(({ fullName, failureMessages }) => ({
          test: fullName,
          message: withoutForeignFrames(failureMessages.join("\n")),
        }));
        const file = relative(process.cwd(), name);
        return (said.length > 0 ? said : [{ test: "", message: withoutForeignFrames(message) }]).map((one) => ({
          file,
          ...one,
          command: commandFor(basename(results), file, one.test),
        }));
      });
  }

  function withoutForeignFrames(message) {
    return message
      .split("\n")
      .filter((line) => !/^\s+at .*\bnode_modules\//.test(line))
      .join("\n");
  }

  /** Runs one test alone, on the Node and with the settings of its step. */
  function commandFor(results, file, test) {
    if (!file.endsWith(".test.ts")) return "no test file: see the output of the step";
    const only = test === "" ? "" : ` -t ${quote(test.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))}`;
    const major = /^test-nodes-(\d+)/.exec(results)?.[1];
    if (major !== undefined)
      return `node test/scripts/nodes.mjs ${major} node_modules/vitest/vitest.mjs run --config test/vitest.config.ts ${file}${only}`;
    return `${results.startsWith("test-stores") ? "FAREBOX_ALL_CLIENTS=1 " : ""}npx -y pnpm@10 test ${file}${only}`;
  }

  function quote(text) {
    return `'${text.replaceAll("'", `'\\''`)}'`;
  }

  function onOneLine(text) {
    return text.replace(/\s+/g, " ").slice(0, SHORT_CHARACTERS);
  }

  /** Whether a failed test accounts for a failed step. */
  function isExplained(step) {
    const [, script = ""] = /^npx -y pnpm@10 (test\S*)/.exec(step) ?? [];
    const name = script.replace(":", "-");
    const own = files.filter((file) => file.startsWith(`${name}.`) || (name === "test-nodes" && file.startsWith(name)));
    return script !== "" && countResults(own.map((file) => join(folder, file))).failed > 0;
  }
}
