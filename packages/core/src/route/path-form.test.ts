import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { collapseSlashes, fold } from "./path-form.js";
import { codeUnit, formOf, formsOf, seedOf } from "./route.fixture.js";

/** What facilitators and catalogs take as a template; the root has nothing after its slash. */
const TEMPLATE = /^\/[a-zA-Z0-9_/:.\-~%]*$/;

/** The parameters a path has by the first form that takes it, and that form's template. */
function located(path: string, pathname: string): readonly [template: string, params: object] | undefined {
  for (const form of formsOf(path)) {
    const params = form.paramsOf(pathname);
    if (params !== undefined) return [form.template, params];
  }
  return undefined;
}

describe("a form, as the trie reads it,", () => {
  test.each<[path: string, segments: string[], ranks: number[], why: string]>([
    ["/", [], [], "the root has no segment"],
    ["/Users", ["text USERS"], [0], "case is folded"],
    ["/users/", ["text USERS"], [0], "a slash at the end is no segment"],
    ["/a//b", ["text A", "text B"], [0, 0], "nor is what lies between two slashes"],
    ["/a/:b", ["text A", "any \0param"], [0, 1], "a parameter"],
    ["/a/v:b", ["text A", "any V\0param"], [0, 1 / 2], "text makes a parameter more specific"],
    ["/a/:b-:c", ["text A", "any \0param-\0param"], [0, 2 / 3], "a second parameter less"],
    ["/a/:b-:c-:d", ["text A", "any \0param-\0param-\0param"], [0, 3 / 4], "a third still less"],
    ["/a/*b", ["text A", "rest \0wildcard"], [0, 2], "a wildcard"],
    ["/a/x*b", ["text A", "rest X\0wildcard"], [0, 1.5], "text makes a wildcard more specific"],
    ["/a/*b/c", ["text A", "rest \0wildcard", "text C"], [0, 2, 0], "text after a wildcard"],
    ["/:a.:b/*c.d", ["any \0param.\0param", "rest \0wildcard.D"], [2 / 3, 1.5], "all at once"],
  ])("of %s has the segments %j of ranks %j: %s", (path, segments, ranks) => {
    const form = formOf(path);
    expect(form.segments.map(({ kind, shape }) => `${kind} ${shape}`)).toEqual(segments);
    expect(form.ranks).toEqual(ranks);
  });

  test("is left out of a path whose optional beginning leaves no slash", () => {
    expect(formsOf("{/a}b{/c}").map(({ sample }) => sample)).toEqual(["/ab/c", "/ab"]);
  });
});

describe("the forms of a path", () => {
  test.each<[path: string, samples: string[], templates: string[], why: string]>([
    ["/", ["/"], ["/"], "the root"],
    ["/users/:id", ["/users/~"], ["/users/:id"], "one form"],
    ["/users{/:id}", ["/users/~", "/users"], ["/users/:id", "/users"], "the fullest first"],
    ["{/:lang}/about", ["/~/about", "/about"], ["/:lang/about", "/about"], "an optional part at the beginning"],
    ["{/:a}", ["/~", "/"], ["/:a", "/"], "nothing is the root"],
    ["/a{/b{/c}}", ["/a/b/c", "/a/b", "/a"], ["/a/b/c", "/a/b", "/a"], "a part in a part"],
    [
      "/a{/b}{/:c}",
      ["/a/b/~", "/a/b", "/a/~", "/a"],
      ["/a/b/:c", "/a/b", "/a/:c", "/a"],
      "all combinations, as Express tries them",
    ],
    ["/f/*rest", ["/f/~"], ["/f/:rest"], "catalogs know no wildcard"],
    ["/f/*", ["/f/~", "/f/", "/f"], ["/f/:var1", "/f/", "/f"], "a bare wildcard may stand for nothing"],
    ["/users/[id]", ["/users/~"], ["/users/:id"], "brackets"],
    ["/:a~*b", ["/0~0"], ["/:a~:b"], "a placeholder that could be a value of :a"],
    ["/x0/:a~*b", ["/x0/1~1"], ["/x0/:a~:b"], "and is nowhere in the text"],
    ["/0123456789/:a~a*b", ["/0123456789/B~aB"], ["/0123456789/:a~a:b"], "nor in other case"],
    ["/a.b~c-d_e", ["/a.b~c-d_e"], ["/a.b~c-d_e"], "signs that need no encoding"],
    ["/a%20b", ["/a%20b"], ["/a%20b"], "what is encoded is not encoded again"],
    ["/é/:ü", ["/é/~"], ["/%C3%A9/:%C3%BC"], "UTF-8, percent-encoded, in names as well"],
    ['/:"a b"', ["/~"], ["/:a%20b"], "a quoted name"],
    ["/a,b;c=d@e", ["/a,b;c=d@e"], ["/a%2Cb%3Bc%3Dd%40e"], "signs of URLs that catalogs do not know"],
    ["/\t", ["/\t"], ["/%09"], "a control character, with two digits"],
    ["/\ud800/:x", ["/\ud800/~"], ["/%EF%BF%BD/:x"], "a lone surrogate, which has no UTF-8"],
    ["/😀", ["/😀"], ["/%F0%9F%98%80"], "a pair of surrogates"],
  ])("%s have the samples %j and the templates %j: %s", (path, samples, templates) => {
    const forms = formsOf(path);
    expect(forms.map(({ sample }) => sample)).toEqual(samples);
    expect(forms.map(({ template }) => template)).toEqual(templates);
  });

  test.each<[one: string, other: string, isSame: boolean, why: string]>([
    ["/a/:b", "/A/:c/", true, "names, case and a slash at the end do not count"],
    ["/a/:b", "/a/[b]", true, "nor does the notation"],
    ["/a/:b", "/a/*b", false, "a wildcard takes more"],
    ["/a/:b", "/a/b", false, "a parameter takes more"],
    ["/a/:b", "/a/\0param", false, "text that looks like what stands for a parameter"],
    ["/a", "/a/b", false, "another path"],
    ["/", "/a", false, "the root"],
    ["/a//b", "/a/b", false, "Express tells doubled slashes apart"],
  ])("%s and %j are of one shape: %j, %s", (one, other, isSame) => {
    expect(formOf(one).shape === formOf(other).shape).toBe(isSame);
  });

  test("the root keeps its slash", () => {
    expect(formOf("/").shape).toBe("/");
  });

  test.each<[count: number, isTaken: boolean]>([
    [8, true],
    [9, false],
  ])("are at most 256: %i optional parts are taken: %j", (count, isTaken) => {
    const path = `/a${"{/b}".repeat(count)}`;
    if (isTaken) expect(formsOf(path)).toHaveLength(256);
    else expect(() => formsOf(path)).toThrow("at most 256 combinations of optional parts");
  });

  test("have at most two wildcards each, not all together", () => {
    expect(formsOf("/*a/x/*b")).toHaveLength(1);
    expect(() => formsOf("/*a/x/*b/y/*c")).toThrow("at most 2 wildcards");
    expect(() => formsOf("/a{/*a/x/*b/y/*c}")).toThrow("at most 2 wildcards");
  });
});

