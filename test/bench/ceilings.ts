/**
 * What requests cost when it was last recorded, in `ceilings.json`, and how a new measurement compares with it.
 *
 * Counts are the same on every machine, so a single call more is found. Bytes are nearly so: see {@link BYTES_TOLERANCE}. The ratios to bare
 * Express depend on the machine and on what else it does: the benchmark, on a quiet machine, allows {@link QUIET_TOLERANCE}, and `bench:smoke`
 * finds only what has become twice as slow.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { type Cost, type Costs, KINDS, type Kind, SIDES } from "./cases/cost.js";
import type { Side } from "./plan.js";

/** The counts that are the same on every Node. Those of Node's own functions are not. */
const EXACT = ["functions", "calls", "promises", "timers"] as const;

/**
 * An optimized function may allocate less, and V8 decides by time, too, when it optimizes. Between runs beside 30 busy processes, bytes differed by
 * 0.3 % (paid), 1.3 % (unpaid) and 1.9 % (free).
 */
const BYTES_TOLERANCE = 0.03;
export const QUIET_TOLERANCE = 0.1;
export const BUSY_TOLERANCE = 0.5;

const FILE = new URL("../ceilings.json", import.meta.url);

type Recorded = Readonly<Record<Kind, Omit<Cost, "microseconds">>>;

/** The file. */
interface Ceilings {
  readonly node: string;
  /** Of Farebox, for one request. */
  readonly farebox: Recorded;
}

export function readCeilings(): Ceilings {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

export function recordCeilings(costs: Costs): void {
  const of = (kind: Kind) => {
    const { microseconds: _, toBare, ...counted } = costs[kind].farebox;
    return { ...counted, toBare: Math.round(toBare * 100) / 100 };
  };
  const farebox = Object.fromEntries(KINDS.map((kind) => [kind, of(kind)]));
  writeFileSync(FILE, `${JSON.stringify({ node: process.version, farebox }, null, 2)}\n`);
}

/** Whether Farebox is at most so much slower than recorded, beside bare Express. */
export function isFastEnough(
  kind: Kind,
  toBare: number,
  { ceilings, slower }: { readonly ceilings: Ceilings; readonly slower: number },
): boolean {
  return toBare >= ceilings.farebox[kind].toBare * (1 - slower);
}

/** How Farebox's costs exceed the ceilings, in words. `slower` is how much slower than recorded it may be, beside bare Express. */
export function compareWithCeilings(costs: Costs, ceilings: Ceilings, slower: number): readonly string[] {
  const { node, farebox } = ceilings;
  return KINDS.flatMap((kind) => {
    const [cost, ceiling] = [costs[kind].farebox, farebox[kind]];
    const found = EXACT.flatMap((what) => exceeds(`${kind}: ${what}`, cost[what], ceiling[what]));
    if (!isFastEnough(kind, cost.toBare, { ceilings, slower })) {
      found.push(`${kind}: ${cost.toBare.toFixed(2)} of bare Express, recorded are ${ceiling.toBare}`);
    }
    if (node !== process.version) return found;
    const mostBytes = (ceiling.bytes ?? 0) * (1 + BYTES_TOLERANCE);
    return [...found, ...exceeds(`${kind}: bytes`, cost.bytes, mostBytes)];
  });
}

/** The costs that have fallen below the ceilings: a reason to record them. */
export function improvements(costs: Costs, { farebox }: Ceilings): readonly string[] {
  return KINDS.flatMap((kind) =>
    EXACT.flatMap((what) => exceeds(`${kind}: ${what}`, farebox[kind][what], costs[kind].farebox[what])),
  );
}

function exceeds(what: string, count = Number.POSITIVE_INFINITY, ceiling = 0): string[] {
  return count > ceiling ? [`${what}: ${format(count)}, more than ${format(ceiling)}`] : [];
}

const format = (count: number) => String(Math.round(count));

const COLUMNS = ["functions", "calls", "nodeCalls", "promises", "timers", "bytes", "microseconds"] as const;

/** All that was measured, one line for each kind of request and side. */
export function renderCosts(costs: Costs, { farebox }: Ceilings): string {
  const line = (cells: readonly string[]) =>
    cells.map((cell, at) => (at < 2 ? cell.padEnd(10) : cell.padStart(13))).join("");
  const row = (kind: Kind, side: Side) => {
    const cost = costs[kind][side];
    const counts = COLUMNS.map((column) => (cost[column] ?? 0).toFixed(0));
    return line([
      kind,
      side,
      ...counts,
      cost.toBare.toFixed(2),
      side === "farebox" ? String(farebox[kind].toBare) : "",
    ]);
  };
  const rows = KINDS.flatMap((kind) => SIDES.map((side) => row(kind, side)));
  return [line(["request", "side", ...COLUMNS, "of bare", "recorded"]), ...rows].join("\n");
}
