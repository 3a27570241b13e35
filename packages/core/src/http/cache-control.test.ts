import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { privateCacheControl } from "./cache-control.js";

describe("privateCacheControl", () => {
  test.each<[current: string | undefined, expected: string, why: string]>([
    [undefined, "private", "none set"],
    ["", "private", "an empty one"],
    [" , ,", "private", "only commas"],
    ["private", "private", "already private"],
    ["PRIVATE", "private", "directives are case-insensitive"],
    ["public", "private", "public is replaced"],
    ["public, max-age=60", "private, max-age=60", "the client itself may keep it"],
    ["max-age=60, private", "private, max-age=60", "private is not repeated"],
    ["Public,S-MaxAge=60", "private", "in any case of letters"],
    ["s-maxage = 60, max-age=5", "private, max-age=5", "with invalid spaces"],
    ["proxy-revalidate, must-revalidate", "private, must-revalidate", "a directive for shared caches only"],
    ["no-store", "no-store", "stricter than private"],
    ["public, no-store", "no-store", "public goes, no-store stays"],
    ["private, no-cache, no-store", "private, no-cache, no-store", "a usual combination"],
    ["must-understand, no-store", "no-store", "a cache that understands would ignore the no-store"],
    ["no-cache", "private, no-cache", "no-cache may be stored, by a shared cache too"],
    ["immutable, stale-while-revalidate=9", "private, immutable, stale-while-revalidate=9", "others are kept"],
    ['private="set-cookie"', "private", "private for one field only"],
    ['private="set-cookie, x-id"', "private", "a comma inside quotes does not end it"],
    ['private="a\\", public", max-age=1', "private, max-age=1", "an escaped quote does not end it"],
    ["a\\, public", "private, a\\", "outside of quotes a backslash escapes nothing"],
    [
      'no-cache="a, public", max-age=1',
      'private, no-cache="a, public", max-age=1',
      "public inside quotes does not count",
    ],
    ['no-cache="x, no-store"', 'private, no-cache="x, no-store"', "no-store inside quotes does not count"],
    ["no-store-at-all", "private, no-store-at-all", "another directive that begins like it"],
    ["no-store=1", "private, no-store=1", "a cache may not know this form"],
    ["publicity", "private, publicity", "another directive that begins like it"],
    ['private="never closed, public', "private", "the rest of a broken header is one directive"],
  ])("privateCacheControl turns %j into %j: %s", (current, expected) => {
    expect(privateCacheControl(current)).toBe(expected);
  });

  test("privateCacheControl never lets a shared cache keep the response, and is idempotent", () => {
    const pieces = fc.constantFrom(
      "public",
      "private",
      "no-store",
      "s-maxage=5",
      "max-age=5",
      ",",
      " ",
      '"',
      "\\",
      "=",
    );
    const headers = fc.oneof(
      fc.string(),
      fc.array(pieces, { maxLength: 12 }).map((some) => some.join("")),
    );
    fc.assert(
      fc.property(headers, (current) => {
        const once = privateCacheControl(current);
        expect(once).toMatch(/^private(,|$)|(^|, )no-store(,|$)/i);
        expect(privateCacheControl(once)).toBe(once);
      }),
    );
  });
});