describe("a path is written just as a form has it", () => {
  test.each<[path: string, pathname: string, matches: boolean, why: string]>([
    ["/", "/", true, "the root"],
    ["/", "", false, "nothing"],
    ["/", "//", false, "a slash more"],
    ["/a", "/a", true, "letter for letter"],
    ["/a", "/A", false, "other case"],
    ["/a", "/a/", false, "a slash more"],
    ["/a/", "/a/", true, "with the slash the seller wrote"],
    ["/a/", "/a", false, "and not without"],
    ["/a", "//a", false, "a doubled slash"],
    ["/a.b", "/axb", false, "a dot is a dot"],
    ["/a/:b", "/a/x", true, "a parameter"],
    ["/a/:b", "/a/%", true, "whatever it is"],
    ["/a/:b", "/A/x", false, "other case"],
    ["/a/:b", "/a/x/", false, "a slash more"],
    ["/a/:b/", "/a/x/", true, "with the slash the seller wrote"],
    ["/a/:b/", "/a/x", false, "and not without"],
    ["/a/:b", "/a/", false, "a parameter is not empty"],
    ["/a/:b", "/a/x/y", false, "and one segment"],
    ["/a/:b", "/a/x\ny", true, "a line break ends nothing"],
    ["/a/*b", "/a/x/y", true, "a wildcard"],
    ["/a/*b", "/a/", false, "is not empty"],
    ["/:a-:b", "/x-y", true, "two parameters"],
    ["/:a-:b", "/x", false, "which both are there"],
  ])("%s and %j: %j, %s", (path, pathname, matches) => {
    expect(formOf(path).matches(pathname)).toBe(matches);
  });
});

