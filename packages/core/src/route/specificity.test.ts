import { describe, expect, test } from "vitest";
import { formOf, formsOf } from "./route.fixture.js";
import { compareForms, coversPath, type Specificity } from "./route-table.js";

const OPPOSITE = { more: "less", less: "more", same: "same", unordered: "unordered" } as const;

describe("compareForms", () => {
  test.each<[one: string, other: string, is: Specificity, why: string]>([
    ["/", "/", "same", "the root"],
    ["/a", "/a", "same", "text"],
    ["/a/b", "/a/:x", "more", "text before parameter"],
    ["/a/:x", "/a/*w", "more", "parameter before wildcard"],
    ["/a/:x", "/a/:y", "same", "names do not count"],
    ["/a/v:x", "/a/:x", "more", "text beside a parameter"],
    ["/a/b", "/a/v:x", "more", "text alone before text beside a parameter"],
    ["/a/:x-b", "/a/:x-:y", "more", "one parameter before two"],
    ["/a/:x-:y", "/a/:x", "more", "two with text before one alone"],
    ["/a/x*w", "/a/*w", "more", "text beside a wildcard"],
    ["/a/:x", "/a/x*w", "more", "a parameter before text beside a wildcard"],
    ["/a/:x", "/*w", "more", "a wildcard matches further segments"],
    ["/a/b/c", "/a/*w", "more", "at any depth"],
    ["/:x/:y", "/*w", "more", "two parameters before one wildcard"],
    ["/:x/*v", "/*w", "more", "a wildcard below a parameter"],
    ["/:x/y", "/x/:y", "unordered", "each is more specific in one segment"],
    ["/a/:x/c", "/a/b/:y", "unordered", "each is more specific in a later segment"],
    ["/*w/a", "/:x/:y", "unordered", "text after a wildcard"],
    ["/x*w/:a", "/x*w", "more", "text beside a wildcard matches further segments, too"],
    ["/a/:x", "/a", "less", "text matches no further segments"],
  ])("%s compared with %s is %s: %s", (one, other, is) => {
    expect(compareForms(formOf(one), formOf(other))).toBe(is);
    expect(compareForms(formOf(other), formOf(one))).toBe(OPPOSITE[is]);
  });
});

describe("coversPath", () => {
  test.each<[wide: string, narrow: string, covers: boolean, why: string]>([
    ["/a", "/A/", true, "the same shape"],
    ["/:x", "/a", true, "a parameter matches text"],
    ["/a", "/:x", false, "text does not match a parameter"],
    ["/:x", "/v:y", true, "a parameter matches text with a parameter"],
    ["/v:x", "/v1", false, "text beside a parameter is not compared"],
    ["/v:x", "/V:y", true, "the same text beside a parameter"],
    ["/a/v:x", "/:b/v:x", false, "text before it counts"],
    ["/:x", "/*w", false, "a parameter does not match a wildcard"],
    ["/:x/b", "/*w/b", false, "a parameter does not match a wildcard with text after it"],
    ["/*w", "/a/b/c", true, "a wildcard matches several segments"],
    ["/*w", "/a/*v", true, "a wildcard matches other wildcards"],
    ["/a/*w", "/a", false, "a wildcard is not empty"],
    ["/*w", "/", false, "a wildcard does not match the root"],
    ["/a/*w", "/b/c", false, "text before it counts"],
    ["/x*w", "/xa", false, "text beside a wildcard is not compared"],
    ["/*w/b", "/a/b", false, "text after a wildcard is not compared"],
    ["/a/:x", "/a/b/c", false, "one segment more"],
    ["/a/:x", "/a", false, "one segment less"],
    ["/a{/:x}", "/a", true, "by its shorter form"],
    ["/a{/:x}", "/a/b", true, "by its longer form"],
    ["/a{/:x}", "/a{/b}", true, "each form is covered by one"],
    ["/a/:x", "/a{/b}", false, "one form of two is not covered"],
    ["/a{/b}", "/a{/:x}", false, "a parameter is not covered by text"],
  ])("%s covers %s: %j (%s)", (wide, narrow, covers) => {
    expect(coversPath(formsOf(wide), formsOf(narrow))).toBe(covers);
  });
});
