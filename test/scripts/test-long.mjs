/**
 * The generated tests, drawn again and again from new seeds. A failure names the seed that repeats it. With `--minutes 0` those that
 * `pnpm test` leaves out are drawn once.
 *
 * The generated apps of test/bypass get a number of requests, however long that takes: a million takes 10 to 25
 * minutes on two cores.
 *
 * Usage: `pnpm test:long [--minutes 20] [--requests 1000000] [--seed 7] [part of a file's name ...]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { runOn } from "./nodes.mjs";
import { seedEnvironment } from "./seeds.mjs";

/** Each file, and how many of its tests draw: one, or one for each version of Express. */
const FILES = {
  "test/bypass/any-bytes.test.ts": 2,
  "test/bypass/express-4.test.ts": 1,
  "test/bypass/express-5.test.ts": 1,
  "test/bypass/garbage-keys.test.ts": 1,
  "test/bypass/remembered-paths.test.ts": 2,
  "test/cli/ledger/reconcile.test.ts": 1,
  "test/express/metered-random.test.ts": 2,
  "test/faults/random/sequences.test.ts": 2,
  "test/paywall/looks.test.ts": 1,
  "test/security/redos.test.ts": 1,
};
/** Those that `pnpm test` draws, too: once is enough. */
const DRAWN_BEFORE = ["any-bytes", "reconcile", "metered-random"];
const WORKERS = 2;

const { values, positionals } = parseArgs({
  options: {
    minutes: { type: "string", default: "20" },
    requests: { type: "string", default: "1000000" },
    seed: { type: "string" },
  },
  allowPositionals: true,
});
const minutes = Number(values.minutes);
if (!(minutes >= 0)) throw new RangeError(`--minutes must be a number, not ${values.minutes}`);
const requests = Number(values.requests);
if (!(requests >= 0)) throw new RangeError(`--requests must be a number, not ${values.requests}`);
const files = Object.keys(FILES)
  .filter((file) => positionals.every((part) => file.includes(part)))
  .filter((file) => minutes > 0 || !DRAWN_BEFORE.some((name) => file.includes(name)));
if (files.length === 0) throw new RangeError(`no generated test is called ${positionals.join(" ")}`);

const tests = files.reduce((sum, file) => sum + FILES[file], 0);
const seconds = Math.ceil((minutes * 60 * Math.min(WORKERS, files.length)) / tests);
const vitest = [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--config",
  "test/vitest.config.ts",
  `--maxWorkers=${WORKERS}`,
];
process.exitCode = runOn(process.execPath, [...vitest, ...files], {
  FAREBOX_SECONDS: String(seconds),
  // Half of them on each version of Express.
  FAREBOX_REQUESTS: String(Math.ceil(requests / 2)),
  ...seedEnvironment(values.seed),
});