describe("the parameters of a path", () => {
  test.each<[path: string, pathname: string, template: string, params: object, why: string]>([
    ["/u/:id", "/u/7", "/u/:id", { id: "7" }, "one"],
    ["/u/:id", "/u/a%20b", "/u/:id", { id: "a b" }, "decoded"],
    ["/u/:id", "/u/a%2Fb", "/u/:id", { id: "a/b" }, "an encoded slash is no separator"],
    ["/u/:id", "/u/%C3%A9", "/u/:id", { id: "é" }, "UTF-8"],
    ["/u/:id", "/u/%", "/u/:id", { id: "%" }, "what cannot be decoded stays raw"],
    ["/u/:id", "/u/%ff%20", "/u/:id", { id: "%ff%20" }, "all of it"],
    ["/u/:id", "/u/a+b", "/u/:id", { id: "a+b" }, "a plus sign is no space"],
    ["/u/:id", "/U/Ab", "/u/:id", { id: "Ab" }, "other case, but not of the value"],
    ["/u/:id", "/u/7/", "/u/:id", { id: "7" }, "a slash more at the end"],
    ["/u/:id/", "/u/7", "/u/:id/", { id: "7" }, "and one less"],
    ["/u/:id/", "/U/7/", "/u/:id/", { id: "7" }, "other case with the slash"],
    ["/u/:id", "//u///7//", "/u/:id", { id: "7" }, "doubled slashes"],
    ["/:a-:b", "/x-y", "/:a-:b", { a: "x", b: "y" }, "two in a segment"],
    ["/:a/x/:b", "/1/x/2", "/:a/x/:b", { a: "1", b: "2" }, "two segments"],
    ["/f/*rest", "/f/a/b%20c", "/f/:rest", { rest: "a/b c" }, "a wildcard is joined by slashes"],
    ["/f/*rest", "/f/%/a%20", "/f/:rest", { rest: "%/a " }, "each of its segments is decoded by itself"],
    ["/f/*rest", "/f/a%2Fb/c", "/f/:rest", { rest: "a/b/c" }, "an encoded slash in it"],
    ["/users{/:id}", "/users/7", "/users/:id", { id: "7" }, "an optional part that is there"],
    ["/users{/:id}", "/users", "/users", {}, "and one that is not"],
    ["/a{/:b}/c{/:d}", "/a/c/1", "/a/c/:d", { d: "1" }, "the second alone"],
    ["{/:lang}/about", "/about/", "/about", {}, "other slashes choose the same form"],
    ["/f/*", "/f/a/b", "/f/:var1", { var1: "a/b" }, "a bare wildcard has a name"],
    ["/*/a/*", "/x/a/y/z", "/:var1/a/:var2", { var1: "x", var2: "y/z" }, "and so has a second"],
    ["/a", "/A//", "/a", {}, "text has none"],
    ["/", "//", "/", {}, "the root"],
  ])("%s in %s are by %s %j: %s", (path, pathname, template, params) => {
    expect(located(path, pathname)).toEqual([template, params]);
  });

  test.each<[path: string, pathname: string, why: string]>([
    ["/u/:id", "/u", "nothing in its place"],
    ["/u/:id", "/u/", "nothing after the slash"],
    ["/u/:id", "/u/7/8", "a segment more"],
    ["/u/:id", "/x/7", "other text"],
    ["/f/*rest", "/f/", "nothing for the wildcard"],
    ["/a", "/ab", "a letter more"],
    ["/a", "/a/b", "a segment more"],
    ["/a/b", "/ab", "a slash less"],
    ["/", "/a", "not the root"],
  ])("%s are not found in %s: %s", (path, pathname) => {
    expect(located(path, pathname)).toBeUndefined();
  });

  test("may have the names of an object's own machinery", () => {
    const params = formOf("/:__proto__/:constructor/:toString").paramsOf("/x/y/z") ?? {};
    expect(Object.entries(params)).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
      ["toString", "z"],
    ]);
    expect(Object.getPrototypeOf(params)).toBe(Object.prototype);
    expect(Object.prototype).not.toHaveProperty("x");
  });

  test("cannot be changed by whoever is handed them", () => {
    expect(Object.isFrozen(formOf("/:a").paramsOf("/x"))).toBe(true);
    expect(Object.isFrozen(formOf("/a").paramsOf("/a"))).toBe(true);
  });
});

const seed = seedOf();

describe(`whatever a path is (seed ${seed})`, () => {
  const pieces = fc.constantFrom(
    "/",
    "a",
    "B",
    ":b",
    "*c",
    "*",
    "[d]",
    "{",
    "}",
    "%",
    "~",
    ".",
    "é",
    "\ud800",
    " ",
    "\0",
  );
  const paths = fc.array(pieces, { maxLength: 10 }).map((some) => `/${some.join("")}`);
  const compiled = paths.map((path) => {
    try {
      return formsOf(path);
    } catch {
      return [];
    }
  });
  const pathnames = fc.oneof(
    fc.string({ unit: codeUnit }).map((text) => `/${text}`),
    fc.array(fc.constantFrom("/", "a", "b", "%", "%20", ".", "é", "~")).map((some) => `/${some.join("")}`),
  );

  test("its templates are fit for catalogs, and its samples are of its forms", () => {
    const check = fc.property(compiled, (forms) => {
      for (const form of forms) {
        expect(form.template).toMatch(TEMPLATE);
        expect(form.matches(form.sample)).toBe(true);
        expect(form.segments).toHaveLength(form.ranks.length);
      }
    });
    fc.assert(check, { seed, numRuns: 500 });
  });

  test("a path as it is written has parameters, and nothing throws", () => {
    const check = fc.property(compiled, pathnames, (forms, pathname) => {
      for (const form of forms) {
        const params = form.paramsOf(pathname);
        if (form.matches(pathname)) expect(params).toBeDefined();
      }
    });
    fc.assert(check, { seed, numRuns: 500 });
  });
});

test.each([
  ["ß", "SS"],
  ["ſ", "S"],
  ["\ud801\udc28", "\ud801\udc00"],
  ["\ud801", "\ud801"],
])("folds %j to %j", (text, folded) => {
  expect(fold(text)).toBe(folded);
});

test.each([
  ["//a///b//", "/a/b/"],
  ["/a/b", "/a/b"],
  ["", ""],
])("collapses the slashes of %j to %j", (path, collapsed) => {
  expect(collapseSlashes(path)).toBe(collapsed);
});
