/**
 * Kills sellers, and the servers of their stores, at each point of a payment: random sequences on each store. A failure names the seed
 * that repeats it.
 *
 * A thousand sequences take 15 to 30 minutes for each store on two cores.
 *
 * Usage: `pnpm test:chaos [--store redis|postgres|sqlite] [--sequences 1000] [--shops 8] [--seed 7]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { runOn } from "./nodes.mjs";
import { seedEnvironment } from "./seeds.mjs";

const STORES = ["redis", "postgres", "sqlite"];

const { values } = parseArgs({
  options: {
    store: { type: "string" },
    sequences: { type: "string", default: "1000" },
    shops: { type: "string", default: "8" },
    seed: { type: "string" },
  },
});
const { store, sequences, shops, seed } = values;
if (store !== undefined && !STORES.includes(store)) throw new RangeError(`--store must be one of ${STORES.join(", ")}`);
for (const [name, text] of Object.entries({ sequences, shops })) {
  if (!/^[1-9]\d*$/.test(text)) throw new RangeError(`--${name} must be a whole number above 0, not ${text}`);
}

process.exitCode = runOn(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "test/chaos"],
  {
    FAREBOX_CHAOS_SEQUENCES: sequences,
    FAREBOX_CHAOS_SHOPS: shops,
    ...(store === undefined ? {} : { FAREBOX_CHAOS_STORE: store }),
    ...seedEnvironment(seed),
  },
);
