/**
 * The page store-benchmarks.md of docs/background: what the stores cost.
 *
 * @module
 */
import type { StoreFigures, StoreLatency, StoreThroughput } from "../cases/stores.js";
import type { Machine } from "../machine.js";
import { count, machineLines, ms, ratio, table } from "./markdown.js";

/** Everything. */
export interface MeasuredStores extends StoreFigures {
  readonly machine: Machine;
  /** Of each store's server or library. */
  readonly storeVersions: string;
}

const NAMES = {
  memory: "in memory",
  redis: "Redis",
  postgres: "PostgreSQL",
  sqlite: "SQLite",
} as const;

/** What a paid request takes longer than with the store in memory, at most. */
const MOST_ADDED_MS = { redis: 1, postgres: 3 } as const;
/** What two processes on Redis serve, to one. */
const LEAST_OF_TWO = 1.7;

/** Writes the document. */
export function renderStoreBenchmarks(measured: MeasuredStores): string {
  const { latencies, throughput } = measured;
  return [
    "# Benchmarks of the stores",
    "",
    "One command measures each [store](../guides/stores.md) and writes this page:",
    "",
    "```sh",
    "npx -y pnpm@10 bench:stores",
    "```",
    "",
    "Store, sellers and load are on one machine. Numbers are medians. Every payment is a new one, and the facilitator accepts",
    "everything. Redis writes its append-only file (`everysec`), PostgreSQL and SQLite wait for the disk at each commit.",
    "",
    ...machineLines(measured.machine, [measured.storeVersions]),
    "",
    "## Targets",
    "",
    ...table(["target", "wanted", "measured", ""], targetsOf(measured)),
    "",
    ...explainScaling(throughput, measured.machine.cores),
    "",
    "## One paid request at a time",
    "",
    "Milliseconds for the whole request, on one connection, with a facilitator 5 ms away in another process. The request waits for",
    "three calls of the store. The seller has one core; load, facilitator and the store's server have the other.",
    "",
    ...table(
      ["store", "payments on record", "in memory", "with the store", "added"],
      latencies.map((row) => [
        NAMES[row.kind],
        count(row.records),
        ms(row.inMemory),
        ms(row.inStore),
        ms(addedMs(row)),
      ]),
    ),
    "",
    "## Several processes on one store",
    "",
    "32 connections, and a facilitator in the process. *A second* is what the whole machine serves, load included. The two last columns",
    "are processor time for one request; that of SQLite is the sellers'. *To one, by processor* is what the processes would serve if",
    "each had a core to itself.",
    "",
    ...table(
      [
        "store",
        "payments on record",
        "processes",
        "a second",
        "to one process",
        "to one, by processor",
        "sellers, ms",
        "store, ms",
      ],
      throughput.map((row) => [
        NAMES[row.kind],
        count(row.records),
        count(row.processes),
        count(row.perSecond),
        ratio(row.perSecond / oneOf(throughput, row).perSecond),
        ratio(byProcessor(throughput, row)),
        ms(row.sellerMs),
        row.storeMs === undefined ? "" : ms(row.storeMs),
      ]),
    ),
    "",
  ].join("\n");
}

function targetsOf({ latencies, throughput }: MeasuredStores): string[][] {
  const added = latencies.flatMap((row) => {
    if (row.kind === "sqlite") return [];
    const [wanted, is] = [MOST_ADDED_MS[row.kind], addedMs(row)];
    const what = `${NAMES[row.kind]}, ${count(row.records)} payments on record: added to a paid request`;
    return [[what, `≤ ${wanted} ms`, `${ms(is)} ms`, verdict(is <= wanted)]];
  });
  const two = throughput.filter(({ kind, processes }) => kind === "redis" && processes === 2);
  const scaling = two.flatMap((row) => {
    const values = [
      ["on this machine, load and Redis beside them", row.perSecond / oneOf(throughput, row).perSecond],
      ["by processor, with a core each", byProcessor(throughput, row)],
    ] as const;
    return values.map(([how, value]) => [
      `two processes on Redis to one: ${how}`,
      `≥ ${LEAST_OF_TWO}`,
      ratio(value),
      verdict(value >= LEAST_OF_TWO),
    ]);
  });
  return [...added, ...scaling];
}

/** How many processes a machine like this can keep at work, and one server of Redis. */
function explainScaling(throughput: readonly StoreThroughput[], cores: number): string[] {
  const two = throughput.find(({ kind, processes }) => kind === "redis" && processes === 2);
  if (two?.storeMs === undefined) return [];
  const perCore = 1000 / two.sellerMs;
  const limit = 1000 / two.storeMs;
  return [
    `Two processes at work, Redis and the load want more than the ${cores} cores of this machine, so the figure by processor is the one that`,
    `tells about a server with more of them. A request takes a seller ${ms(oneOf(throughput, two).sellerMs)} ms of processor time with one process, and`,
    `${ms(two.sellerMs)} ms with two. Redis spends ${ms(two.storeMs)} ms on a payment and has one thread: it is busy at about ${count(limit)} payments a second, which`,
    `${count(limit / perCore)} seller processes bring about.`,
  ];
}

function oneOf(throughput: readonly StoreThroughput[], { kind }: StoreThroughput): StoreThroughput {
  const one = throughput.find((row) => row.kind === kind && row.processes === 1 && row.records === 0);
  if (one === undefined) throw new RangeError(`${kind} was not measured with one process`);
  return one;
}

function byProcessor(throughput: readonly StoreThroughput[], row: StoreThroughput): number {
  return (row.processes * oneOf(throughput, row).sellerMs) / row.sellerMs;
}

const addedMs = ({ inStore, inMemory }: StoreLatency): number => inStore - inMemory;
const verdict = (isMet: boolean): string => (isMet ? "met" : "**missed**");
