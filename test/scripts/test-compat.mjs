/**
 * What `@farebox/express/compat` does, beside what the reference does: the reference's example servers, generated sellers and
 * clients, and the types of the examples. The other tests of compat are in `pnpm test`.
 *
 * Usage: `pnpm test:compat [--plans 500] [--seed 7]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { runOn } from "./nodes.mjs";

const FILES = ["differential", "reference", "types"].map((folder) => `test/compat/${folder}`);

const { values } = parseArgs({ options: { plans: { type: "string", default: "500" }, seed: { type: "string" } } });
if (!/^[1-9]\d*$/.test(values.plans)) throw new RangeError(`--plans must be a number above 0, not ${values.plans}`);
const seed = values.seed ?? String(Date.now() % 0x3fffffff);
if (!/^\d+$/.test(seed)) throw new RangeError(`--seed must be a whole number, not ${seed}`);

const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "--maxWorkers=2"];
process.exitCode = runOn(process.execPath, [...vitest, ...FILES], {
  FAREBOX_PLANS: values.plans,
  FAREBOX_SEED: seed,
});
