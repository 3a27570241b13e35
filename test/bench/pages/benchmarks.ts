/**
 * `docs/background/benchmarks.md`: what was measured, and which of our targets it meets.
 *
 * @module
 */
import type { FirstEvent } from "../cases/events.js";
import type { Hostile } from "../cases/hostile.js";
import type { Install } from "../cases/install.js";
import type { Large } from "../cases/large.js";
import type { Latency } from "../cases/latency.js";
import type { Throughput } from "../cases/throughput.js";
import type { Machine } from "../machine.js";
import { count, machineLines, ms, ratio, table } from "./markdown.js";
import { renderSoak, type Soak } from "./soak.js";
import { judge, TARGET_MAJOR } from "./targets.js";

/** Everything. */
export interface Measured {
  readonly machine: Machine;
  readonly throughput: readonly ThroughputRow[];
  readonly latencies: readonly Latency[];
  readonly large: readonly Large[];
  readonly firstEvents: readonly FirstEvent[];
  readonly hostile: readonly Hostile[];
  readonly installs: readonly Install[];
  readonly soak?: Soak;
}

/** One case on each Node. */
export interface ThroughputRow {
  readonly title: string;
  /** How many keys the table has, of a case that is about it. */
  readonly keys?: number;
  /** How many payments are on record, of a case that is about it. */
  readonly records?: number;
  /** By the version of the Node that ran the servers: first that of the machine, which is the one of the targets. */
  readonly byNode: Readonly<Record<string, Throughput>>;
}

/** The versions of Node that ran servers. */
export function nodesOf({ throughput }: Measured): readonly string[] {
  return Object.keys(throughput[0]?.byNode ?? {});
}

/** Writes the document. */
export function renderBenchmarks(measured: Measured): string {
  const main = measured.machine.node;
  return [
    "# Benchmarks",
    "",
    "One command measures bare Express, the reference (`@x402/express`) and Farebox side by side, and writes this page:",
    "",
    "```sh",
    "npx -y pnpm@10 bench",
    "```",
    "",
    "Each side runs in several processes of its own, in turns. Numbers are medians. Ratios are medians of the ratios of each",
    "round. *Bare* is Express that sends the same bytes as Farebox: the same handlers with the same headers, or a prepared body",
    "for a 402. Every payment is a new one. The facilitator accepts everything, so only the seller's work is measured. Claims",
    "and the check for duplicates are on in every case.",
    "",
    ...machineLines(measured.machine),
    "",
    ...targetLines(measured),
    "",
    "## Requests per second of the server's processor",
    "",
    `Of Node ${main}. Garbage collection and compilation are included. The speed of the client does not count.`,
    "",
    ...table(
      ["", "bare", "Farebox", "reference", "Farebox to bare", "reference to bare", "Farebox to reference"],
      measured.throughput.flatMap(({ title, byNode }) => {
        const row = byNode[main];
        if (row === undefined) return [];
        const figures = [count(row.bare), count(row.farebox), optional(row.reference, count), ratio(row.fareboxToBare)];
        return [[title, ...figures, optional(row.referenceToBare, ratio), optional(row.fareboxToReference, ratio)]];
      }),
    ),
    "",
    "The reference is compared with bare Express that sends the reference's bytes. [performance.md](performance.md) explains",
    "the figures.",
    "",
    ...byNodeLines(measured),
    "![Ratios to bare Express](charts/ratios.svg)",
    "",
    "![Cost by the number of keys and records](charts/cost.svg)",
    "",
    "## One paid request at a time",
    "",
    "Milliseconds for the whole request, on one connection, with a facilitator in another process.",
    "",
    ...table(
      ["", "to the facilitator and back", "trips", "bare", "Farebox", "reference"],
      measured.latencies.map((row) => [
        row.title,
        ms(row.trip),
        count(row.trips),
        ms(row.bare),
        ms(row.farebox),
        ms(row.reference),
      ]),
    ),
    "",
    "The round trip to the facilitator is timed like the requests, from the servers' core. The reference settles after the handler in every row.",
    "",
    "## A download of 200 MB",
    "",
    ...table(
      ["", "MB per second", "first byte, ms", "peak memory, MB"],
      measured.large.map((row) => [
        row.title,
        count(row.megabytesPerSecond),
        ms(row.firstByteMs),
        count(row.peakMegabytes),
      ]),
    ),
    "",
    "## The first of a stream of events",
    "",
    "The handler writes the first event at once and the last one half a second later. Milliseconds. Streams that are paid by what was",
    "delivered: [metered streams](metered-benchmarks.md).",
    "",
    ...table(
      ["", "first event"],
      measured.firstEvents.map((row) => [row.title, ms(row.firstByteMs)]),
    ),
    "",
    "## Hostile headers",
    "",
    "Milliseconds for the whole request that Farebox refuses.",
    "",
    ...table(
      ["`PAYMENT-SIGNATURE`", "median", "slowest"],
      measured.hostile.map((row) => [row.title, ms(row.medianMs), ms(row.slowestMs)]),
    ),
    "",
    "## Install and start",
    "",
    "Installed with npm from packed tarballs into an empty folder, then imported in a new process.",
    "",
    ...table(
      ["installed", "packages", "MB", "import, ms", "memory after it, MB"],
      measured.installs.map((row) => [
        `\`${row.title}\``,
        count(row.packages),
        row.megabytes.toFixed(1),
        ms(row.importMs),
        count(row.megabytesOfMemory),
      ]),
    ),
    "",
    ...renderSoak(measured.soak),
  ].join("\n");
}

function targetLines(measured: Measured): string[] {
  const main = measured.machine.node;
  const heading = ["## Targets", ""];
  if (!main.startsWith(`v${TARGET_MAJOR}.`)) {
    const why = `These figures are of Node ${main} and of earlier code, and are not judged by them.`;
    return [...heading, `The targets are those of Node ${TARGET_MAJOR}. ${why}`];
  }
  return [
    ...heading,
    `On Node ${TARGET_MAJOR}.`,
    "",
    ...table(
      ["target", "wanted", "measured", ""],
      judge(measured).map(({ what, wanted, measured: is, isMet }) => [what, wanted, is, isMet ? "met" : "**missed**"]),
    ),
  ];
}

function byNodeLines(measured: Measured): string[] {
  const nodes = nodesOf(measured);
  if (nodes.length < 2) return [];
  const heads = nodes.flatMap((node) => [`Farebox, ${node}`, `reference, ${node}`]);
  return [
    "The same on each Node, to bare Express:",
    "",
    ...table(
      ["", ...heads],
      measured.throughput.map(({ title, byNode }) => [
        title,
        ...nodes.flatMap((node) => [
          optional(byNode[node]?.fareboxToBare, ratio),
          optional(byNode[node]?.referenceToBare, ratio),
        ]),
      ]),
    ),
    "",
  ];
}

function optional(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? "" : format(value);
}
