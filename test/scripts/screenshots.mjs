/**
 * Screenshots of the pages for people, at three widths, light and dark. They are for looking at, and are not kept.
 *
 * Usage: `pnpm screenshots [folder]`, by default `node_modules/.cache/farebox-screenshots`
 *
 * @module
 */
import { join, resolve } from "node:path";
import { runOn } from "./nodes.mjs";
import { ROOT } from "./pack.mjs";

const folder = resolve(process.argv[2] ?? join(ROOT, "node_modules/.cache/farebox-screenshots"));
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
process.exitCode = runOn(process.execPath, [...vitest, "test/paywall/screenshots.test.ts"], {
  FAREBOX_SCREENSHOTS: folder,
});
console.log(`the screenshots are in ${folder}`);
