/**
 * Measures metered streams beside free ones, and writes the page metered-benchmarks.md and metered-benchmarks.json in docs/background.
 *
 * Usage: `npx -y pnpm@10 bench:metered`. With `--quick` little is measured, and the page is printed. `--render` writes the page again
 * from the figures of the last run.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Effort } from "./cases/effort.js";
import { measureMetered } from "./cases/metered.js";
import { describeMachine } from "./machine.js";
import { type MeasuredMetered, renderMeteredBenchmarks } from "./pages/metered.js";

/** From where this is when it is compiled. */
const ROOT = new URL("../../../", import.meta.url);
const FIGURES = new URL("docs/background/metered-benchmarks.json", ROOT);
const PAGE = new URL("docs/background/metered-benchmarks.md", ROOT);

const note = (what: string) => void process.stderr.write(`\r\u001b[2K${what}`);
const EFFORT: Effort = { generations: 1, rounds: 5, seconds: 4, warmUpSeconds: 2, requests: 50, note };
const QUICK: Effort = { generations: 1, rounds: 1, seconds: 1, warmUpSeconds: 0.2, requests: 10, note };

const isQuick = process.argv.includes("--quick");
const measured = process.argv.includes("--render") ? readFigures() : await measure();
if (isQuick) process.stdout.write(`\n${renderMeteredBenchmarks(measured)}`);
else {
  writeFileSync(FIGURES, `${JSON.stringify(measured, null, 2)}\n`);
  writeFileSync(PAGE, renderMeteredBenchmarks(measured));
  note("docs/background/metered-benchmarks.md is written.\n");
}

async function measure(): Promise<MeasuredMetered> {
  const machine = describeMachine(ROOT);
  return { machine, ...(await measureMetered(isQuick ? QUICK : EFFORT)) };
}

function readFigures(): MeasuredMetered {
  return JSON.parse(readFileSync(FIGURES, "utf8"));
}
