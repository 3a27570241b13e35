import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compilePath } from "./compile-path.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

function matches(path: string, pathname: string): boolean {
  const compiled = compilePath(path);
  if (!compiled.ok) throw new TypeError(`${path}: ${compiled.expected}`);
  return compiled.regexp.test(pathname);
}

describe("compilePath", () => {
  test.each<[path: string, pathname: string, why: string]>([
    ["/weather", "/weather", "the path itself"],
    ["/weather", "/WEATHER", "case does not matter to Express by default"],
    ["/weather", "/weather/", "nor does a trailing slash"],
    ["/weather/", "/weather", "in either direction: a route for /weather/ serves /weather"],
    ["/weather/", "/weather/", "and itself"],
    ["/", "/", "the root"],
    ["/weather/:city", "/weather/par%2Fis", "an encoded slash is not a separator"],
    ["/weather/:city/", "/weather/paris", "a trailing slash after a parameter"],
    ["/files/*path", "/files/a/b/c", "a wildcard takes many segments"],
    ["/a{/:b}", "/a", "an optional part left out"],
    ["/a{/:b}", "/a/x", "an optional part given"],
    ["/a{/:b}/", "/a", "an optional part left out before a trailing slash"],
    ["/:from-:to", "/paris-rome", "two parameters in one segment"],
  ])("%s matches %s: %s", (path, pathname) => {
    expect(matches(path, pathname)).toBe(true);
  });

  test.each<[path: string, pathname: string, why: string]>([
    ["/weather", "/weather/paris", "one segment more"],
    ["/weather", "/weathers", "one letter more"],
    ["/weather", "/%77eather", "Express does not decode before it matches"],
    ["/weather", "//weather", "Express does not collapse slashes"],
    ["/weather", "/weather//", "only one slash is loose"],
    ["/weather", "/x/weather", "the beginning counts"],
    ["/weather/:city", "/weather/", "a parameter is not empty"],
    ["/weather/:city", "/weather/a/b", "a parameter is one segment"],
    ["/files/*path", "/files/", "a wildcard is not empty"],
    ["/a.b", "/aXb", "a dot is a dot"],
    ["/", "/a", "the root is not a prefix"],
  ])("%s does not match %s: %s", (path, pathname) => {
    expect(matches(path, pathname)).toBe(false);
  });

  test.each<[path: string, expected: string, why: string]>([
    ["/x?y=1", "without query", "the query is not matched"],
    ["/users/:id?", "optional parts as in /users{/:id}", "an optional parameter as Express 4 writes it"],
    ["/x\\?", "without query", "no pathname has a question mark"],
    ["/x#top", "without query and fragment", "no pathname has a fragment"],
    ["/x//", "at most one slash", "Express 5 drops both, Express 4 one"],
    ["/*", "Missing parameter name", "a wildcard without a name"],
    ["/:", "Missing parameter name", "a parameter without a name"],
    ["/(a|b)", "Unexpected (", "a regular expression"],
    ["/[id]", "Unexpected [", "brackets"],
    ["/a+", "Unexpected +", "a repetition"],
    ["/{a", "Unexpected end", "a group left open"],
    ["/a}", "Unexpected }", "a group never opened"],
    ["/:a:b", "Missing text before", "two parameters that touch"],
    ["/a\\", "Unexpected end after", "an escape of nothing"],
    ['/:"a', "Unterminated quote", "a name left open"],
    [`/a${"{/b}".repeat(9)}`, "Too many path combinations", "512 forms"],
  ])("refuses %s and says: %s (%s)", (path, expected) => {
    expect(compilePath(path)).toEqual({ ok: false, expected: expect.stringContaining(expected) });
  });

  test("says nothing of web addresses in its explanations", () => {
    const compiled = compilePath("/*");
    expect(compiled.ok ? "" : compiled.expected).not.toContain("http");
  });

  test("is total", () => {
    const pieces = fc.constantFrom("/", "a", ":b", "*c", "{", "}", "?", "#", "\\", '"', ".", "-", "é", "\u0000");
    const paths = fc.array(pieces, { maxLength: 12 }).map((some) => `/${some.join("")}`);
    fc.assert(fc.property(fc.oneof(paths, fc.string({ unit: codeUnit })), (path) => void compilePath(path)));
  });
});
