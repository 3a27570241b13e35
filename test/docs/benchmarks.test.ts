/**
 * The pages of benchmarks are what `pnpm bench` and `pnpm bench:stores` write from the figures in JSON beside them.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Measured, renderBenchmarks } from "../bench/pages/benchmarks.js";
import { type MeasuredStores, renderStoreBenchmarks } from "../bench/pages/stores.js";

const read = (name: string) => readFileSync(new URL(`../../docs/background/${name}`, import.meta.url), "utf8");

test("the page of benchmarks has the figures that were measured", () => {
  const measured = JSON.parse(read("benchmarks.json")) as Measured;
  expect(read("benchmarks.md")).toBe(renderBenchmarks(measured));
});

test("the page of the stores' benchmarks has the figures that were measured", () => {
  const measured = JSON.parse(read("store-benchmarks.json")) as MeasuredStores;
  expect(read("store-benchmarks.md")).toBe(renderStoreBenchmarks(measured));
});
