/**
 * The pages of benchmarks are what `pnpm bench`, `pnpm bench:stores` and `pnpm bench:metered` write from the figures in JSON beside them.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Measured, renderBenchmarks } from "../bench/pages/benchmarks.js";
import { drawCharts } from "../bench/pages/charts.js";
import { type MeasuredMetered, renderMeteredBenchmarks } from "../bench/pages/metered.js";
import type { Soak } from "../bench/pages/soak.js";
import { type MeasuredStores, renderStoreBenchmarks } from "../bench/pages/stores.js";
import { judge } from "../bench/pages/targets.js";

const FOLDER = new URL("../../docs/background/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, FOLDER), "utf8");
const measured = JSON.parse(read("benchmarks.json")) as Measured;

test("the page of benchmarks has the figures that were measured", () => {
  expect(read("benchmarks.md")).toBe(renderBenchmarks(measured));
});

test("the charts beside the page have the figures that were measured, and the page shows each of them", () => {
  const charts = drawCharts(measured);
  expect(readdirSync(new URL("charts/", FOLDER)).sort()).toEqual(Object.keys(charts).sort());
  for (const [name, svg] of Object.entries(charts)) {
    expect(read(`charts/${name}`)).toBe(svg);
    expect(read("benchmarks.md")).toContain(`](charts/${name})`);
  }
});

test("the page of the stores' benchmarks has the figures that were measured", () => {
  const stores = JSON.parse(read("store-benchmarks.json")) as MeasuredStores;
  expect(read("store-benchmarks.md")).toBe(renderStoreBenchmarks(stores));
});

test("the page of metered streams' benchmarks has the figures that were measured", () => {
  const metered = JSON.parse(read("metered-benchmarks.json")) as MeasuredMetered;
  expect(read("metered-benchmarks.md")).toBe(renderMeteredBenchmarks(metered));
});

test("figures of another Node than 24 are not judged by the targets", () => {
  const onNode = (node: string): Measured => ({ ...measured, machine: { ...measured.machine, node } });
  expect(renderBenchmarks(onNode("v24.1.0"))).toContain("| met |");
  expect(renderBenchmarks(onNode("v22.1.0"))).not.toContain("| met |");
});

test("a refused payment, a growing heap and a slower free route miss their targets", () => {
  const verdicts = judge({ ...measured, soak: SOAK }).filter(({ what }) => /^(in memory|slow facilitator)/.test(what));
  expect(verdicts.filter(({ isMet }) => !isMet).map(({ what }) => what)).toEqual([
    "in memory: refused",
    "in memory: heap, the end to the beginning",
    "slow facilitator, a rate: added to a free route, p99",
  ]);
  expect(verdicts).toHaveLength(8);
});

test("every chart has a title and a description, and draws no figure that is missing", () => {
  const charts = drawCharts({ ...measured, soak: SOAK });
  expect(Object.keys(charts)).toEqual(["ratios.svg", "cost.svg", "latency.svg"]);
  for (const svg of Object.values(charts)) {
    expect(svg).toMatch(/<title id="title">\w[^<]+<\/title>\n<desc id="description">\w[^<]+<\/desc>/);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    expect(svg).toContain("prefers-color-scheme:dark");
  }
});

/** Latencies that are as they should be but for one interval of a slow facilitator's. */
const interval = (second: number, p99 = 2) => ({
  ...{ second, statuses: { "200": 10 }, mostWaiting: 3 },
  ...{ p50: 1, p99, p999: 3, max: 4 },
});
const THIRDS = [interval(1), interval(2), interval(3)];
const SOAK: Soak = {
  machine: measured.machine,
  minutes: 10,
  steady: [
    {
      ...{ title: "in memory", connections: 256, minutes: 10, highest: 1000, rate: 700, requests: 1000, refused: 1 },
      ...{ p50: 1, p99: 2, p999: 3, max: 4, intervals: THIRDS, memory: [{ second: 1, bytes: 1e8 }] },
      first: { heapBytes: 1e8, timers: 10, listeners: 100 },
      last: { heapBytes: 2e8, timers: 11, listeners: 100 },
    },
  ],
  slow: [
    {
      ...{ title: "a rate", rate: 200, isWithinReach: true, phaseSeconds: 1 },
      ...{ paid: THIRDS, unpaid: THIRDS, free: [interval(1), interval(2, 20), interval(3)], memory: [] },
    },
  ],
};
