/**
 * What we want to be, and whether we are.
 *
 * @module
 */
import type { SlowFacilitator } from "../cases/slow-facilitator.js";
import type { Measured } from "./benchmarks.js";
import { phasesOf, refusedIn, type Soak } from "./soak.js";

/** One target. */
export interface Target {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly isMet: boolean;
}

/** The Node that the targets are for. */
export const TARGET_MAJOR = 24;

/** Holds what was measured against every target. */
export function judge(measured: Measured): Target[] {
  return [
    ...judgeThroughput(measured),
    ...judgeTime(measured),
    ...judgeInstall(measured),
    ...(measured.soak === undefined ? [] : judgeSoak(measured.soak)),
  ];
}

/** Cases, and the least they have to be to bare Express and to the reference. */
const LEAST: readonly { readonly title: string; readonly toBare?: number; readonly toReference?: number }[] = [
  { title: "402, one offer", toBare: 1 },
  { title: "402, three offers and discovery", toBare: 0.9 },
  { title: "paid, facilitator in the process", toBare: 0.5, toReference: 2 },
  { title: "paid, facilitator over HTTP, 0 ms, 256 connections", toReference: 3 },
  { title: "paid, facilitator over HTTP, 20 ms, 256 connections", toReference: 3 },
  { title: "paid, 64 KB", toBare: 0.55 },
  { title: "free, 1 key", toBare: 0.97 },
  { title: "free, 10,000 keys", toBare: 0.97 },
];

function judgeThroughput({ machine, throughput }: Measured): Target[] {
  return LEAST.flatMap(({ title, toBare, toReference }) => {
    const row = throughput.find((one) => one.title === title)?.byNode[machine.node];
    if (row === undefined) return [];
    const { fareboxToBare, fareboxToReference } = row;
    return [
      ...(toBare === undefined ? [] : [least(`${title}: to bare Express`, toBare, fareboxToBare)]),
      ...(toReference === undefined || fareboxToReference === undefined
        ? []
        : [least(`${title}: to the reference`, toReference, fareboxToReference)]),
    ];
  });
}

function judgeTime({ latencies, large, firstEvents, hostile }: Measured): Target[] {
  const paid = large.find(({ title }) => title === "Farebox, paid");
  const free = large.find(({ title }) => title === "Farebox, free route");
  const event = firstEvents.find(({ title }) => title === "farebox");
  const slowest = Math.max(...hostile.map(({ medianMs }) => medianMs));
  return [
    ...latencies.map(({ title, trips, trip, farebox }) =>
      most(`paid, ${title}: above ${trips} × ${trip.toFixed(2)} ms`, 2, farebox - trips * trip, "ms"),
    ),
    ...(paid && free
      ? [most("200 MB, paid above free: memory", 40, paid.peakMegabytes - free.peakMegabytes, "MB")]
      : []),
    ...(event ? [most("first of a stream of events", 50, event.firstByteMs, "ms")] : []),
    most("hostile header, the worst", 5, slowest, "ms"),
  ];
}

function judgeInstall({ installs }: Measured): Target[] {
  const [alone, ours] = installs;
  if (alone === undefined || ours === undefined) return [];
  return [
    most("packages beyond Express", 15, ours.packages - alone.packages, ""),
    most("installed beyond Express", 6, ours.megabytes - alone.megabytes, "MB"),
    most("import beyond Express", 25, ours.importMs - alone.importMs, "ms"),
  ];
}

/** A leak of one for each request would make it four times as many. */
const MOST_GROWTH = 1.1;
/** Farebox verifies 64 payments at once, and 512 wait for that. Those that settle are no more than these. */
const MOST_WAITING = 2 * (64 + 512);

function judgeSoak({ steady, slow }: Soak): Target[] {
  return [
    ...steady.flatMap(({ title, refused, first, last }) => [
      most(`${title}: refused`, 0, refused, ""),
      most(`${title}: heap, the end to the beginning`, MOST_GROWTH, last.heapBytes / first.heapBytes, ""),
      most(`${title}: timers, the end to the beginning`, MOST_GROWTH, last.timers / first.timers, ""),
      most(`${title}: listeners, the end to the beginning`, MOST_GROWTH, last.listeners / first.listeners, ""),
    ]),
    ...slow.flatMap((run) => judgeSlow(run)),
  ];
}

function judgeSlow(run: SlowFacilitator): Target[] {
  const what = `slow facilitator, ${run.title}`;
  const [before, slow, after] = phasesOf(run);
  if (before === undefined || slow === undefined || after === undefined) return [];
  // Those that wait when the facilitator recovers still have to be verified.
  const recovered = run.paid.slice((run.paid.length / 6) * 5);
  return [
    run.isWithinReach
      ? most(`${what}: refused`, 0, before.refused + slow.refused + after.refused, "")
      : most(`${what}: refused before, and when it has recovered`, 0, before.refused + refusedIn(recovered), ""),
    most(`${what}: waiting at once`, MOST_WAITING, Math.max(slow.mostWaiting, after.mostWaiting), ""),
    most(`${what}: added to a 402, p99`, 5, slow.unpaidP99 - before.unpaidP99, "ms"),
    most(`${what}: added to a free route, p99`, 5, slow.freeP99 - before.freeP99, "ms"),
  ];
}

function least(what: string, wanted: number, measured: number): Target {
  return { what, wanted: `≥ ${wanted.toFixed(2)}`, measured: measured.toFixed(2), isMet: measured >= wanted };
}

function most(what: string, wanted: number, measured: number, unit: string): Target {
  const digits = Number.isInteger(measured) ? 0 : 2;
  return {
    what,
    wanted: `≤ ${wanted} ${unit}`.trim(),
    measured: `${measured.toFixed(digits)} ${unit}`.trim(),
    isMet: measured <= wanted,
  };
}
