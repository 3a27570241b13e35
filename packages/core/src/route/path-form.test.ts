import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { collapseSlashes, fold } from "./path-form.js";
import { codeUnit, formOf, formsOf, SEED } from "./route.fixture.js";

/** The templates that facilitators and catalogs accept. */
const TEMPLATE = /^\/[a-zA-Z0-9_/:.\-~%]*$/;

/** The template of the first form that matches a path, and the parameters. */
function located(path: string, pathname: string): readonly [template: string, params: object] | undefined {
  for (const form of formsOf(path)) {
    const params = form.paramsOf(pathname);
    if (params !== undefined) return [form.template, params];
  }
  return undefined;
}

describe("segments and ranks", () => {
  test.each<[path: string, segments: string[], ranks: number[], why: string]>([
    ["/", [], [], "the root has no segment"],
    ["/Users", ["text USERS"], [0], "case is folded"],
    ["/users/", ["text USERS"], [0], "a trailing slash"],
    ["/a//b", ["text A", "text B"], [0, 0], "a doubled slash"],
    ["/a/:b", ["text A", "any \0param"], [0, 1], "a parameter"],
    ["/a/v:b", ["text A", "any V\0param"], [0, 1 / 2], "text beside a parameter"],
    ["/a/:b-:c", ["text A", "any \0param-\0param"], [0, 2 / 3], "two parameters"],
    ["/a/:b-:c-:d", ["text A", "any \0param-\0param-\0param"], [0, 3 / 4], "three parameters"],
    ["/a/*b", ["text A", "rest \0wildcard"], [0, 2], "a wildcard"],
    ["/a/x*b", ["text A", "rest X\0wildcard"], [0, 1.5], "text beside a wildcard"],
    ["/a/*b/c", ["text A", "rest \0wildcard", "text C"], [0, 2, 0], "text after a wildcard"],
    ["/:a.:b/*c.d", ["any \0param.\0param", "rest \0wildcard.D"], [2 / 3, 1.5], "all at once"],
  ])("the form of %s has the segments %j of ranks %j: %s", (path, segments, ranks) => {
    const form = formOf(path);
    expect(form.segments.map(({ kind, shape }) => `${kind} ${shape}`)).toEqual(segments);
    expect(form.ranks).toEqual(ranks);
  });

  test("a form without a leading slash is left out", () => {
    expect(formsOf("{/a}b{/c}").map(({ sample }) => sample)).toEqual(["/ab/c", "/ab"]);
  });
});

