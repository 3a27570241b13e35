import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compilePath } from "./path.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

/** Whether a path matches a form, apart from case and one trailing slash. */
function matches(path: string, pathname: string): boolean {
  const compiled = compilePath(path);
  if (!compiled.ok) throw new TypeError(`${path}: ${compiled.expected}`);
  return compiled.forms.some((form) => form.takes(pathname));
}

describe("compilePath", () => {
  test.each<[path: string, pathname: string, why: string]>([
    ["/weather", "/weather", "the path itself"],
    ["/weather", "/WEATHER", "Express ignores case by default"],
    ["/weather", "/weather/", "a trailing slash"],
    ["/weather/", "/weather", "a route for /weather/ serves /weather, too"],
    ["/weather/", "/weather/", "the same trailing slash"],
    ["/", "/", "the root"],
    ["/weather/:city", "/weather/par%2Fis", "an encoded slash is not a separator"],
    ["/weather/:city/", "/weather/paris", "a trailing slash after a parameter"],
    ["/files/*path", "/files/a/b/c", "a wildcard matches several segments"],
    ["/a{/:b}", "/a", "an optional part left out"],
    ["/a{/:b}", "/a/x", "an optional part given"],
    ["/a{/:b}/", "/a", "an optional part left out before a trailing slash"],
    ["/:from-:to", "/paris-rome", "two parameters in one segment"],
    ["/users/[id]", "/users/7", "a parameter in brackets"],
    ["/users/[id]s", "/users/7s", "a parameter in brackets before text"],
    ["/files/*", "/files/a/b", "a bare wildcard matches several segments"],
    ["/files/*", "/files/", "a bare wildcard matches nothing"],
    ["/files/*", "/files", "a bare wildcard without the slash"],
    ["/files/*/end", "/files/a/b/end", "a bare wildcard in the middle"],
    ["/files/*/end", "/files//end", "an empty bare wildcard in the middle"],
    ["/files/*/end", "/files/end", "a bare wildcard in the middle without its slash"],
    ["/*/end", "/end", "a bare wildcard at the beginning without its slash"],
    ["/a/*/b/*/c/*", "/a/b/c", "three bare wildcards without their slashes"],
    ["/*", "/", "everything"],
    ["/*", "/a/b", "everything"],
    ["{/:lang}/about", "/about", "an optional part at the beginning"],
    ["{/:lang}/about", "/de/about", "an optional part at the beginning"],
    ["/a\\[b\\]", "/a[b]", "escaped brackets"],
  ])("%s matches %s: %s", (path, pathname) => {
    expect(matches(path, pathname)).toBe(true);
  });

  test.each<[path: string, pathname: string, why: string]>([
    ["/weather", "/weather/paris", "one segment more"],
    ["/weather", "/weathers", "one letter more"],
    ["/weather", "/%77eather", "Express does not decode before it matches"],
    ["/weather", "//weather", "Express does not collapse slashes"],
    ["/weather", "/weather//", "only one trailing slash is optional"],
    ["/weather", "/x/weather", "the beginning counts"],
    ["/weather/:city", "/weather/", "a parameter is not empty"],
    ["/weather/:city", "/weather/a/b", "a parameter is one segment"],
    ["/files/*path", "/files/", "a wildcard is not empty"],
    ["/a.b", "/aXb", "a dot is a dot"],
    ["/", "/a", "the root is not a prefix"],
  ])("%s does not match %s: %s", (path, pathname) => {
    expect(matches(path, pathname)).toBe(false);
  });

  test.each<[path: string, expected: string, at: number | undefined, why: string]>([
    ["/x?y=1", "without a query", 2, "the query is not matched"],
    ["/users/:id?", "optional parts in braces, as in /users{/:id}", 10, "an optional parameter as Express 4 writes it"],
    ["/x\\?", "without a query", 2, "no pathname has a question mark"],
    ["/x#top", "without a fragment", 2, "no pathname has a fragment"],
    ["/x//", "at most one slash", 3, "Express 5 drops both, Express 4 one"],
    ["/a*", 'a name after "*", as in /files/*path', 2, "a wildcard without a name inside a segment"],
    ["/*b/*-", 'a name after "*"', 4, "a wildcard without a name inside a segment"],
    ["/:", "Missing parameter name", 2, "a parameter without a name"],
    ["/(a|b)", "payments.charge", 1, "a regular expression"],
    ["/[...rest]", "*rest for the rest of a path", 1, "the rest of a path as other frameworks write it"],
    ["/[a b]", "a name in brackets", 1, "an invalid name in brackets"],
    ["/[a", "a name in brackets", 1, "an open bracket"],
    ["/a]", "an opening bracket", 2, "an unopened bracket"],
    ["/a+", "a backslash before a plus sign", 2, "a repetition"],
    ["/a!", "a backslash before an exclamation mark", 2, "reserved"],
    ["/{a", "Unexpected end", 3, "an open group"],
    ["/a}", "Unexpected }", 2, "an unopened group"],
    ["/:a:b", "Missing text before", undefined, "two adjacent parameters"],
    ["/a\\", "Unexpected end after", 3, "an empty escape"],
    ['/:"a', "Unterminated quote", 2, "an open quote"],
    [`/a${"{/b}".repeat(9)}`, "at most 256 combinations", undefined, "512 forms"],
    [`/a${"{/b}".repeat(8)}/*`, "at most 256 combinations", undefined, "512 forms, with and without the star"],
    [`${"/*w".repeat(9)}`, "at most 8 wildcards", undefined, "nine wildcards"],
    ['/*"\0a"', 'a name after "*"', 1, "a name that is kept for the bare wildcard"],
  ])("compilePath refuses %s with %s at %s: %s", (path, expected, at) => {
    expect(compilePath(path)).toEqual({
      ok: false,
      expected: expect.stringContaining(expected),
      ...(at === undefined ? {} : { at }),
    });
  });

  test("compilePath quotes no URL in its explanations", () => {
    const compiled = compilePath("/:");
    expect(compiled.ok ? "" : compiled.expected).not.toContain("http");
  });

  test("compilePath never throws", () => {
    const pieces = fc.constantFrom(
      "/",
      "a",
      ":b",
      "*c",
      "*",
      "[",
      "]",
      "{",
      "}",
      "?",
      "#",
      "\\",
      '"',
      ".",
      "-",
      "é",
      "\u0000",
    );
    const paths = fc.array(pieces, { maxLength: 12 }).map((some) => `/${some.join("")}`);
    fc.assert(fc.property(fc.oneof(paths, fc.string({ unit: codeUnit })), (path) => void compilePath(path)));
  });
});
