/**
 * The conformance tests of the stores with all clients of Redis and PostgreSQL, in all supported versions, and the golden sequences
 * that `pnpm test` leaves out. `pnpm test` runs one client of each library, and a third of the golden sequences in memory.
 *
 * Usage: `pnpm test:stores`
 *
 * @module
 */
import { runOn } from "./nodes.mjs";

process.exitCode = runOn(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "packages/stores", "test/golden"],
  { FAREBOX_ALL_CLIENTS: "1", FAREBOX_GOLDEN: "others" },
);