describe("the forms of a path", () => {
  test.each<[path: string, samples: string[], templates: string[], why: string]>([
    ["/", ["/"], ["/"], "the root"],
    ["/users/:id", ["/users/~"], ["/users/:id"], "one form"],
    ["/users{/:id}", ["/users/~", "/users"], ["/users/:id", "/users"], "the longest first"],
    ["{/:lang}/about", ["/~/about", "/about"], ["/:lang/about", "/about"], "an optional part at the beginning"],
    ["{/:a}", ["/~", "/"], ["/:a", "/"], "an empty form is the root"],
    ["/a{/b{/c}}", ["/a/b/c", "/a/b", "/a"], ["/a/b/c", "/a/b", "/a"], "nested optional parts"],
    [
      "/a{/b}{/:c}",
      ["/a/b/~", "/a/b", "/a/~", "/a"],
      ["/a/b/:c", "/a/b", "/a/:c", "/a"],
      "all combinations, in Express's order",
    ],
    ["/f/*rest", ["/f/~"], ["/f/:rest"], "a wildcard, which catalogs lack"],
    [
      "/f/*",
      ["/f/~", "/f/", "/f"],
      ["/f/:var1", "/f/:var1", "/f/:var1"],
      "a bare wildcard has one template, empty or not",
    ],
    [
      "/f/*/raw/*",
      ["/f/~/raw/~", "/f/~/raw/", "/f/~/raw", "/f/raw/~", "/f/raw/", "/f/raw"],
      Array(6).fill("/f/:var1/raw/:var2"),
      "two bare wildcards have one template",
    ],
    ["/f{/*rest}", ["/f/~", "/f"], ["/f/:rest", "/f/:rest"], "an optional wildcard has one template"],
    ["/f{/x/*rest}", ["/f/x/~", "/f"], ["/f/x/:rest", "/f"], "an optional part with text has two"],
    ["/a\\:b/:c", ["/a:b/~"], ["/a%3Ab/:c"], "a colon in the text is encoded"],
    ["/users/[id]", ["/users/~"], ["/users/:id"], "brackets"],
    ["/:a~*b", ["/0~0"], ["/:a~:b"], "a placeholder that could be a value of :a"],
    ["/x0/:a~*b", ["/x0/1~1"], ["/x0/:a~:b"], "a placeholder that is in the text"],
    [
      "/0123456789/:a~a*b",
      ["/0123456789/B~aB"],
      ["/0123456789/:a~a:b"],
      "a placeholder that is in the text in other case",
    ],
    ["/a.b~c-d_e", ["/a.b~c-d_e"], ["/a.b~c-d_e"], "characters that need no encoding"],
    ["/a%20b", ["/a%20b"], ["/a%20b"], "an encoding stays"],
    ["/é/:ü", ["/é/~"], ["/%C3%A9/:%C3%BC"], "UTF-8, percent-encoded, in names as well"],
    ['/:"a b"', ["/~"], ["/:a%20b"], "a quoted name"],
    ["/a,b;c=d@e", ["/a,b;c=d@e"], ["/a%2Cb%3Bc%3Dd%40e"], "URL characters that catalogs refuse"],
    ["/\t", ["/\t"], ["/%09"], "a control character, with two digits"],
    ["/\ud800/:x", ["/\ud800/~"], ["/%EF%BF%BD/:x"], "a lone surrogate, which has no UTF-8"],
    ["/😀", ["/😀"], ["/%F0%9F%98%80"], "a pair of surrogates"],
  ])("the forms of %s have the samples %j and the templates %j: %s", (path, samples, templates) => {
    const forms = formsOf(path);
    expect(forms.map(({ sample }) => sample)).toEqual(samples);
    expect(forms.map(({ template }) => template)).toEqual(templates);
  });

  test.each<[one: string, other: string, isSame: boolean, why: string]>([
    ["/a/:b", "/A/:c/", true, "names, case and a slash at the end do not count"],
    ["/a/:b", "/a/[b]", true, "the notation does not count"],
    ["/a/:b", "/a/*b", false, "a wildcard matches more"],
    ["/a/:b", "/a/b", false, "a parameter matches more"],
    ["/a/:b", "/a/\0param", false, "text like the mark of a parameter"],
    ["/a", "/a/b", false, "another path"],
    ["/", "/a", false, "the root"],
    ["/a//b", "/a/b", false, "Express tells doubled slashes apart"],
  ])("%s and %j have the same shape: %j, %s", (one, other, isSame) => {
    expect(formOf(one).shape === formOf(other).shape).toBe(isSame);
  });

  test("the shape of the root is its slash", () => {
    expect(formOf("/").shape).toBe("/");
  });

  test.each<[count: number, isTaken: boolean]>([
    [8, true],
    [9, false],
  ])("at most 256 forms are allowed, so %i optional parts are: %j", (count, isTaken) => {
    const path = `/a${"{/b}".repeat(count)}`;
    if (isTaken) expect(formsOf(path)).toHaveLength(256);
    else expect(() => formsOf(path)).toThrow("at most 256 combinations of optional parts");
  });

  test("each form has at most eight wildcards", () => {
    const wildcards = (count: number) => Array.from({ length: count }, (_, at) => `/*w${at}/x`).join("");
    expect(formsOf(wildcards(8))).toHaveLength(1);
    expect(() => formsOf(wildcards(9))).toThrow("at most 8 wildcards");
    expect(() => formsOf(`/a{${wildcards(9)}}`)).toThrow("at most 8 wildcards");
  });

  test("eight bare wildcards have each form with and without each of them", () => {
    expect(formsOf("/*/a/*/b/*/c/*/d/*/e/*/f/*/g/*")).toHaveLength(2 ** 7 * 3);
  });
});

