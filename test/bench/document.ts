/**
 * `docs/background/benchmarks.md`: what was measured, and which of our targets it meets.
 *
 * @module
 */
import type { FirstEvent } from "./cases/events.js";
import type { Hostile } from "./cases/hostile.js";
import type { Install } from "./cases/install.js";
import type { Large } from "./cases/large.js";
import type { Latency } from "./cases/latency.js";
import type { Throughput } from "./cases/throughput.js";
import type { Machine } from "./machine.js";
import { judge } from "./targets.js";

/** Everything. */
export interface Measured {
  readonly machine: Machine;
  readonly throughput: readonly Throughput[];
  readonly latencies: readonly Latency[];
  readonly large: readonly Large[];
  readonly firstEvents: readonly FirstEvent[];
  readonly hostile: readonly Hostile[];
  readonly installs: readonly Install[];
}

/** Writes the document. */
export function renderBenchmarks(measured: Measured): string {
  return [
    "# Benchmarks",
    "",
    "One command measures bare Express, the reference (`@x402/express`) and Farebox side by side, and writes this page:",
    "",
    "```sh",
    "npx -y pnpm@10 bench",
    "```",
    "",
    "Each side runs in several processes of its own, in turns, with load from autocannon. Numbers are medians. Ratios are",
    "medians of the ratios of each round. *Bare* is Express that sends the same bytes as Farebox: the same handlers with the",
    "same headers, or a prepared body for a 402. Every payment is a new one. The facilitator accepts everything, so only the",
    "seller's work is measured. Claims and the check for duplicates are on in every case.",
    "",
    ...machineLines(measured.machine),
    "",
    "## Targets",
    "",
    ...table(
      ["target", "wanted", "measured", ""],
      judge(measured).map((target) => [
        target.what,
        target.wanted,
        target.measured,
        target.isMet ? "met" : "**missed**",
      ]),
    ),
    "",
    "## Requests per second of the server's processor",
    "",
    "Garbage collection and compilation are included. The speed of the client does not count.",
    "",
    ...table(
      ["", "bare", "Farebox", "reference", "Farebox to bare", "reference to bare", "Farebox to reference"],
      measured.throughput.map((row) => [
        row.title,
        count(row.bare),
        count(row.farebox),
        count(row.reference),
        ratio(row.fareboxToBare),
        ratio(row.referenceToBare),
        ratio(row.fareboxToReference),
      ]),
    ),
    "",
    "The reference is compared with bare Express that sends the reference's bytes. [performance.md](performance.md) explains",
    "the figures.",
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
    "The handler writes the first event at once and the last one half a second later. Milliseconds.",
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
  ].join("\n");
}

/** Describes the machine, in two lines. */
export function machineLines({
  processor,
  cores,
  memoryGigabytes,
  system,
  node,
  isPinned,
  versions,
}: Machine): string[] {
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const pinned = isPinned ? "servers on one core, load on another" : "servers and load share the cores";
  return [
    `${processor}, ${cores} cores, ${memoryGigabytes} GB, ${system}, Node ${node}; ${pinned}.`,
    `${names.join(", ")}.`,
  ];
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)];
}

/** A number without decimals. */
export const count = (value: number): string => Math.round(value).toLocaleString("en");
/** A number with two decimals. */
export const ratio = (value: number): string => value.toFixed(2);
/** Milliseconds. */
export const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
