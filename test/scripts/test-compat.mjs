/**
 * What `@farebox/express/compat` does, beside what the reference does: the reference's example servers, generated sellers and
 * clients, the types of the examples, and all other tests of compat.
 *
 * Usage: `pnpm test:compat [--plans 500] [--seed 7]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { runOn } from "./nodes.mjs";

const { values } = parseArgs({ options: { plans: { type: "string", default: "500" }, seed: { type: "string" } } });
if (!/^[1-9]\d*$/.test(values.plans)) throw new RangeError(`--plans must be a number above 0, not ${values.plans}`);
const seed = values.seed ?? String(Date.now() % 0x3fffffff);
if (!/^\d+$/.test(seed)) throw new RangeError(`--seed must be a whole number, not ${seed}`);

const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "--maxWorkers=2"];
process.exitCode = runOn(process.execPath, [...vitest, "test/compat/"], {
  FAREBOX_PLANS: values.plans,
  FAREBOX_SEED: seed,
});
