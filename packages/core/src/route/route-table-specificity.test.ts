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
    ["/a/b", "/a/v:x", "more", "but text alone is more"],
    ["/a/:x-b", "/a/:x-:y", "more", "one parameter before two"],
    ["/a/:x-:y", "/a/:x", "more", "two with text before one alone"],
    ["/a/x*w", "/a/*w", "more", "text beside a wildcard"],
    ["/a/:x", "/a/x*w", "more", "but a parameter is more"],
    ["/a/:x", "/*w", "more", "a wildcard goes on beyond its end"],
    ["/a/b/c", "/a/*w", "more", "to whatever depth"],
    ["/:x/:y", "/*w", "more", "two parameters before one wildcard"],
    ["/:x/*v", "/*w", "more", "a wildcard below a parameter"],
    ["/:x/y", "/x/:y", "unordered", "each is more in one place"],
    ["/a/:x/c", "/a/b/:y", "unordered", "the same further down"],
    ["/*w/a", "/:x/:y", "unordered", "text after a wildcard"],
    ["/x*w/:a", "/x*w", "more", "what ends in text and a wildcard goes on, too"],
    ["/a/:x", "/a", "less", "what ends in text takes nothing beyond"],
  ])("%s is beside %s: %s (%s)", (one, other, is) => {
    expect(compareForms(formOf(one), formOf(other))).toBe(is);
    expect(compareForms(formOf(other), formOf(one))).toBe(OPPOSITE[is]);
  });
});

describe("coversPath", () => {
  test.each<[wide: string, narrow: string, covers: boolean, why: string]>([
    ["/a", "/A/", true, "the same shape"],
    ["/:x", "/a", true, "a parameter takes text"],
    ["/a", "/:x", false, "but not the other way round"],
    ["/:x", "/v:y", true, "a parameter takes text with a parameter"],
    ["/v:x", "/v1", false, "what is beside a parameter is not compared"],
    ["/v:x", "/V:y", true, "unless it is the same"],
    ["/a/v:x", "/:b/v:x", false, "text before it counts"],
    ["/:x", "/*w", false, "a parameter does not take a wildcard"],
    ["/:x/b", "/*w/b", false, "nor one with text after it"],
    ["/*w", "/a/b/c", true, "a wildcard takes many segments"],
    ["/*w", "/a/*v", true, "and other wildcards"],
    ["/a/*w", "/a", false, "but not none"],
    ["/*w", "/", false, "the root neither"],
    ["/a/*w", "/b/c", false, "text before it counts"],
    ["/x*w", "/xa", false, "text beside it may or may not be there"],
    ["/*w/b", "/a/b", false, "text after it may or may not be there"],
    ["/a/:x", "/a/b/c", false, "a segment more"],
    ["/a/:x", "/a", false, "a segment less"],
    ["/a{/:x}", "/a", true, "by its shorter form"],
    ["/a{/:x}", "/a/b", true, "by its longer form"],
    ["/a{/:x}", "/a{/b}", true, "each form by one"],
    ["/a/:x", "/a{/b}", false, "one form of two is not covered"],
    ["/a{/b}", "/a{/:x}", false, "not the other way round"],
  ])("%s takes everything of %s: %j (%s)", (wide, narrow, covers) => {
    expect(coversPath(formsOf(wide), formsOf(narrow))).toBe(covers);
  });
});
