import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { collapseSlashes, type PathForm } from "./path-form.js";
import { formsOf, SEED } from "./route.fixture.js";
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
    [["/"], "", ["/"], "some routers read an empty path as the root"],
    [["/"], "/a", [], "the root is not a prefix"],
    [["/a"], "/A", ["/a"], "case does not count"],
    [["/a"], "//a//", ["/a"], "slashes do not count"],
    [["/a"], "/ab", [], "letters count"],
    [["/a"], "/a/b", [], "one segment more"],
    [["/a/b"], "/a", [], "one segment less"],
    [["/a/b", "/a/c"], "/a/c", ["/a/c"], "one of two below the same text"],
    [["/:x"], "/a", ["/:x"], "a parameter"],
    [["/:x", "/:y"], "/a", ["/:x", "/:y"], "two parameters"],
    [["/:x"], "/", [], "a parameter is not empty"],
    [["/v:x"], "/a", ["/v:x"], "text beside a parameter is ignored"],
    [["/*w"], "/a/b/c", ["/*w"], "a wildcard with several segments"],
    [["/a/*w"], "/a", ["/a/*w"], "a wildcard without a segment"],
    [["/a/*w"], "/b", [], "a wildcard below other text"],
    [["/*w/end"], "/a/b", [], "without the text after a wildcard"],
    [["/*w/end"], "/a/b/end", ["/*w/end"], "with the text after a wildcard"],
    [["/*w/end"], "/END/", ["/*w/end"], "an empty wildcard before text"],
    [["/*w/x/*v/:p"], "/a/x/b/c", ["/*w/x/*v/:p"], "two wildcards with text between and a parameter after"],
    [["/*w/x/*v/:p"], "/a/x", [], "two wildcards without the parameter after"],
    [["/*w/x/*v"], "/a/b", [], "two wildcards without the text between"],
    [["/*w/:p/*v"], "/a", ["/*w/:p/*v"], "two empty wildcards with a parameter between"],
    [["/*w/:p/*v"], "/", [], "two wildcards without the parameter between"],
    [["/a", "/:x", "/*w", "/b"], "/a", ["/*w", "/a", "/:x"], "all possible forms"],
    [["/a/:x/c", "/:x/b/c"], "/a/b/c", ["/a/:x/c", "/:x/b/c"], "by text and by parameter"],
    [["/a{/:b}"], "/a", ["/a{/:b}"], "the form that fits"],
    [["/__proto__"], "/constructor", [], "names of an object's own properties"],
    [["/__proto__"], "/__proto__", ["/__proto__"], "__proto__ is an ordinary name"],
  ])("a trie of %j finds for %j: %j (%s)", (paths, pathname, found) => {
    expect([...trieOf(paths).find(pathname)].sort()).toEqual([...found].sort());
  });

  test("a trie recurses as deep as its forms, not as the path", () => {
    expect(trieOf(["/*w"]).find("/a".repeat(100_000))).toEqual(["/*w"]);
    expect(trieOf(["/a/:x"]).find("/a".repeat(100_000))).toEqual([]);
  });
});

describe(`compared with a search through all forms (seed ${SEED})`, () => {
  const names = fc.constantFrom("a", "b", "A", "ß", "é", "É", "ſ", "s", "ı", "i", "K", "\ud801\udc28", "a.b", "\ud800");
  const pieces = fc.oneof(names, fc.constantFrom(":", ":", "*", "/", "/", "-"));
  const raw = fc.array(pieces, { maxLength: 8 }).map((some) => nameApart(some));
  const starred = raw.map((path) => `/*${path.replaceAll("//", "/*/")}/*`);
  const forms = fc
    .array(fc.oneof(raw, raw.map(withOption), starred).map(compiled), { maxLength: 6 })
    .map((all) => all.flat());
  const pathnames = fc
    .array(fc.oneof(names, fc.constantFrom("/", "/", "//", "-")), { maxLength: 10 })
    .map((some) => `/${some.join("")}`);

  test("the trie finds every form that matches a path, each once", () => {
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
    fc.assert(check, { seed: SEED, numRuns: 500 });
    expect(hits).toBeGreaterThan(25);
  });
});

function takes(form: PathForm, pathname: string): boolean {
  const spellings = [pathname, collapseSlashes(pathname)];
  return spellings.some((path) => form.takes(path)) || form.paramsOf(pathname) !== undefined;
}

/** Gives each parameter a unique name. */
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
