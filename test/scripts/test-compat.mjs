/**
 * What `@farebox/compat` does, beside what the reference does: the reference's example servers, generated sellers and
 * clients, the types of the examples, and all other tests of compat.
 *
 * Usage: `pnpm test:compat [--plans 500] [--seed 7]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { runOn } from "./nodes.mjs";
import { seedEnvironment } from "./seeds.mjs";

const { values } = parseArgs({ options: { plans: { type: "string", default: "500" }, seed: { type: "string" } } });
if (!/^[1-9]\d*$/.test(values.plans)) throw new RangeError(`--plans must be a number above 0, not ${values.plans}`);

const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "--maxWorkers=2"];
process.exitCode = runOn(process.execPath, [...vitest, "test/compat/"], {
  FAREBOX_PLANS: values.plans,
  ...seedEnvironment(values.seed),
});
