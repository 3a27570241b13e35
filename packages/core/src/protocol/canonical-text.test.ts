import { describe, expect, test } from "vitest";
import { toCanonicalText } from "./canonical-text.js";

const LIMIT = 1000;
const textOf = (value: unknown) => toCanonicalText(value, LIMIT);

describe("the text of a value", () => {
  test.each<[unknown, string]>([
    [null, "null"],
    [undefined, "undefined"],
    [-0.5, "-0.5"],
    ['a"', '"a\\""'],
    ["\ud800", '"\\ud800"'],
    [[], "[]"],
    [[1, [2]], "[1,[2,],]"],
    [{}, "{}"],
    [{ b: 1, a: { d: 2, c: 3 } }, '{"a":{"c":3,"d":2,},"b":1,}'],
    [JSON.parse('{"__proto__":1,"a":2}'), '{"__proto__":1,"a":2,}'],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1,}'],
    [new Date(0), '="1970-01-01T00:00:00.000Z"'],
    [Buffer.from("abc"), "<YWJj>"],
    [12n, "12n"],
    [new Map([["b", 1]]), 'Map[["b",1,],]'],
    [new Set(["b", 1]), 'Set["b",1,]'],
  ])("%o is %s", (value, text) => {
    expect(textOf(value)).toBe(text);
  });

  test("toCanonicalText tells values apart that print alike", () => {
    const values = [
      "1",
      1,
      [1],
      ["1"],
      [[1]],
      { 0: 1 },
      { 0: "1" },
      "[1]",
      null,
      "null",
      [],
      {},
      [null],
      Buffer.from("1"),
    ];
    expect(new Set(values.map(textOf)).size).toBe(values.length);
  });

  test("toCanonicalText cuts long texts", () => {
    const circle: unknown[] = [];
    circle.push(...Array.from({ length: 50 }, () => circle));
    const alias = "x".repeat(LIMIT);
    const list = Array.from({ length: 1e6 }, () => alias);
    const endless = Object.assign([], {
      *[Symbol.iterator]() {
        for (;;) yield 1;
      },
    });
    const sparse: unknown[] = [];
    sparse.length = 2 ** 32 - 1;
    for (const value of ["x".repeat(1e6), list, sparse, endless, new Uint8Array(1e6), { a: list, b: list }]) {
      const text = textOf(value);
      expect(text.length).toBeGreaterThan(LIMIT);
      expect(text.length).toBeLessThan(3 * LIMIT);
    }
  });

  test.each<[string, unknown]>([
    ["too deep", JSON.parse("[".repeat(400) + "]".repeat(400))],
    [
      "a circle",
      (() => {
        const circle: unknown[] = [];
        circle.push(circle);
        return circle;
      })(),
    ],
    [
      "objects that yield objects without end",
      (() => {
        const again = { toJSON: () => ({ ...again }) };
        return again;
      })(),
    ],
    ["too many keys", Object.fromEntries(Array.from({ length: LIMIT + 1 }, (_, at) => [at, 1]))],
    [
      "a getter that throws",
      {
        get a() {
          throw new TypeError("no");
        },
      },
    ],
  ])("toCanonicalText throws for %s", (_case, value) => {
    expect(() => textOf(value)).toThrow();
  });
});
