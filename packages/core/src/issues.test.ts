import { expect, test } from "vitest";
import { createIssues, type NumberRange } from "./issues.js";

const RANGE: NumberRange = { least: 10, most: 20, usual: 15 };

test.each([
  [undefined, 15],
  [10, 10],
  [20, 20],
])("readNumber reads %j as %j", (value, read) => {
  const issues = createIssues();
  expect(issues.readNumber("options.n", value, RANGE)).toBe(read);
  expect(issues.found).toEqual([]);
});

test.each<[value: unknown, received: string]>([
  [9, "9"],
  [21, "21"],
  [15.5, "15.5"],
  [Number.NaN, "NaN"],
  [15n, "15"],
  ["15", '"15"'],
  [null, "null"],
  [[{ key: "secret" }], "[]"],
  [{ key: "secret" }, "{}"],
  ["k".repeat(61), "a text of 61 characters"],
])("readNumber refuses %o, and the issue does not show its content", (value, received) => {
  const issues = createIssues();
  expect(issues.readNumber("options.n", value, RANGE)).toBe(15);
  expect(issues.readNumber("options.ms", value, { ...RANGE, unit: "milliseconds" })).toBe(15);
  expect(issues.found).toEqual([
    { path: "options.n", expected: "a whole number from 10 to 20", received },
    { path: "options.ms", expected: "a whole number of milliseconds from 10 to 20", received },
  ]);
});

test("readNumber refuses a revoked proxy without throwing", () => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  const issues = createIssues();
  expect(issues.readNumber("options.n", proxy, RANGE)).toBe(15);
  expect(issues.found).toMatchObject([{ received: "{}" }]);
});
