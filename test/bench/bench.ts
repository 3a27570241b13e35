/**
 * Measures bare Express, the reference and Farebox side by side, and writes `docs/background/benchmarks.md` and `docs/background/benchmarks.json`.
 *
 * Usage: `npx -y pnpm@10 bench`. With `--only <part of a name>` only some of it is measured, and nothing is written.
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import type { Effort } from "./cases/effort.js";
import { measureFirstEvents } from "./cases/events.js";
import { measureHostile } from "./cases/hostile.js";
import { measureInstalls } from "./cases/install.js";
import { measureLarge } from "./cases/large.js";
import { measureLatencies } from "./cases/latency.js";
import { measureThroughput, THROUGHPUT_CASES, type Throughput } from "./cases/throughput.js";
import { type Measured, renderBenchmarks } from "./document.js";
import { describeMachine } from "./machine.js";

/** From where this is when it is compiled. */
const ROOT = new URL("../../../", import.meta.url);

const EFFORT: Effort = {
  generations: 3,
  rounds: 2,
  seconds: 2,
  warmUpSeconds: 3,
  requests: 200,
  note: (what) => process.stderr.write(`\r\u001b[2K${what}`),
};

const only = process.argv[process.argv.indexOf("--only") + 1];
if (process.argv.includes("--only")) await measureSome(only ?? "");
else await measureAll();

async function measureAll(): Promise<void> {
  const installs = await measureInstalls(ROOT, EFFORT);
  const throughput: Throughput[] = [];
  for (const what of THROUGHPUT_CASES) throughput.push(await measureThroughput(what, EFFORT));
  const measured: Measured = {
    machine: describeMachine(ROOT),
    throughput,
    latencies: await measureLatencies(EFFORT),
    large: await measureLarge(EFFORT),
    firstEvents: await measureFirstEvents(EFFORT),
    hostile: await measureHostile(EFFORT),
    installs,
  };
  writeFileSync(new URL("docs/background/benchmarks.json", ROOT), `${JSON.stringify(measured, null, 2)}\n`);
  writeFileSync(new URL("docs/background/benchmarks.md", ROOT), renderBenchmarks(measured));
  EFFORT.note("docs/background/benchmarks.md is written.\n");
}

async function measureSome(part: string): Promise<void> {
  const print = (value: unknown) => process.stdout.write(`\n${JSON.stringify(value, null, 2)}\n`);
  for (const what of THROUGHPUT_CASES.filter(({ title }) => title.includes(part))) {
    print(await measureThroughput(what, EFFORT));
  }
  if (part === "install") print(await measureInstalls(ROOT, EFFORT));
  if (part === "latency") print(await measureLatencies(EFFORT));
  if (part === "large") print(await measureLarge(EFFORT));
  if (part === "events") print(await measureFirstEvents(EFFORT));
  if (part === "hostile") print(await measureHostile(EFFORT));
}
