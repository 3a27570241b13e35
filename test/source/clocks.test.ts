/**
 * No test measures the clock, or it would judge the machine: a clock is driven, work is counted, and an event is waited for.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findClocks } from "./clocks/find.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** To read all tests takes some seconds; the limit is no subject of the test. */
const LIMIT_MS = 300_000;

/** Tests, and what they import or start. The benchmark measures, and scripts run the tests. */
const TESTS =
  /^(test\/(?!bench\/|scripts\/|source\/clocks).*\.(ts|mjs|cjs)|packages\/[\w-]+\/(src\/.*\.(test|fixture)\.ts|scripts\/.*\.mjs))$/;

/** Files and folders that may measure the clock, and why no test depends on how fast the machine is. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "packages/core/src/facilitator/deadlines.test.ts": "vitest drives its timers",
  "packages/core/src/sale/handler-deadline.test.ts": "the timer only keeps the process alive, and is cleared",
  "test/bypass/compare.ts": "the comparison: the reference may hang, which is what is told of it",
  "test/bypass/stage.ts": "the comparison tells how long a request took; no test reads it",
  "test/chaos/": "real processes die at real times; a limit of 100 seconds only ends what will never end",
  "test/compat/sellers/session-pass.mjs": "a pass of the seller's own lasts an hour",
  "test/draws.ts": "for how long test:long draws; pnpm test counts its draws",
  "test/facilitator/policy.test.ts": "reads the time at which it stops the clock",
  "test/faults/compare/": "the comparison: how the reference behaves in time; no test runs it",
  "test/golden/other-timers.test.ts": "its timer stands for one of somebody else's, in the time of a sequence",
};

describe("what is found", () => {
  test.each([
    ["const started = performance.now();", "reads performance.now"],
    ["expect(Date.now() - started).toBe(5);", "measures with Date.now"],
    ["while (Date.now() < endsAt) {}", "compares Date.now"],
    ["if (until <= new Date().getTime() + 5) {}", "compares Date.now"],
    ["setTimeout(done, 50);", "starts a timer"],
    ["await new Promise((resolve) => setTimeout(resolve, 2 * 1_000));", "starts a timer"],
    ["const PAUSE_MS = 20; setInterval(tick, PAUSE_MS);", "starts a timer"],
    ['import { setTimeout } from "node:timers/promises"; await setTimeout(50);', "sleeps"],
    ['import { setTimeout as sleep } from "timers/promises"; await sleep(50, "late");', "sleeps"],
    ["const sleep = promisify(setTimeout); await sleep(50);", "sleeps"],
    ["await fetch(url, { signal: AbortSignal.timeout(5_000) });", "gives up by the clock"],
    ["await vi.waitFor(() => expect(settled).toBe(1));", "waits with a limit"],
    ["await vi.waitFor(isSettled, { timeout: 5_000 });", "waits with a limit"],
    ["await vi.waitUntil(isSettled, 500);", "waits with a limit"],
    ["await expect.poll(() => settled).toBe(1);", "waits with a limit"],
    ["const LIMIT_MS = 2_000; await expect.poll(count, { timeout: LIMIT_MS }).toBe(1);", "waits with a limit"],
    ["expect(elapsed).toBeLessThan(1_000);", "bounds a duration"],
    ["expect(response.tookMs).toBeLessThanOrEqual(30);", "bounds a duration"],
    ["expect(span).toBeLessThan(MOST_MS);", "bounds a duration"],
    ["expect(expiry - Date.now() / 1_000).toBeGreaterThan(290);", "bounds a duration"],
    ['test("is quick", run, 5_000);', "has less than a minute"],
    ['test.each(cases)("is quick", { timeout: 5_000 }, run);', "has less than a minute"],
  ])("%s", (text, what) => {
    expect(findClocks(text).map((found) => found.what)).toEqual([what]);
  });

  test("the line and the code are named", () => {
    expect(findClocks("\n\nsetTimeout(\n  done,\n  50,\n);")).toEqual([
      { line: 3, what: "starts a timer", code: "setTimeout( done, 50, )" },
    ]);
  });
});

describe("what is not found", () => {
  test.each([
    ["a time", "const validAfter = Math.floor(Date.now() / 1000) - 60;"],
    ["a time in the past", "const past = new Date(Date.now() - 60_000);"],
    ["a clock that is handed on", "if (isLate(() => Date.now()) && 5 < limit) {}"],
    ["a turn of the event loop", "setTimeout(done, 0); setImmediate(done);"],
    ["a timer whose delay is a parameter", "const timer = (act, delayMs) => setTimeout(act, delayMs);"],
    ["a sleep whose length is a parameter", 'import { setTimeout } from "node:timers/promises"; await setTimeout(ms);'],
    ["a timer of the test's own clock", "clock.setTimeout(done, 50); await clock.sleep(50);"],
    ["a wait that only the test's limit ends", "await vi.waitFor(isSettled, { timeout: 60_000, interval: 5 });"],
    ["a deadline that is no limit", "expect(validUntil).toBeGreaterThanOrEqual(asked + 300);"],
    ["a count", "expect(calls.length).toBeLessThan(10); expect(steps).toBeLessThanOrEqual(MOST_STEPS);"],
    ["a test that has more than a minute", 'test("dies", run, 120_000); beforeAll(start, LIMIT_MS);'],
    ["a text", 'const docs = "setTimeout(done, 50); performance.now()"; // setTimeout(done, 50)'],
  ])("%s", (_what, text) => {
    expect(findClocks(text)).toEqual([]);
  });
});

test(
  "no test measures the clock, but for the exceptions",
  () => {
    const found = listTests().flatMap((file) =>
      findClocks(readFileSync(ROOT + file, "utf8")).map(({ line, what, code }) => ({
        file,
        at: `${file}:${line} ${what}: ${code}`,
      })),
    );
    const exceptions = Object.keys(EXCEPTIONS);
    const isExcepted = (file: string) =>
      exceptions.some((each) => file === each || (each.endsWith("/") && file.startsWith(each)));
    expect(found.filter(({ file }) => !isExcepted(file)).map(({ at }) => at)).toEqual([]);
    const unused = exceptions.filter((each) => !found.some(({ file }) => file.startsWith(each)));
    expect(unused, "exceptions that nothing needs any more").toEqual([]);
  },
  LIMIT_MS,
);

/** Of those that git knows: tests that run meanwhile make others. */
function listTests(): readonly string[] {
  const { stdout } = spawnSync("git", ["ls-files", "test", "packages"], { cwd: ROOT, encoding: "utf8" });
  const files = stdout.split("\n").filter((file) => TESTS.test(file) && existsSync(ROOT + file));
  expect(files.length).toBeGreaterThan(300);
  return files;
}
