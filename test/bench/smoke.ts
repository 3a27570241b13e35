/**
 * A quick look at what a request costs: counts, which are the same on every machine, and processor time beside bare Express and the reference in
 * the same minute. It fails when a count is above its ceiling, or when Farebox is twice as slow as it was recorded; a busy machine changes neither.
 *
 * Usage: `npx -y pnpm@10 bench:smoke`, which runs it on Node 24: performance is judged there. `bench:smoke --record` writes `ceilings.json`; record
 * on a quiet machine.
 *
 * @module
 */
import { type Kind, measureCosts } from "./cases/cost.js";
import {
  BUSY_TOLERANCE,
  compareWithCeilings,
  improvements,
  isFastEnough,
  readCeilings,
  recordCeilings,
  renderCosts,
} from "./ceilings.js";

const THOROUGH = { rounds: 40, requests: 500 };

// What is recorded is measured as thoroughly as the benchmark measures it.
if (process.argv.includes("--record")) recordCeilings(await measureCosts(THOROUGH));
const ceilings = readCeilings();
const isEnough = (kind: Kind, toBare: number) => isFastEnough(kind, toBare, { ceilings, slower: BUSY_TOLERANCE });
const costs = await measureCosts({ rounds: 12, requests: 150, isEnough });
const print = (lines: readonly string[]) => process.stdout.write(lines.map((line) => `${line}\n`).join(""));

print([`Of one request, on Node ${process.version}:`, renderCosts(costs, ceilings)]);
if (ceilings.node !== process.version) print([`Bytes are not compared: they were recorded on ${ceilings.node}.`]);
print(improvements(costs, ceilings).map((each) => `Record what has fallen, by bench:smoke --record. ${each}`));
const exceeded = compareWithCeilings(costs, ceilings, BUSY_TOLERANCE);
print(exceeded.map((each) => `TOO MUCH: ${each}`));
if (exceeded.length > 0) process.exitCode = 1;