describe("matches", () => {
  test.each<[path: string, pathname: string, matches: boolean, why: string]>([
    ["/", "/", true, "the root"],
    ["/", "", false, "nothing"],
    ["/", "//", false, "one slash more"],
    ["/a", "/a", true, "the same"],
    ["/a", "/A", false, "other case"],
    ["/a", "/a/", false, "one slash more"],
    ["/a/", "/a/", true, "with the seller's trailing slash"],
    ["/a/", "/a", false, "without the seller's trailing slash"],
    ["/a", "//a", false, "a doubled slash"],
    ["/a.b", "/axb", false, "a dot is a dot"],
    ["/a/:b", "/a/x", true, "a parameter"],
    ["/a/:b", "/a/%", true, "any parameter"],
    ["/a/:b", "/A/x", false, "other case"],
    ["/a/:b", "/a/x/", false, "one slash more"],
    ["/a/:b/", "/a/x/", true, "with the seller's trailing slash"],
    ["/a/:b/", "/a/x", false, "without the seller's trailing slash"],
    ["/a/:b", "/a/", false, "a parameter is not empty"],
    ["/a/:b", "/a/x/y", false, "a parameter is one segment"],
    ["/a/:b", "/a/x\ny", true, "a line break in a parameter"],
    ["/a/*b", "/a/x/y", true, "a wildcard"],
    ["/a/*b", "/a/", false, "a wildcard is not empty"],
    ["/:a-:b", "/x-y", true, "two parameters"],
    ["/:a-:b", "/x", false, "one of two parameters"],
  ])("%s matches %j: %j, %s", (path, pathname, matches) => {
    expect(formOf(path).matches(pathname)).toBe(matches);
  });
});

describe("paramsOf", () => {
  test.each<[path: string, pathname: string, template: string, params: object, why: string]>([
    ["/u/:id", "/u/7", "/u/:id", { id: "7" }, "one"],
    ["/u/:id", "/u/a%20b", "/u/:id", { id: "a b" }, "decoded"],
    ["/u/:id", "/u/a%2Fb", "/u/:id", { id: "a/b" }, "an encoded slash is no separator"],
    ["/u/:id", "/u/%C3%A9", "/u/:id", { id: "é" }, "UTF-8"],
    ["/u/:id", "/u/%", "/u/:id", { id: "%" }, "an invalid encoding stays"],
    ["/u/:id", "/u/%ff%20", "/u/:id", { id: "%ff%20" }, "an invalid encoding stays as a whole"],
    ["/u/:id", "/u/a+b", "/u/:id", { id: "a+b" }, "a plus sign is not a space"],
    ["/u/:id", "/U/Ab", "/u/:id", { id: "Ab" }, "other case, but not of the value"],
    ["/u/:id", "/u/7/", "/u/:id", { id: "7" }, "with a trailing slash"],
    ["/u/:id/", "/u/7", "/u/:id/", { id: "7" }, "without a trailing slash"],
    ["/u/:id/", "/U/7/", "/u/:id/", { id: "7" }, "other case with the slash"],
    ["/*u//../", "/s/t//..//", "/:u//../", { u: "s/t" }, "a second slash at the end, behind segments that must stay"],
    ["/u/:id", "//u///7//", "/u/:id", { id: "7" }, "doubled slashes"],
    ["/:a-:b", "/x-y", "/:a-:b", { a: "x", b: "y" }, "two in a segment"],
    ["/:a/x/:b", "/1/x/2", "/:a/x/:b", { a: "1", b: "2" }, "two segments"],
    ["/f/*rest", "/f/a/b%20c", "/f/:rest", { rest: "a/b c" }, "a wildcard is joined by slashes"],
    ["/f/*rest", "/f/%/a%20", "/f/:rest", { rest: "%/a " }, "each segment of a wildcard is decoded separately"],
    ["/f/*rest", "/f/a%2Fb/c", "/f/:rest", { rest: "a/b/c" }, "an encoded slash in a wildcard"],
    ["/users{/:id}", "/users/7", "/users/:id", { id: "7" }, "with an optional part"],
    ["/users{/:id}", "/users", "/users", {}, "without an optional part"],
    ["/a{/:b}/c{/:d}", "/a/c/1", "/a/c/:d", { d: "1" }, "only the second optional part"],
    ["{/:lang}/about", "/about/", "/about", {}, "a trailing slash"],
    ["/f/*", "/f/a/b", "/f/:var1", { var1: "a/b" }, "a bare wildcard has a name"],
    ["/f/*", "/f/", "/f/:var1", { var1: "" }, "an empty wildcard"],
    ["/f{/*rest}", "/f", "/f/:rest", { rest: "" }, "an optional wildcard that is absent"],
    ["/*/a/*", "/x/a/y/z", "/:var1/a/:var2", { var1: "x", var2: "y/z" }, "a second bare wildcard has a name"],
    [
      "/a/*/b/*/c/*",
      "/a/1/b/2/3/c/4",
      "/a/:var1/b/:var2/c/:var3",
      { var1: "1", var2: "2/3", var3: "4" },
      "three bare wildcards",
    ],
    ["/a/*/b", "/a/b", "/a/:var1/b", { var1: "" }, "a bare wildcard in the middle is missing with its slash"],
    ["/a/*/b", "/a//b", "/a/:var1/b", { var1: "" }, "an empty bare wildcard in the middle"],
    ["/*/:x", "/1", "/:var1/:x", { var1: "", x: "1" }, "a bare wildcard at the beginning is missing"],
    ["/*/a/*", "/x/a/y/a", "/:var1/a/:var2", { var1: "x", var2: "y/a" }, "a slash is taken where there is one"],
    [
      "/*a/x/*b/y/*c",
      "/1/2/x/3/y/4/5",
      "/:a/x/:b/y/:c",
      { a: "1/2", b: "3", c: "4/5" },
      "three wildcards, as Express 5 has them",
    ],
    ["/a", "/A//", "/a", {}, "a path without parameters"],
    ["/", "//", "/", {}, "the root"],
  ])("the path %s matches %s by %s with %j: %s", (path, pathname, template, params) => {
    expect(located(path, pathname)).toEqual([template, params]);
  });

  test.each<[path: string, pathname: string, why: string]>([
    ["/u/:id", "/u", "a missing parameter"],
    ["/u/:id", "/u/", "nothing after the slash"],
    ["/u/:id", "/u/7/8", "one segment more"],
    ["/u/:id", "/x/7", "other text"],
    ["/f/*rest", "/f/", "an empty wildcard"],
    ["/a", "/ab", "one letter more"],
    ["/a", "/a/b", "one segment more"],
    ["/a/b", "/ab", "one slash less"],
    ["/", "/a", "not the root"],
  ])("the path %s does not match %s: %s", (path, pathname) => {
    expect(located(path, pathname)).toBeUndefined();
  });

  test("parameters may be named __proto__, constructor or toString", () => {
    const params = formOf("/:__proto__/:constructor/:toString").paramsOf("/x/y/z") ?? {};
    expect(Object.entries(params)).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
      ["toString", "z"],
    ]);
    expect(Object.getPrototypeOf(params)).toBe(Object.prototype);
    expect(Object.prototype).not.toHaveProperty("x");
  });

  test("parameters are frozen", () => {
    expect(Object.isFrozen(formOf("/:a").paramsOf("/x"))).toBe(true);
    expect(Object.isFrozen(formOf("/a").paramsOf("/a"))).toBe(true);
  });
});

