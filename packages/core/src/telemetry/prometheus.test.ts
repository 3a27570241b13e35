import { expect, test } from "vitest";
import { INSTRUMENTS } from "./instruments.js";
import { PrometheusText } from "./prometheus.js";

test("money is exact, whatever it comes to", () => {
  const text = new PrometheusText();
  const labels = { route: "GET /a", network: "eip155:1", asset: "0xA" };
  for (const amount of [2n ** 64n, 1n]) text.add(INSTRUMENTS.revenue, labels, amount);
  expect(
    text.write(),
  ).toBe(`# HELP farebox_revenue_atomic_total Money that moved to the seller, in atomic units of the asset.
# TYPE farebox_revenue_atomic_total counter
farebox_revenue_atomic_total{route="GET /a",network="eip155:1",asset="0xA"} 18446744073709551617
`);
});

test("values of labels are escaped", () => {
  const text = new PrometheusText();
  text.add(INSTRUMENTS.challenges, { route: 'GET /"a\\b\n' }, 1n);
  expect(text.write()).toContain('farebox_challenges_total{route="GET /\\"a\\\\b\\n"} 1\n');
});

test("buckets add up", () => {
  const text = new PrometheusText();
  for (const seconds of [0.001, 0.005, 0.02, 99]) text.observe(INSTRUMENTS.handlers, { route: "GET /a" }, seconds);
  const lines = text.write().split("\n");
  const name = "farebox_handler_duration_seconds";
  expect(lines).toContain(`${name}_bucket{route="GET /a",le="0.005"} 2`);
  expect(lines).toContain(`${name}_bucket{route="GET /a",le="0.025"} 3`);
  expect(lines).toContain(`${name}_bucket{route="GET /a",le="30"} 3`);
  expect(lines).toContain(`${name}_bucket{route="GET /a",le="+Inf"} 4`);
  expect(lines).toContain(`${name}_count{route="GET /a"} 4`);
});

test("an instrument has at most so many series, and the rest is added up", () => {
  const text = new PrometheusText();
  for (let at = 0; at < 5_000; at++) text.add(INSTRUMENTS.challenges, { route: `GET /${at}` }, 1n);
  const lines = text.write().split("\n");
  expect(lines.length).toBeLessThan(1_010);
  expect(lines).toContain('farebox_challenges_total{route="other"} 4000');
});
