import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Where to write the results as JSON besides showing them. `.ci/run` counts from that file. */
const results = process.env["FAREBOX_TEST_RESULTS"];

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    reporters: results === undefined ? ["default"] : ["default", ["json", { outputFile: results }]],
    // On two cores vitest would take one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // No retries: a test that fails once has found something.
    retry: 0,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
