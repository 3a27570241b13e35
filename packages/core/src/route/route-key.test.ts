import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { METHODS, parseRouteKey } from "./route-key.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

describe("parseRouteKey", () => {
  test.each(METHODS)("parses %s and a path", (method) => {
    expect(parseRouteKey(`${method} /weather/:city`)).toEqual({ ok: true, method, path: "/weather/:city" });
  });

  test("parses a key without a method", () => {
    expect(parseRouteKey("/weather")).toEqual({ ok: true, method: undefined, path: "/weather" });
    expect(parseRouteKey("/")).toEqual({ ok: true, method: undefined, path: "/" });
  });

  test.each<[key: string, why: string]>([
    ["", "empty"],
    ["GET", "no path"],
    ["GET ", "no path"],
    ["weather", "no slash"],
    ["GET weather", "no slash"],
    ["GET  /weather", "two spaces"],
    [" GET /weather", "leading space"],
    ["GET /weather ", "trailing space"],
    ["GET\t/weather", "a tab"],
    ["GET /wea ther", "a space in the path"],
    ["GET /weather\n", "a line break"],
    ["GET https://example.com/weather", "a URL"],
    ["GET * ", "a star alone"],
    ["*", "a star alone"],
  ])("refuses %j: %s", (key) => {
    expect(parseRouteKey(key)).toEqual({ ok: false, expected: expect.stringContaining("<METHOD> <path>") });
  });

  const METHODS_EXPECTED = "one of the methods GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS before the path";

  test.each<[word: string, remedy: string]>([
    ["get", "; in capitals, at position 1: GET"],
    ["Get", "; in capitals, at position 1: GET"],
    ["FETCH", ", at position 1"],
    ["CONNECT", ", at position 1"],
    ["TRACE", ", at position 1"],
    ["GET,POST", ", at position 1"],
    ["/x", ", at position 1"],
    ["ALL", "; for every method write the path alone"],
    ["any", "; for every method write the path alone"],
    ["*", "; for every method write the path alone"],
  ])("refuses the method %j with the hint%s", (word, remedy) => {
    expect(parseRouteKey(`${word} /weather`)).toEqual({ ok: false, expected: METHODS_EXPECTED + remedy });
  });

  test.each([
    ["*", '"/*"'],
    ["GET *", '"GET /*"'],
  ])("refuses %j with the hint %s", (key, instead) => {
    expect(parseRouteKey(key)).toEqual({ ok: false, expected: expect.stringContaining(instead) });
  });

  test("parses a path that begins with an optional part", () => {
    expect(parseRouteKey("GET {/:lang}/about")).toEqual({ ok: true, method: "GET", path: "{/:lang}/about" });
  });

  test("never throws, and returns the parts of the key", () => {
    const pieces = fc.constantFrom("GET", "POST", "get", " ", "/", "/a", ":b", "*c", "\n", "\u00a0", "x");
    const keys = fc.oneof(
      fc.string({ unit: codeUnit }),
      fc.array(pieces, { maxLength: 6 }).map((some) => some.join("")),
    );
    fc.assert(
      fc.property(keys, (key) => {
        const parsed = parseRouteKey(key);
        if (!parsed.ok) expect(parsed.expected).not.toBe("");
        else expect(parsed.method === undefined ? parsed.path : `${parsed.method} ${parsed.path}`).toBe(key);
      }),
    );
  });
});
