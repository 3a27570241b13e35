import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { METHODS, parseRouteKey } from "./route-key.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

describe("parseRouteKey", () => {
  test.each(METHODS)("takes %s apart from its path", (method) => {
    expect(parseRouteKey(`${method} /weather/:city`)).toEqual({ ok: true, method, path: "/weather/:city" });
  });

  test("takes a key without a method as a key for any", () => {
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

  test.each(["get", "Get", "FETCH", "CONNECT", "TRACE", "GET,POST", "*", "/x"])(
    "refuses the method %j by name",
    (word) => {
      expect(parseRouteKey(`${word} /weather`)).toEqual({
        ok: false,
        expected: "one of the methods GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS before the path",
      });
    },
  );

  test("is total, and gives back what it was given", () => {
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
