/**
 * The tests of `pnpm test` that run on each version of Express, on Express 4.
 *
 * Usage: `pnpm test:express4`
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runOn } from "./nodes.mjs";
import { ROOT } from "./pack.mjs";

const slow = readFileSync(join(ROOT, "test/slow.ts"), "utf8");
const files = ["test/express", "test/extensions", "test/mcp", "test/wrapped"]
  .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`))
  .filter((file) => file.endsWith(".test.ts") && !slow.includes(`"${file}"`))
  .filter((file) => /\.each\(VERSIONS\)/.test(readFileSync(join(ROOT, file), "utf8")));

const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
process.exitCode = runOn(process.execPath, [...vitest, ...files, "-t", "Express 4"], { FAREBOX_EXPRESS: "4" });
