/**
 * Measures bare Express, the reference and Farebox side by side, and writes `docs/background/benchmarks.md`, the figures that it
 * is made of, and its charts. This process and all load run on Node 24; servers run on it, on 22 and on 26.
 *
 * Usage: `npx -y pnpm@10 bench`. With `--soak` only the minutes of load are measured, and the other figures stay; with
 * `--minutes 2` they are fewer than ten. `--quick` tries everything in little time and writes into a new temporary folder.
 * `--render` writes the page and the charts again from the figures of the last run.
 * `--only <part of a title>` measures some cases, or one of the other parts by its name, and prints JSON.
 *
 * A full run fails when a request costs more than was recorded in `ceilings.json`; of processor time beside bare Express, when it costs a tenth more.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { measureCosts } from "./cases/cost.js";
import type { Effort } from "./cases/effort.js";
import { measureFirstEvents } from "./cases/events.js";
import { measureHostile } from "./cases/hostile.js";
import { measureInstalls } from "./cases/install.js";
import { measureLarge } from "./cases/large.js";
import { measureLatencies } from "./cases/latency.js";
import { measureSlowFacilitator } from "./cases/slow-facilitator.js";
import { measureSteady } from "./cases/steady.js";
import { measureThroughput, THROUGHPUT_CASES, type Throughput, type ThroughputCase } from "./cases/throughput.js";
import { compareWithCeilings, QUIET_TOLERANCE, readCeilings, renderCosts } from "./ceilings.js";
import { awaitQuiet, describeMachine } from "./machine.js";
import { type Measured, renderBenchmarks, type ThroughputRow } from "./pages/benchmarks.js";
import { drawCharts } from "./pages/charts.js";
import type { Soak } from "./pages/soak.js";
import { TARGET_MAJOR } from "./pages/targets.js";

/** From where this is when it is compiled. */
const ROOT = new URL("../../../", import.meta.url);
const DOCS = fileURLToPath(new URL("docs/background/", ROOT));

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    soak: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    render: { type: "boolean", default: false },
    minutes: { type: "string" },
  },
});
const minutes = Number(options.minutes ?? (options.quick ? 0.2 : 10));
if (!(minutes > 0)) throw new RangeError(`--minutes must be a number above 0, not ${options.minutes}`);

const note = (what: string) => void process.stderr.write(`\r\u001b[2K${what}`);
const FULL: Effort = { generations: 2, rounds: 2, seconds: 1.5, warmUpSeconds: 2, requests: 200, note };
const QUICK: Effort = { generations: 1, rounds: 1, seconds: 0.2, warmUpSeconds: 0, requests: 10, note };
const effort = options.quick ? QUICK : FULL;

const isMeant = !options.quick && !options.render && options.only === undefined;
if (isMeant) await awaitQuiet();
if (isMeant && !options.soak) await checkCosts();
if (options.only !== undefined) await printSome(options.only);
else if (options.render) write(readFigures());
else write(options.soak ? { ...readFigures(), soak: await measureSoak() } : await measureAll());

/** First of all, as long as the machine is quiet. */
async function checkCosts(): Promise<void> {
  const [costs, ceilings] = [await measureCosts({ rounds: 40, requests: 500 }), readCeilings()];
  const exceeded = compareWithCeilings(costs, ceilings, QUIET_TOLERANCE);
  note([renderCosts(costs, ceilings), ...exceeded.map((each) => `TOO MUCH: ${each}`), ""].join("\n"));
  if (exceeded.length > 0) process.exitCode = 1;
}

async function measureAll(): Promise<Measured> {
  const machine = describeMachine(ROOT);
  const nodes = await findNodes();
  const installs = await measureInstalls(ROOT, effort);
  const throughput: ThroughputRow[] = [];
  for (const what of THROUGHPUT_CASES) throughput.push(await measureCase(what, nodes));
  return {
    machine,
    throughput,
    latencies: await measureLatencies(effort),
    large: await measureLarge(effort),
    firstEvents: await measureFirstEvents(effort),
    hostile: await measureHostile(effort),
    installs,
    soak: await measureSoak(),
  };
}

/** Programs by their versions, the one of the targets first. */
async function findNodes(): Promise<ReadonlyMap<string, string>> {
  const { findNode } = await import(new URL("test/scripts/nodes.mjs", ROOT).href);
  const programs = [TARGET_MAJOR, 22, 26].map((major): string => findNode(major));
  return new Map(programs.map((node) => [execFileSync(node, ["--version"], { encoding: "utf8" }).trim(), node]));
}

async function measureCase(what: ThroughputCase, nodes: ReadonlyMap<string, string>): Promise<ThroughputRow> {
  const byNode: Record<string, Throughput> = {};
  for (const [version, node] of nodes) {
    // The others are columns beside the first.
    const share = Object.keys(byNode).length === 0 ? {} : { generations: 1, rounds: 1 };
    const onNode = { ...effort, ...share, note: (text: string) => note(`Node ${version}, ${text}`) };
    byNode[version] = await measureThroughput(what, node, onNode);
  }
  return { title: what.title, ...sizeOf(what), byNode };
}

/** What the chart of cost by size shows. */
function sizeOf({ title, plan = {} }: ThroughputCase): Pick<ThroughputRow, "keys" | "records"> {
  if (title.startsWith("free")) return { keys: Math.max(plan.fillers ?? 0, 1) };
  return plan.records === undefined ? {} : { records: plan.records };
}

async function measureSoak(): Promise<Soak> {
  const machine = describeMachine(ROOT);
  const steady = await measureSteady(minutes, effort);
  return { machine, minutes, steady, slow: await measureSlowFacilitator(minutes, effort) };
}

function readFigures(): Measured {
  return JSON.parse(readFileSync(join(DOCS, "benchmarks.json"), "utf8"));
}

function write(measured: Measured): void {
  const folder = options.quick ? mkdtempSync(join(tmpdir(), "farebox-bench-")) : DOCS;
  mkdirSync(join(folder, "charts"), { recursive: true });
  for (const [name, svg] of Object.entries(drawCharts(measured))) writeFileSync(join(folder, "charts", name), svg);
  writeFileSync(join(folder, "benchmarks.json"), `${JSON.stringify(measured, null, 2)}\n`);
  writeFileSync(join(folder, "benchmarks.md"), renderBenchmarks(measured));
  note(`${join(folder, "benchmarks.md")} is written.\n`);
}

async function printSome(part: string): Promise<void> {
  const print = (value: unknown) => process.stdout.write(`\n${JSON.stringify(value, null, 2)}\n`);
  const nodes = await findNodes();
  for (const what of THROUGHPUT_CASES.filter(({ title }) => title.includes(part)))
    print(await measureCase(what, nodes));
  const others: Readonly<Record<string, () => Promise<unknown>>> = {
    install: () => measureInstalls(ROOT, effort),
    latency: () => measureLatencies(effort),
    large: () => measureLarge(effort),
    events: () => measureFirstEvents(effort),
    hostile: () => measureHostile(effort),
    steady: () => measureSteady(minutes, effort),
    "slow facilitator": () => measureSlowFacilitator(minutes, effort),
  };
  const other = others[part];
  if (other !== undefined) print(await other());
}
