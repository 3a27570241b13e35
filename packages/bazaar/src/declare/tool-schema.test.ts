import { createIssues } from "@farebox/core/issues";
import { expect, test } from "vitest";
import { type ReadToolSchema, readToolSchema } from "./tool-schema.js";

function read(schema: object): ReadToolSchema {
  const issues = createIssues();
  const found = readToolSchema("inputSchema", schema, issues);
  expect(issues.found).toEqual([]);
  return found!;
}

test.each<[list: readonly unknown[], isUnique: boolean]>([
  [[], true],
  [[1, "1", true, null, [1], { a: 1 }], true],
  [
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    false,
  ],
  [[{ a: { c: 1, d: 2 } }, { a: { d: 2, c: 1 } }], false],
  [
    [
      [1, 2],
      [2, 1],
    ],
    true,
  ],
  [[1, 1.0], false],
  [JSON.parse('[{"__proto__":1},{}]'), true],
])("whether the items of %j are unique does not depend on the order of keys", (list, isUnique) => {
  const { check } = read({ properties: { list: { type: "array", uniqueItems: true } } });
  expect(check({ list })).toEqual(isUnique ? undefined : { at: "/list", message: "must NOT have duplicate items" });
});

test("a check of unique objects reads each of them as often in a list of any length", () => {
  const { check } = read({ properties: { list: { type: "array", uniqueItems: true } } });
  const readsOf = (length: number) => {
    let reads = 0;
    const itemOf = (n: number) => ({
      get n() {
        reads++;
        return n;
      },
    });
    expect(check({ list: Array.from({ length }, (_, n) => itemOf(n)) })).toBeUndefined();
    return reads;
  };
  const reads = readsOf(100);
  expect(reads).toBeGreaterThanOrEqual(100);
  // Ajv by itself compares each with each.
  expect(readsOf(1_000)).toBe(10 * reads);
});

test("a value that is nested too deeply for a recursive schema is a mismatch", () => {
  const { check } = read({ type: "object", properties: { inner: { $ref: "#" } } });
  let value: object = {};
  for (let depth = 0; depth < 100_000; depth++) value = { inner: value };
  expect(check(value)).toEqual({ at: "", message: "must not be nested so deeply" });
});

test("a schema that the seller changes later stays as it was", () => {
  const given = { properties: { city: { type: "string" } } };
  const { schema, check } = read(given);
  given.properties.city.type = "number";
  expect([check({ city: "Porto" }), schema["properties"]]).toEqual([undefined, { city: { type: "string" } }]);
});
