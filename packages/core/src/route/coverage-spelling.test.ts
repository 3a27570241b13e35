import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPlain, isUnsafe, otherSpellings } from "./coverage.js";
import { codeUnit, seedOf } from "./route.fixture.js";

describe("isPlain", () => {
  test.each<[path: string, isPlain: boolean, why: string]>([
    ["/", true, "the root"],
    ["/a/b-c_d.e~f", true, "signs that mean themselves"],
    ["/A/", true, "case and a slash at the end"],
    ["/a,b;c=d@e:f!g$h&i'j(k)*+", true, "everything a segment may have"],
    ['/"<>^`{|}', true, "and what Node hands on although it may not"],
    ["/!~", true, "the first and the last that can be printed"],
    ["/a..b/c.", true, "dots that begin no segment"],
    ["", true, "nothing"],
    ["a", false, "no slash at the beginning"],
    ["*", false, "a request for the server itself"],
    ["http://h/a", false, "a URL"],
    ["/a%20", false, "an encoding"],
    ["/100%", false, "a percent sign"],
    ["/a\\b", false, "a backslash"],
    ["//a", false, "a doubled slash"],
    ["/a//", false, "at the end, too"],
    ["/.", false, "a dot"],
    ["/a/../b", false, "two"],
    ["/.well-known", false, "a name that begins with one"],
    ["/a b", false, "a space"],
    ["/\x7f", false, "DEL"],
    ["/\0", false, "NUL"],
    ["/\xe9", false, "a byte that is no ASCII"],
    ["/a\nb", false, "a line break"],
  ])("%j: %j, %s", (path, expected) => {
    expect(isPlain(path)).toBe(expected);
  });
});

describe("otherSpellings", () => {
  test.each<[path: string, spellings: string[], why: string]>([
    ["/", [], "the root"],
    ["/a/b", [], "there is no other"],
    ["/a/", ["/a"], "without the slash at the end"],
    ["/a//b", ["/a/b"], "doubled slashes"],
    ["/a\\b", ["/a/b"], "a backslash is a slash to Windows"],
    ["/a/./b", ["/a/b"], "one dot"],
    ["/a/../b", ["/b"], "two dots"],
    ["/../../b", ["/b"], "beyond the root there is nothing"],
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
    ["/a\0b", ["/a"], "also as it is"],
    ["/%7F", ["/\x7f"], "the last of ASCII"],
    ["/%80%C3%A9", [], "what is no ASCII stays"],
    ["/%", [], "no encoding"],
    ["/%4", [], "half of one"],
    ["/%zz", [], "none either"],
    ["..", ["/"], "no slash at the beginning"],
    ["", ["/"], "nothing"],
  ])("of %j are %j: %s", (path, spellings) => {
    expect(otherSpellings(path)).toEqual(spellings);
  });
});

describe("isUnsafe", () => {
  test.each<[path: string, isUnsafe: boolean, why: string]>([
    ["/a/b", false, "plain"],
    ["/a/", false, "a slash at the end"],
    ["/%61", false, "a letter that is hidden is still that letter"],
    ["/%C3%A9", false, "UTF-8"],
    ["/\xe9\xff\x80", false, "the same as bytes"],
    ["/%", false, "no encoding"],
    ["/.well-known/a..b", false, "dots in names"],
    ["/a/...", false, "three dots"],
    ["/a./b", false, "a dot at the end of a name"],
    ["/a\\b", true, "a backslash"],
    ["/a%5Cb", true, "hidden"],
    ["/a%255cb", true, "twice"],
    ["/a%2Fb", true, "a hidden separator"],
    ["/a%252fb", true, "twice"],
    ["/a%25252fb", true, "and a third time, as it stands there after two"],
    ["/a%2525252fb", false, "but not a fourth"],
    ["/a//b", true, "a doubled slash"],
    ["/a/./b", true, "one dot"],
    ["/a/..", true, "two dots at the end"],
    ["/a/%2e%2e/b", true, "hidden"],
    ["/a/.%2e", true, "half hidden"],
    ["/a/%252e/", true, "twice"],
    ["/a%00", true, "NUL"],
    ["/a%252500", true, "as it stands there after two"],
    ["/a%1F", true, "the last control character"],
    ["/a\x1f", true, "as it is"],
    ["/a%7f", true, "DEL"],
    ["/a%20b", false, "a space is part of a name"],
    ["/\u0100", true, "what no byte is"],
  ])("%j: %j, %s", (path, expected) => {
    expect(isUnsafe(path)).toBe(expected);
  });
});

const seed = seedOf();

describe(`whatever a path is (seed ${seed})`, () => {
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

  test("no function throws, and a path is not among its other spellings", () => {
    const check = fc.property(paths, (path) => {
      expect(typeof isPlain(path)).toBe("boolean");
      expect(typeof isUnsafe(path)).toBe("boolean");
      const spellings = otherSpellings(path);
      expect(spellings).not.toContain(path);
      expect(new Set(spellings).size).toBe(spellings.length);
    });
    fc.assert(check, { seed, numRuns: 2_000 });
  });

  test("what is plain hides nothing: it is safe, and only a slash at its end may be left out", () => {
    const check = fc.property(fc.array(pieces, { maxLength: 8 }), (some) => {
      const path = `/${some.join("")}`;
      fc.pre(isPlain(path));
      expect(isUnsafe(path)).toBe(false);
      for (const other of otherSpellings(path)) expect(`${other}/`).toBe(path);
    });
    fc.assert(check, { seed, numRuns: 500 });
  });
});

test.each(["/", "%", "%25", "%2e", "/..", "\\", "a/", ".", "%2", "\0"])("takes 16 KB of %j", (piece) => {
  const path = piece.repeat(16_384 / piece.length);
  expect([isPlain(path), isUnsafe(path), otherSpellings(path).length]).toEqual([
    expect.any(Boolean),
    expect.any(Boolean),
    expect.any(Number),
  ]);
});