describe(`any path (seed ${SEED})`, () => {
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

  test("templates are valid in catalogs, and forms match their samples", () => {
    const check = fc.property(compiled, (forms) => {
      for (const form of forms) {
        expect(form.template).toMatch(TEMPLATE);
        expect(form.matches(form.sample)).toBe(true);
        expect(form.segments).toHaveLength(form.ranks.length);
      }
    });
    fc.assert(check, { seed: SEED, numRuns: 150 });
  });

  test("a path that matches has parameters, and paramsOf never throws", () => {
    const check = fc.property(compiled, pathnames, (forms, pathname) => {
      for (const form of forms) {
        const params = form.paramsOf(pathname);
        if (form.matches(pathname)) expect(params).toBeDefined();
      }
    });
    fc.assert(check, { seed: SEED, numRuns: 150 });
  });
});

test.each([
  ["ß", "SS"],
  ["ſ", "S"],
  ["\ud801\udc28", "\ud801\udc00"],
  ["\ud801", "\ud801"],
])("fold turns %j into %j", (text, folded) => {
  expect(fold(text)).toBe(folded);
});

test.each([
  ["//a///b//", "/a/b/"],
  ["/a/b", "/a/b"],
  ["", ""],
])("collapseSlashes turns %j into %j", (path, collapsed) => {
  expect(collapseSlashes(path)).toBe(collapsed);
});
