import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { reportUnhandledErrors } from "./scripts/unhandled-errors.js";
import { seedOfCommit } from "./seed-of-commit.js";
import { askedFor, CHAINS, COMPAT, DRAWN, SLOW, STORES } from "./slow.js";

const root = new URL("..", import.meta.url).pathname;

/** Where to write the results as JSON besides showing them. `.ci/run` counts from these files. */
const results = process.env["FAREBOX_TEST_RESULTS"];

const files = ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"];

/** Golden sequences on more than one process or a real store: `pnpm test:stores`. */
const GOLDEN = ["processes", "sqlite", "postgres", "redis"].map((name) => `test/golden/${name}.test.ts`);

const tests = ["packages/", "test/"].flatMap((folder) => listTests(folder));
const ofOtherScripts = tests.filter((file) => [STORES, COMPAT, ...CHAINS].some((folder) => file.startsWith(folder)));
const isWhole = askedFor(process.argv).length === 0;
const left = isWhole ? [...SLOW, ...DRAWN, ...ofOtherScripts, ...GOLDEN] : [];

/**
 * A test that counts timers, memory, lines on stderr, or what is told once, counts those of the whole process: other tests must not have left
 * any in it.
 */
const MEASURES_ITS_PROCESS = /getActiveResourcesInfo|memoryUsage|getTimerCount|spyOn\(process\.stderr|once per process/;
const alone = tests
  .filter((file) => !left.includes(file))
  .filter((file) => MEASURES_ITS_PROCESS.test(readFileSync(root + file, "utf8")));

function listTests(folder: string): readonly string[] {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory())
      return /^(node_modules|dist)$/.test(entry.name) ? [] : listTests(`${folder}${entry.name}/`);
    return entry.name.endsWith(".test.ts") ? [folder + entry.name] : [];
  });
}

export default defineConfig({
  root,
  test: {
    exclude: ["**/node_modules/**", "**/dist/**"],
    // `test:express4` runs the tests on Express 4. Files that are asked for run on both.
    env: { ...seedOfCommit(), ...(isWhole && { FAREBOX_EXPRESS: "5" }) },
    // Built packages are loaded by Node itself, as sellers load them.
    server: { deps: { external: [/\/packages\/[\w-]+\/dist\//] } },
    projects: [
      // To load Express, viem and our packages anew for each of 300 files took as long as to run the tests.
      // `leave-no-trace.ts` checks that a file changes nothing for the next one.
      {
        extends: true,
        test: {
          name: "shared",
          include: files,
          exclude: [...alone, ...left],
          isolate: false,
          setupFiles: ["test/quiet.ts", "test/seed.ts", "test/leave-no-trace.ts"],
        },
      },
      { extends: true, test: { name: "alone", include: alone, setupFiles: ["test/quiet.ts", "test/seed.ts"] } },
    ],
    // Failed tests with what they printed, and a summary.
    reporters:
      results === undefined
        ? ["minimal"]
        : ["minimal", ["json", { outputFile: results }], reportUnhandledErrors(results)],
    // What no test caused, such as a line that a background task writes after its test, is not shown.
    onConsoleLog: (_log, _type, entity) => entity !== undefined,
    // On two cores vitest would take one. Many tests wait for processes and timers, so three are faster than two.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // No retries: a test that fails once has found something.
    retry: 0,
    // Only what hangs takes so long. Beside busy loops a compiler takes more than a minute.
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
