/**
 * The table of metrics in docs/guides/observability.md, and the dashboard, name exactly the metrics that are in the code.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const SOURCE = read("packages/core/src/telemetry/instruments.ts");
const GUIDE = read("docs/guides/observability.md");

/** Each metric, with its labels. */
const METRICS = [
  ...[...SOURCE.matchAll(/(counter|gauge)\(\s*"(\w+)",\s*\[([^\]]*)\]/g)].map(
    ([, kind, name, labels]) => [kind === "counter" ? `${name}_total` : name!, namesIn(labels!)] as const,
  ),
  ...[...SOURCE.matchAll(/name: "(\w+)",\s*kind: "histogram",\s*help: "[^"]*",\s*labels: \[([^\]]*)\]/g)].map(
    ([, name, labels]) => [name!, namesIn(labels!)] as const,
  ),
];

function namesIn(labels: string): string {
  return labels.replaceAll('"', "").trim().replace(/,$/, "");
}

test("every metric has one row, with its labels", () => {
  const rows = [...GUIDE.matchAll(/^\| `(farebox_\w+)` \|([^|]*)\|/gm)].map(([, name, labels]) => [
    name!,
    labels!.trim(),
  ]);
  expect(METRICS.length).toBe(15);
  expect(rows.sort()).toEqual(METRICS.map(([name, labels]) => [name, labels]).sort());
});

test.each(["examples/observed/dashboard.json", "docs/guides/observability.md"])("%s names no other metric", (path) => {
  const known = METRICS.flatMap(([name]) => [name, `${name}_bucket`, `${name}_count`, `${name}_sum`]);
  const named = [...read(path).matchAll(/farebox_\w+/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});

test("every metric is on the dashboard", () => {
  const dashboard = read("examples/observed/dashboard.json");
  expect(METRICS.map(([name]) => name).filter((name) => !dashboard.includes(name))).toEqual([]);
});
