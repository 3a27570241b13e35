import { describe, expect, test } from "vitest";
import { writeCanonicalText } from "./canonical-text.js";

function textOf(value: unknown): string {
  const pieces: string[] = [];
  writeCanonicalText(value, { update: (piece) => pieces.push(piece) });
  return pieces.join("");
}

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

  test("the whole text is written, in pieces", () => {
    const value = ["x".repeat(3_000_000), Buffer.alloc(200_000, 1), Array.from({ length: 50_000 }, () => "é")];
    const text = textOf(value);
    const [long, bytes, list] = value as [string, Buffer, string[]];
    expect(text === `["${long}",<${bytes.toString("base64")}>,[${list.map((one) => `"${one}",`).join("")}],]`).toBe(
      true,
    );
  });

  test("writeCanonicalText tells values apart that print alike", () => {
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
      0,
      -0,
      Number.NaN,
      JSON.parse("1e999"),
      -Infinity,
      undefined,
      new Map(),
      new Set(),
    ];
    expect(new Set(values.map(textOf)).size).toBe(values.length);
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
    ["an object that keeps fields from JSON", { size: 1000, toJSON: () => ({}) }],
    ["a list with more than items", Object.assign(["row"], { columns: ["a"] })],
    ["an object with symbols", { [Symbol("size")]: 1000 }],
    ["lists without end", [endless()]],
    ["a function", { a: () => 1 }],
    ["a symbol", [Symbol("a")]],
    ["a form, whose fields are elsewhere", new URLSearchParams("a=1")],
    ["a stream", new ReadableStream()],
    [
      "a getter that throws",
      {
        get a() {
          throw new TypeError("no");
        },
      },
    ],
  ])("writeCanonicalText throws for %s", (_case, value) => {
    expect(() => textOf(value)).toThrow();
  });
});

function endless(): unknown {
  const list: unknown[] = [];
  return Object.assign(list, {
    *[Symbol.iterator]() {
      for (;;) yield "x".repeat(1000);
    },
  });
}
