/**
 * The section of `docs/background/benchmarks.md` about minutes of load.
 *
 * @module
 */
import type { SlowFacilitator } from "../cases/slow-facilitator.js";
import type { Steady } from "../cases/steady.js";
import type { Machine } from "../machine.js";
import type { Interval } from "../processes/load.js";
import { median } from "../statistics.js";
import { count, machineLines, megabytes, ms, table } from "./markdown.js";

/** What a soak has measured. */
export interface Soak {
  readonly machine: Machine;
  readonly minutes: number;
  readonly steady: readonly Steady[];
  readonly slow: readonly SlowFacilitator[];
}

/** One third of a run with a slow facilitator. */
export interface Phase {
  readonly name: "before" | "slow" | "after";
  readonly refused: number;
  readonly mostWaiting: number;
  readonly paidP50: number;
  /** Of the worst interval. */
  readonly paidP99: number;
  /** Of the interval in the middle. One interval of hundreds of requests has its own outlier. */
  readonly unpaidP99: number;
  readonly freeP99: number;
  /** The most memory that the process had. */
  readonly bytes: number;
}

/** Divides a run. */
export function phasesOf({ paid, unpaid, free, memory, phaseSeconds }: SlowFacilitator): Phase[] {
  const third = <T>(all: readonly T[], at: number) => all.slice((all.length / 3) * at, (all.length / 3) * (at + 1));
  return (["before", "slow", "after"] as const).map((name, at) => {
    const of = third(paid, at);
    return {
      name,
      refused: refusedIn(of),
      mostWaiting: Math.max(...of.map(({ mostWaiting }) => mostWaiting)),
      paidP50: median(of.map(({ p50 }) => p50)),
      paidP99: Math.max(...of.map(({ p99 }) => p99)),
      unpaidP99: median(third(unpaid, at).map(({ p99 }) => p99)),
      freeP99: median(third(free, at).map(({ p99 }) => p99)),
      bytes: Math.max(
        0,
        ...memory.filter(({ second }) => Math.floor(second / phaseSeconds) === at).map(({ bytes }) => bytes),
      ),
    };
  });
}

/** Responses that are not 200. */
export function refusedIn(intervals: readonly Interval[]): number {
  const statuses = intervals.flatMap((interval) => Object.entries(interval.statuses));
  return statuses.reduce((sum, [status, times]) => (status === "200" ? sum : sum + times), 0);
}

/** Writes the section. */
export function renderSoak(soak: Soak | undefined): string[] {
  return [
    "## Minutes of load",
    "",
    "```sh",
    "npx -y pnpm@10 bench:soak",
    "```",
    "",
    ...(soak === undefined ? ["The current figures do not include it."] : soakLines(soak)),
    "",
  ];
}

function soakLines({ machine, steady, slow }: Soak): string[] {
  return [
    ...machineLines(machine),
    "",
    "![Latency over time](charts/latency.svg)",
    "",
    "### A steady rate of payments",
    "",
    "The rate is 70 % of the highest that the server takes; with 2,000 connections, each one sends a payment a second. The",
    "facilitator is in the process. Latency in milliseconds begins when a request is due, even if no response to an earlier",
    "one is here. *Refused* counts every response but 200.",
    "",
    ...table(
      ["", "connections", "highest a second", "sent a second", "minutes", "p50", "p99", "p99.9", "slowest", "refused"],
      steady.map((run) => [
        run.title,
        count(run.connections),
        count(run.highest),
        count(run.rate),
        run.minutes.toLocaleString("en"),
        ...[run.p50, run.p99, run.p999, run.max].map(ms),
        count(run.refused),
      ]),
    ),
    "",
    "### What the process keeps",
    "",
    "Before the minutes that count, and after them. Payments are valid for 60 seconds, and the store in memory forgets them",
    "then: its clock is ten minutes ahead. The heap is without garbage. Listeners are those of the process, the HTTP server",
    "and its connections. The client of Redis keeps a timer for each command of the last five seconds.",
    "",
    ...table(
      ["", "heap, MB", "timers", "listeners", "memory of the process, MB"],
      steady.map(({ title, first, last, memory }) => [
        title,
        `${megabytes(first.heapBytes)} → ${megabytes(last.heapBytes)}`,
        `${count(first.timers)} → ${count(last.timers)}`,
        `${count(first.listeners)} → ${count(last.listeners)}`,
        rangeOf(memory.map(({ bytes }) => bytes)),
      ]),
    ),
    "",
    "### A facilitator that becomes ten times slower and recovers",
    "",
    "The facilitator is behind HTTP, 20 ms away, then 200 ms, then 20 ms again, for as long each. Unpaid requests and free ones",
    "come beside the payments, 100 a second each. Milliseconds. p50 of paid requests, and p99 of the others, are those of the",
    "interval in the middle; p99 of paid requests is that of the worst interval.",
    "",
    ...table(
      [
        "",
        "facilitator",
        "paid, p50",
        "paid, p99",
        "refused",
        "most waiting at once",
        "402, p99",
        "free, p99",
        "memory, MB",
      ],
      slow.flatMap((run) =>
        phasesOf(run).map((phase) => [
          run.title,
          phase.name,
          ms(phase.paidP50),
          ms(phase.paidP99),
          count(phase.refused),
          count(phase.mostWaiting),
          ms(phase.unpaidP99),
          ms(phase.freeP99),
          megabytes(phase.bytes),
        ]),
      ),
    ),
  ];
}

function rangeOf(bytes: readonly number[]): string {
  return bytes.length === 0 ? "" : `${megabytes(Math.min(...bytes))} to ${megabytes(Math.max(...bytes))}`;
}
