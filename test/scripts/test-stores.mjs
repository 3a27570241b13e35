/**
 * The tests of the stores, on real servers, with all clients of Redis and PostgreSQL, in all supported versions. One client of each
 * server and library passes all checks of conformance, and the others those that a client can fail. Then the golden sequences that
 * `pnpm test` leaves out.
 *
 * Usage: `pnpm test:stores`
 *
 * @module
 */
import { runOn } from "./nodes.mjs";

process.exitCode = runOn(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--config",
    "test/vitest.config.ts",
    "--maxWorkers=3",
    "packages/stores",
    "test/golden",
  ],
  { FAREBOX_ALL_CLIENTS: "1", FAREBOX_GOLDEN: "others" },
);
