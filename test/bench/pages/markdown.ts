/**
 * What the pages of benchmarks share: tables, numbers, and on what was measured.
 *
 * @module
 */
import type { Machine } from "../machine.js";

/** Describes a run: when, on which machine, with which versions. `more`: versions besides. */
export function machineLines(machine: Machine, more: readonly string[] = []): string[] {
  const { processor, cores, memoryGigabytes, system, node, isPinned, versions, loadAverage = 0 } = machine;
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const pinned = isPinned ? "servers on one core, load on another" : "servers and load share the cores";
  return [
    `Measured on ${machine.date} with Node ${node}: ${processor}, ${cores} cores, ${memoryGigabytes} GB, ${system}; ${pinned}.`,
    `${[...names, ...more].join(", ")}.`,
    ...(loadAverage < 1 ? [] : busyLines(loadAverage)),
  ];
}

/** Figures of a busy machine say so. */
function busyLines(loadAverage: number): string[] {
  return [
    "",
    `**The load average was ${ratio(loadAverage)} in the minute before.** If other work went on, times in milliseconds are upper bounds, and`,
    "requests a second tell little. Processor time is less affected. Run the command again on a quiet machine.",
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
/** Megabytes of a number of bytes. */
export const megabytes = (bytes: number): string => count(bytes / 1_000_000);
