/**
 * docs/background/benchmarks.md is what `pnpm bench` writes from the figures in benchmarks.json.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Measured, renderBenchmarks } from "../bench/document.js";

const read = (name: string) => readFileSync(new URL(`../../docs/background/${name}`, import.meta.url), "utf8");

test("the page of benchmarks has the figures that were measured", () => {
  const measured = JSON.parse(read("benchmarks.json")) as Measured;
  expect(read("benchmarks.md")).toBe(renderBenchmarks(measured));
});
