import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { collapseSlashes, type PathForm } from "./path-form.js";
import { formsOf, seedOf } from "./route.fixture.js";
import { createRouteTrie, type RouteTrie } from "./route-table.js";

function trieOf(paths: readonly string[]): RouteTrie<string> {
  const trie = createRouteTrie<string>();
  for (const path of paths) for (const form of formsOf(path)) trie.add(form, path);
  return trie;
}

describe("a trie", () => {
  test.each<[paths: string[], pathname: string, found: string[], why: string]>([
    [[], "/a", [], "empty"],
    [["/"], "/", ["/"], "the root"],
    [["/"], "", ["/"], "nothing is the root to some router"],
    [["/"], "/a", [], "the root is no prefix"],
    [["/a"], "/A", ["/a"], "case does not count"],
    [["/a"], "//a//", ["/a"], "nor do slashes"],
    [["/a"], "/ab", [], "letters do"],
    [["/a"], "/a/b", [], "a segment more"],
    [["/a/b"], "/a", [], "a segment less"],
    [["/a/b", "/a/c"], "/a/c", ["/a/c"], "one of two below the same text"],
    [["/:x"], "/a", ["/:x"], "a parameter"],
    [["/:x", "/:y"], "/a", ["/:x", "/:y"], "two that take the same"],
    [["/:x"], "/", [], "is not nothing"],
    [["/v:x"], "/a", ["/v:x"], "text beside a parameter is not looked at"],
    [["/*w"], "/a/b/c", ["/*w"], "a wildcard takes many"],
    [["/a/*w"], "/a", ["/a/*w"], "and none"],
    [["/a/*w"], "/b", [], "but only below its text"],
    [["/*w/end"], "/a/b", [], "but for what comes after it"],
    [["/*w/end"], "/a/b/end", ["/*w/end"], "with what comes after it"],
    [["/*w/end"], "/END/", ["/*w/end"], "with nothing before that"],
    [["/*w/x/*v/:p"], "/a/x/b/c", ["/*w/x/*v/:p"], "two of them, with what is between and after them"],
    [["/*w/x/*v/:p"], "/a/x", [], "but not without"],
    [["/*w/x/*v"], "/a/b", [], "nor without what is between them"],
    [["/*w/:p/*v"], "/a", ["/*w/:p/*v"], "and a parameter between them"],
    [["/*w/:p/*v"], "/", [], "which is some segment"],
    [["/a", "/:x", "/*w", "/b"], "/a", ["/*w", "/a", "/:x"], "all that are possible"],
    [["/a/:x/c", "/:x/b/c"], "/a/b/c", ["/a/:x/c", "/:x/b/c"], "by text and by parameter"],
    [["/a{/:b}"], "/a", ["/a{/:b}"], "the form that fits"],
    [["/__proto__"], "/constructor", [], "names of an object's own machinery"],
    [["/__proto__"], "/__proto__", ["/__proto__"], "are names like others"],
  ])("of %j finds for %j: %j (%s)", (paths, pathname, found) => {
    expect([...trieOf(paths).find(pathname)].sort()).toEqual([...found].sort());
  });

  test("walks as deep as its forms, not as the path", () => {
    expect(trieOf(["/*w"]).find("/a".repeat(100_000))).toEqual(["/*w"]);
    expect(trieOf(["/a/:x"]).find("/a".repeat(100_000))).toEqual([]);
  });
});

const seed = seedOf();

describe(`beside a search through all forms (seed ${seed})`, () => {
  const names = fc.constantFrom("a", "b", "A", "ß", "é", "É", "ſ", "s", "ı", "i", "K", "\ud801\udc28", "a.b", "\ud800");
  const pieces = fc.oneof(names, fc.constantFrom(":", ":", "*", "/", "/", "-"));
  const raw = fc.array(pieces, { maxLength: 8 }).map((some) => nameApart(some));
  const forms = fc.array(fc.oneof(raw, raw.map(withOption)).map(compiled), { maxLength: 6 }).map((all) => all.flat());
  const pathnames = fc
    .array(fc.oneof(names, fc.constantFrom("/", "/", "//", "-")), { maxLength: 10 })
    .map((some) => `/${some.join("")}`);

  test("the trie never misses a form that takes the path, exactly or loosely, and finds nothing twice", () => {
    let hits = 0;
    const check = fc.property(forms, pathnames, (all, pathname) => {
      const trie = createRouteTrie<PathForm>();
      for (const form of all) trie.add(form, form);
      const found = trie.find(pathname);
      expect(new Set(found).size).toBe(found.length);
      for (const form of all) {
        if (!takes(form, pathname)) continue;
        hits += 1;
        expect(found).toContain(form);
      }
    });
    fc.assert(check, { seed, numRuns: 2_000 });
    expect(hits).toBeGreaterThan(100);
  });
});

function takes({ expressions: { exact, loose }, paramsOf }: PathForm, pathname: string): boolean {
  const spellings = [pathname, collapseSlashes(pathname)];
  return spellings.some((path) => exact.test(path) || loose.test(path)) || paramsOf(pathname) !== undefined;
}

/** Parameter names may not repeat, and have to be there. */
function nameApart(pieces: readonly string[]): string {
  return `/${pieces.map((piece, at) => (piece === ":" || piece === "*" ? `${piece}"p${at}"` : piece)).join("")}`;
}

function withOption(path: string): string {
  return `${path}{/:last}`;
}

function compiled(path: string): readonly PathForm[] {
  try {
    return formsOf(path);
  } catch {
    return [];
  }
}
