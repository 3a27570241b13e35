/**
 * The random sequences, for as long as you like: `node test/faults/random/long-run.mjs [sequences for each version of
 * Express]`, by default 5,000. `FAREBOX_SEED` repeats a run. Build first: `npx -y pnpm@10 build`.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "test/faults/random"],
  { cwd: root, stdio: "inherit", env: { ...process.env, FAREBOX_RUNS: process.argv[2] ?? "5000" } },
);
process.exitCode = status ?? 1;
