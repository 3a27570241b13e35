/**
 * The charts of `docs/background/benchmarks.md`, by the names of their files.
 *
 * @module
 */
import { type Measured, nodesOf } from "./benchmarks.js";
import { count } from "./markdown.js";
import { drawBars, drawLines, type Panel, type Point } from "./svg.js";

/** Draws each chart that there are figures for. */
export function drawCharts(measured: Measured): Record<string, string> {
  return {
    "ratios.svg": drawRatios(measured),
    "cost.svg": drawCost(measured),
    ...(measured.soak === undefined ? {} : { "latency.svg": drawLatency(measured.soak) }),
  };
}

function drawRatios(measured: Measured): string {
  const { machine, throughput } = measured;
  const nodes = nodesOf(measured);
  return drawBars({
    title: "Requests per second of the server's processor, to bare Express",
    description:
      "Farebox on each Node, and the reference on the first. Bare Express is the line at 1. Longer is better.",
    series: [...nodes.map((node) => `Farebox, ${majorOf(node)}`), `reference, ${majorOf(machine.node)}`],
    groups: throughput.map(({ title, byNode }) => ({
      label: title,
      values: [...nodes.map((node) => byNode[node]?.fareboxToBare), byNode[machine.node]?.referenceToBare],
    })),
  });
}

function majorOf(node: string): string {
  return `Node ${Number.parseInt(node.slice(1), 10)}`;
}

function drawCost({ machine: { node }, throughput }: Measured): string {
  const microseconds = (perSecond: number) => 1_000_000 / perSecond;
  const line = (size: "keys" | "records", side: "bare" | "farebox" | "reference"): Point[] =>
    throughput.flatMap((row) => {
      const [x, perSecond] = [row[size], row.byNode[node]?.[side]];
      return x === undefined || perSecond === undefined ? [] : [{ x, y: microseconds(perSecond) }];
    });
  const sides = (size: "keys" | "records") =>
    (["bare", "farebox", "reference"] as const)
      .map((side) => ({ name: SIDES[side], points: line(size, side) }))
      .filter(({ points }) => points.length > 1);
  const panels: Panel[] = [
    { title: "A free request by the number of keys", xLabel: "keys", series: sides("keys") },
    { title: "A paid request by the number of payments on record", xLabel: "payments", series: sides("records") },
  ]
    .filter(({ series }) => series.length > 0)
    .map((panel) => ({ ...panel, yLabel: "µs of the processor", isLogarithmic: true }));
  return drawLines({
    title: `Cost by size, Node ${node}`,
    description: "Processor time of one request. Lower is better, and a level line means that size costs nothing.",
    panels,
  });
}

const SIDES = { bare: "bare Express", farebox: "Farebox", reference: "reference" } as const;

function drawLatency({ steady, slow }: NonNullable<Measured["soak"]>): string {
  const time = { xLabel: "seconds", yLabel: "ms" };
  const line = <T extends { readonly second: number }>(
    name: string,
    all: readonly T[],
    y: (interval: T) => number,
  ) => ({
    name,
    points: all.map((interval) => ({ x: interval.second, y: y(interval) })).filter((point) => point.y > 0),
  });
  const panels: Panel[] = [
    ...steady.map(({ title, rate, intervals }) => ({
      title: `${title}, ${count(rate)} payments a second`,
      ...time,
      series: [
        line("p50", intervals, ({ p50 }) => p50),
        line("p99", intervals, ({ p99 }) => p99),
        line("p99.9", intervals, ({ p999 }) => p999),
      ],
    })),
    ...slow.map(({ title, paid, unpaid, free }) => ({
      title: `slow facilitator, ${title}`,
      ...time,
      series: [
        line("paid, p50", paid, ({ p50 }) => p50),
        line("402, p99", unpaid, ({ p99 }) => p99),
        line("free, p99", free, ({ p99 }) => p99),
      ],
    })),
  ];
  return drawLines({
    title: "Latency over time",
    description:
      "Steady rates of payments, and a facilitator that is ten times slower for the middle third. Lower is better.",
    panels,
  });
}
