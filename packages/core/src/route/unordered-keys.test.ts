import { describe, expect, test } from "vitest";
import { entryOf } from "./route.fixture.js";
import { findUnordered, sharesMethod } from "./route-table.js";

function pairsOf(...keys: readonly string[]): readonly (readonly string[])[] {
  return findUnordered(keys.map(entryOf)).map((pair) => pair.map(({ key }) => key));
}

describe("findUnordered", () => {
  test.each<[first: string, second: string, why: string]>([
    ["GET /a/:x", "GET /:y/b", "each has text where the other has a parameter"],
    ["GET /a-:x/:y", "GET /:x/b", "text beside a parameter"],
    ["GET /*w/b", "GET /a/:x", "text after a wildcard"],
    ["/a/:x", "POST /:y/b", "any method and a named one"],
    ["GET /a/:x", "HEAD /:y/b", "GET covers HEAD"],
    ["HEAD /a/:x", "GET /:y/b", "HEAD and GET"],
    ["GET /a/:x/c", "GET /a/b/:y", "after the same text"],
    ["GET /x{/:a/b}", "GET /x/a/:y", "one form of two"],
  ])("finds %s and %s: %s", (first, second) => {
    expect(pairsOf(first, second)).toEqual([[first, second]]);
    expect(pairsOf(second, first)).toEqual([[second, first]]);
  });

  test.each<[first: string, second: string, why: string]>([
    ["GET /a/b", "GET /a/:x", "one is more specific"],
    ["GET /a/:x", "GET /b/:y", "other text"],
    ["GET /a/:x/c", "GET /:y/b/d", "other text further down"],
    ["GET /a/:x", "GET /:y/b/c", "other lengths"],
    ["GET /a/:x", "POST /:y/b", "other methods"],
    ["/a/:x", "OPTIONS /:y/b", "OPTIONS is free unless it is named"],
    ["GET /a/:x", "GET /a/:y", "the same"],
    ["GET /a/:x", "GET /*w", "a wildcard covers it"],
    ["GET /a/b", "GET /a/b/c", "paths of text do not overlap"],
  ])("does not find %s and %s: %s", (first, second) => {
    expect(pairsOf(first, second)).toEqual([]);
  });

  test("finds every pair once, in the order of the later key", () => {
    expect(pairsOf("/a/:x/:y", "/free", "/:x/b/:y", "/:x/:y/c")).toEqual([
      ["/a/:x/:y", "/:x/b/:y"],
      ["/a/:x/:y", "/:x/:y/c"],
      ["/:x/b/:y", "/:x/:y/c"],
    ]);
  });

  test("makes at most two million comparisons", () => {
    const apart = Array.from({ length: 2_001 }, (_, at) => entryOf(`/k${at}/:x`));
    const [first, second] = [entryOf("/a/:x"), entryOf("/:y/b")];
    // Rows of 1, 2, 3 … comparisons: the 2,000th row is the last that is begun.
    expect(findUnordered([first, second, ...apart])).toHaveLength(2_000);
    expect(findUnordered([...apart, first, second])).toEqual([]);
  });
});

describe("sharesMethod", () => {
  test.each([
    ["GET", "GET", true],
    ["GET", "HEAD", true],
    ["GET", "POST", false],
    ["HEAD", "POST", false],
    [undefined, undefined, true],
    [undefined, "DELETE", true],
    [undefined, "OPTIONS", false],
    ["OPTIONS", "OPTIONS", true],
  ] as const)("%s and %s share a method: %j", (a, b, shares) => {
    expect(sharesMethod({ method: a }, { method: b })).toBe(shares);
    expect(sharesMethod({ method: b }, { method: a })).toBe(shares);
  });
});
