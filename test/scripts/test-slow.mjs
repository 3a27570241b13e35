/**
 * The slow test files, two at a time: some measure how soon something happens.
 *
 * Usage: `pnpm test:slow`
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runOn } from "./nodes.mjs";
import { ROOT } from "./pack.mjs";

const [slow = ""] = readFileSync(join(ROOT, "test/slow.ts"), "utf8").split("];");
const files = slow.match(/"[\w/-]+\.test\.ts"/g) ?? [];
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "--maxWorkers=2"];
process.exitCode = runOn(process.execPath, [...vitest, ...files.map((file) => JSON.parse(file))]);
