import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { encodeTemplate, matchesTemplate, piecesOf, problemOfTemplate } from "./route-template.js";

describe("a template", () => {
  test.each<[template: string, path: string, params: Record<string, unknown>, matches: boolean, why: string]>([
    ["/a", "/a", {}, true, "the same text"],
    ["/a", "/A/", {}, true, "other case, and a slash at the end"],
    ["/a/", "//a", {}, true, "slashes more and less"],
    ["/a", "/%61", {}, true, "an encoded letter"],
    ["/a%2Fb", "/a/b", {}, false, "an encoded slash separates nothing"],
    ["/a", "/ab", {}, false, "one letter more"],
    ["/a", "/a/b", {}, false, "one segment more"],
    ["/a%3Ab", "/a:b", {}, true, "a colon in the text"],
    ["/u/:id", "/u/7", {}, true, "a parameter"],
    ["/u/:id", "/u/a%2Fb", { id: "a/b" }, true, "an encoded slash in a parameter"],
    ["/u/:id", "/u/%zz", {}, true, "a malformed parameter"],
    ["/u/:id", "/u", {}, false, "a parameter is not empty"],
    ["/u/:id", "/u/7/8", { id: "7" }, false, "a parameter is one segment"],
    ["/u/:id", "/u/7/8", { id: "9/8" }, false, "a declared value that the path does not have"],
    ["/v:major/x", "/v2/x", {}, true, "text before a parameter"],
    ["/v:major/x", "/w2/x", {}, false, "other text before a parameter"],
    ["/:a-:b.json", "/1-2-3.JSON", {}, true, "two parameters in a segment"],
    ["/:a-:b.json", "/1-.json", {}, false, "one of two parameters"],
    ["/%C3%A9/:%C3%BC", "/%c3%a9/1", {}, true, "UTF-8 in text and name"],
    ["/f/:var1", "/f/a/b", {}, true, "a wildcard"],
    ["/f/:var1", "/f", {}, true, "an empty wildcard"],
    ["/f/:var1", "/fa", {}, false, "a wildcard begins at a segment"],
    ["/f/:var1/raw/:var2", "/f/a/x/raw/b/c", {}, true, "two wildcards"],
    ["/f/:var1/raw/:var2", "/f/raw", {}, true, "two empty wildcards"],
    ["/f/:var1/raw/:var2", "/f/a/draw/b", {}, false, "text between wildcards"],
    ["/f/:var1/raw", "/f/a/raw/b", {}, false, "a segment behind a wildcard"],
    ["/f/:var1.zip", "/f/a/b.zip", {}, true, "a wildcard with an ending"],
    ["/f/:var1.zip", "/f.zip", {}, false, "a wildcard with an ending keeps its slash"],
    ["/d/:rest", "/d/a/b", { rest: "a/b" }, true, "a wildcard by its value"],
    ["/d/:rest", "/d/A%20B//c/", { rest: "A B//c/" }, true, "a wildcard by its value, with slashes more"],
    ["/d/:rest", "/d/a/b/c", { rest: "a/b" }, false, "more than the value of a wildcard"],
    ["/u/:id", "/u/a%2Fb/c", { id: "a/b" }, false, "a segment behind an encoded slash"],
    ["/:a-:b", "/a%2Fb-%zz", { a: "a/b", b: "%zz" }, true, "a malformed value beside an encoded slash"],
    ["/d/:rest", "/d/a%20b%zz/%2520", { rest: "a%20b%zz/%20" }, true, "malformed and twice encoded values"],
    ["/u/:id", "/u/%2F", { id: "/" }, true, "an encoded slash alone"],
    ["/d/:rest", "/d/a%2F/b%2F", { rest: "a//b/" }, true, "encoded slashes beside others"],
    ["/d/:rest", "/d", { rest: "" }, true, "a wildcard that is declared as empty"],
    ["/d/:rest", "/d/a/b", {}, false, "no value, so no wildcard"],
    ["/d/:rest", "/d/a/b", { rest: ["a/b"] }, false, "a value that is no text"],
    ["/d/:rest/x", "/d/a/b/y", { rest: "a/b" }, false, "other text behind a wildcard by its value"],
    ["/:__proto__", "/a/b", {}, false, "a name that every object has"],
    ["/:", "/:", {}, true, "a colon without a name"],
  ])("%s matches %s with %j: %j, %s", (template, path, params, matches) => {
    expect(matchesTemplate(template, path, params)).toBe(matches);
  });

  test("a template is split into text and decoded names", () => {
    expect(piecesOf("/a/:b_1-:%C3%BC")).toEqual([
      { kind: "text", text: "/a/" },
      { kind: "param", name: "b_1" },
      { kind: "text", text: "-" },
      { kind: "param", name: "ü" },
    ]);
  });

  test("a template that holds any encoded text may be split again, and matches that text alone", () => {
    const text = fc.string({ unit: "binary", minLength: 1 }).map((some) => `/${encodeURIComponent(some)}x`);
    fc.assert(
      fc.property(text, (path) => {
        const template = encodeTemplate(path);
        expect(piecesOf(template)).toEqual([{ kind: "text", text: template }]);
        expect(matchesTemplate(template, path)).toBe(true);
        expect(matchesTemplate(template, `${path}y`)).toBe(false);
      }),
    );
  });

  test.each([
    ["wildcards", ":var1"],
    ["wildcards with text between them", ":var1a"],
    ["wildcards of whole segments", "/:var1"],
    ["parameters without text between them", ":a"],
    ["parameters with text between them", ":aa-"],
    ["colons", ":"],
  ])("a template of many %s is run once over a path, with a step for each character", (_why, piece) => {
    const template = `/${piece.repeat(512 / piece.length)}z`;
    for (const text of ["a", "/", "a/", "-", "%2F"]) {
      const path = `/${text.repeat(2_048 / text.length)}`;
      const passes = countPasses(() => void matchesTemplate(template, path));
      expect(passes, text).toBeLessThanOrEqual(path.length);
    }
  });

  test("a template of many declared values is given up before they are all read", () => {
    const declared = "a/".repeat(8_000);
    let matches = true;
    const passes = countPasses(() => {
      matches = matchesTemplate(`/${":a".repeat(255)}`, `/${"a".repeat(2_047)}`, { a: declared });
    });
    expect([matches, passes]).toEqual([false, 0]);
  });

  /** How often the places of a whole template are gone through: each pass clears them first. */
  function countPasses(act: () => void): number {
    const fill = vi.spyOn(Uint8Array.prototype, "fill");
    act();
    const passes = fill.mock.calls.length;
    fill.mockRestore();
    return passes;
  }

  test("no text is a template that throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (template, path) => {
        const problem = problemOfTemplate(template);
        expect(problem === undefined || typeof problem === "string").toBe(true);
        expect(matchesTemplate(template, path)).toBeTypeOf("boolean");
      }),
    );
  });

  test.each([
    ["/:var1", "matches every path"],
    ["/:var1/:var2/", "matches every path"],
    ["/:city", undefined],
    ["/files/:var1", undefined],
  ])("%s may be listed, unless it %s", (template, problem) => {
    expect(problemOfTemplate(template)).toBe(problem);
  });
});
