import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPlain, isUnsafe, otherSpellings } from "./coverage.js";
import { codeUnit, seedOf } from "./route.fixture.js";

describe("isPlain", () => {
  test.each<[path: string, isPlain: boolean, why: string]>([
    ["/", true, "the root"],
    ["/a/b-c_d.e~f", true, "characters without a special meaning"],
    ["/A/", true, "case and a slash at the end"],
    ["/a,b;c=d@e:f!g$h&i'j(k)*+", true, "all characters of a segment"],
    ['/"<>^`{|}', true, "invalid characters that Node accepts"],
    ["/!~", true, "the first and last printable characters"],
    ["/a..b/c.", true, "dots inside segments"],
    ["", true, "nothing"],
    ["a", false, "no leading slash"],
    ["*", false, "a request for the server itself"],
    ["http://h/a", false, "a URL"],
    ["/a%20", false, "an encoding"],
    ["/100%", false, "a percent sign"],
    ["/a\\b", false, "a backslash"],
    ["//a", false, "a doubled slash"],
    ["/a//", false, "a doubled slash at the end"],
    ["/.", false, "a dot segment"],
    ["/a/../b", false, "two dots"],
    ["/.well-known", false, "a name that begins with a dot"],
    ["/a b", false, "a space"],
    ["/\x7f", false, "DEL"],
    ["/\0", false, "NUL"],
    ["/\xe9", false, "a byte outside ASCII"],
    ["/a\nb", false, "a line break"],
  ])("isPlain(%j) returns %j: %s", (path, expected) => {
    expect(isPlain(path)).toBe(expected);
  });
});

describe("otherSpellings", () => {
  test.each<[path: string, spellings: string[], why: string]>([
    ["/", [], "the root"],
    ["/a/b", [], "only one reading"],
    ["/a/", ["/a"], "without the trailing slash"],
    ["/a//b", ["/a/b"], "doubled slashes"],
    ["/a\\b", ["/a/b"], "a backslash is a slash to Windows"],
    ["/a/./b", ["/a/b"], "one dot"],
    ["/a/../b", ["/b"], "two dots"],
    ["/../../b", ["/b"], "dots above the root"],
    ["/a/..", ["/"], "back at the root"],
    ["/a/...", [], "three dots are a name"],
    ["/%61", ["/a"], "decoded"],
    ["/%4A", ["/J"], "capital digits"],
    ["/%4a", ["/J"], "small digits"],
    ["/%2561", ["/%61", "/a"], "decoded twice"],
    ["/%252561", ["/%2561", "/%61"], "but not three times"],
    ["/a%2Fb", ["/a/b"], "a hidden separator"],
    ["/a%5cb", ["/a/b"], "a hidden backslash"],
    ["/a/%2e%2E/b", ["/a/../b", "/b"], "hidden dots"],
    ["/a%00.html", ["/a"], "NUL ends a name"],
    ["/a\0b", ["/a"], "a raw NUL"],
    ["/%7F", ["/\x7f"], "the last ASCII character"],
    ["/%80%C3%A9", [], "bytes outside ASCII stay encoded"],
    ["/%", [], "not an encoding"],
    ["/%4", [], "half an encoding"],
    ["/%zz", [], "not hexadecimal"],
    ["..", ["/"], "no leading slash"],
    ["", ["/"], "nothing"],
  ])("otherSpellings(%j) returns %j: %s", (path, spellings) => {
    expect(otherSpellings(path)).toEqual(spellings);
  });
});

describe("isUnsafe", () => {
  test.each<[path: string, isUnsafe: boolean, why: string]>([
    ["/a/b", false, "plain"],
    ["/a/", false, "a slash at the end"],
    ["/%61", false, "an encoded letter"],
    ["/%C3%A9", false, "UTF-8"],
    ["/\xe9\xff\x80", false, "raw bytes"],
    ["/%", false, "not an encoding"],
    ["/.well-known/a..b", false, "dots in names"],
    ["/a/...", false, "three dots"],
    ["/a./b", false, "a dot at the end of a name"],
    ["/a\\b", true, "a backslash"],
    ["/a%5Cb", true, "encoded"],
    ["/a%255cb", true, "encoded twice"],
    ["/a%2Fb", true, "a hidden separator"],
    ["/a%252fb", true, "encoded twice"],
    ["/a%25252fb", true, "encoded three times"],
    ["/a%2525252fb", false, "encoded four times"],
    ["/a//b", true, "a doubled slash"],
    ["/a/./b", true, "one dot"],
    ["/a/..", true, "two dots at the end"],
    ["/a/%2e%2e/b", true, "encoded"],
    ["/a/.%2e", true, "half encoded"],
    ["/a/%252e/", true, "encoded twice"],
    ["/a%00", true, "NUL"],
    ["/a%252500", true, "encoded three times"],
    ["/a%1F", true, "the last control character"],
    ["/a\x1f", true, "raw"],
    ["/a%7f", true, "DEL"],
    ["/a%20b", false, "a space"],
    ["/\u0100", true, "a character that is not a byte"],
  ])("isUnsafe(%j) returns %j: %s", (path, expected) => {
    expect(isUnsafe(path)).toBe(expected);
  });
});

const seed = seedOf();

describe(`any path (seed ${seed})`, () => {
  const pieces = fc.constantFrom(
    "/",
    ".",
    "..",
    "%",
    "%2e",
    "%2F",
    "%5c",
    "%25",
    "\\",
    "\0",
    "%00",
    "a",
    "é",
    "\ud800",
  );
  const paths = fc.oneof(
    fc.string({ unit: codeUnit }),
    fc.array(pieces, { maxLength: 16 }).map((some) => some.join("")),
  );

  test("the functions never throw, and a path is not among its other spellings", () => {
    const check = fc.property(paths, (path) => {
      expect(typeof isPlain(path)).toBe("boolean");
      expect(typeof isUnsafe(path)).toBe("boolean");
      const spellings = otherSpellings(path);
      expect(spellings).not.toContain(path);
      expect(new Set(spellings).size).toBe(spellings.length);
    });
    fc.assert(check, { seed, numRuns: 2_000 });
  });

  test("a plain path is safe, and its only other spelling lacks the trailing slash", () => {
    const check = fc.property(fc.array(pieces, { maxLength: 8 }), (some) => {
      const path = `/${some.join("")}`;
      fc.pre(isPlain(path));
      expect(isUnsafe(path)).toBe(false);
      for (const other of otherSpellings(path)) expect(`${other}/`).toBe(path);
    });
    fc.assert(check, { seed, numRuns: 500 });
  });
});

test.each(["/", "%", "%25", "%2e", "/..", "\\", "a/", ".", "%2", "\0"])("the functions handle 16 KB of %j", (piece) => {
  const path = piece.repeat(16_384 / piece.length);
  expect([isPlain(path), isUnsafe(path), otherSpellings(path).length]).toEqual([
    expect.any(Boolean),
    expect.any(Boolean),
    expect.any(Number),
  ]);
});
