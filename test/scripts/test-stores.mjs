/**
 * The conformance tests of the stores with all clients of Redis and PostgreSQL, in all supported versions. `pnpm test` runs one
 * client of each library.
 *
 * Usage: `pnpm test:stores`
 *
 * @module
 */
import { runOn } from "./nodes.mjs";

process.exitCode = runOn(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "packages/stores"],
  { FAREBOX_ALL_CLIENTS: "1" },
);
