/**
 * What we want to be, and whether we are.
 *
 * @module
 */
import type { Measured } from "./document.js";

/** One target. */
export interface Target {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly isMet: boolean;
}

/** Holds what was measured against every target. */
export function judge(measured: Measured): Target[] {
  return [
    ...judgeThroughput(measured),
    ...judgeFreeRoutes(measured),
    ...judgeTime(measured),
    ...judgeInstall(measured),
  ];
}

/** A kind of case, and the least it has to be to bare Express and to the reference. */
const LEAST = [
  { prefix: "402", toBare: 0.9, toReference: 1.5 },
  { prefix: "paid, facilitator in the process", toBare: 0.8, toReference: 1.6 },
] as const;

function judgeThroughput({ throughput }: Measured): Target[] {
  return LEAST.flatMap(({ prefix, toBare, toReference }) =>
    throughput
      .filter(({ title }) => title.startsWith(prefix))
      .flatMap(({ title, fareboxToBare, fareboxToReference }) => [
        least(`${title}: to bare Express`, toBare, fareboxToBare),
        least(`${title}: to the reference`, toReference, fareboxToReference),
      ]),
  );
}

function judgeFreeRoutes({ throughput }: Measured): Target[] {
  const free = throughput.filter(({ title }) => title.startsWith("free"));
  const [one, most] = [free[0], free.at(-1)];
  if (one === undefined || most === undefined) return [];
  return [
    least(`${most.title}: to bare Express`, 0.97, most.fareboxToBare),
    least(`${most.title}: to one key`, 0.95, most.fareboxToBare / one.fareboxToBare),
  ];
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
