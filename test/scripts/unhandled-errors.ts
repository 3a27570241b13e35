/**
 * Vitest's reporter of errors outside of tests, which its JSON results leave out: writes them beside the results, in the same form, so
 * that `count-results.mjs` counts and names them.
 *
 * @module
 */
import { rmSync, writeFileSync } from "node:fs";
import type { Reporter } from "vitest/node";

/** @param results - The path of the JSON results, such as `test.json`; the errors go into `test.errors.json`. */
export function reportUnhandledErrors(results: string): Reporter {
  const file = results.replace(/(\.json)?$/, ".errors.json");
  return {
    onTestRunEnd(_modules, errors) {
      rmSync(file, { force: true });
      if (errors.length === 0) return;
      const testResults = errors.map(({ name, message, stack }) => ({
        name: "an error outside of a test",
        status: "failed",
        message: `${name}: ${message}\n${stack ?? ""}`,
        assertionResults: [],
      }));
      writeFileSync(file, JSON.stringify({ testResults }));
    },
  };
}
