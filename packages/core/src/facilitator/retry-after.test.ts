import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readRetryAfter } from "./http-responses.js";

const NOW_MS = Date.parse("Sun, 06 Nov 1994 08:49:00 GMT");

describe("readRetryAfter", () => {
  test.each<[value: string | undefined, seconds: number | undefined, why: string]>([
    [undefined, undefined, "no header"],
    ["0", 0, "at once"],
    ["5", 5, "seconds"],
    ["007", 7, "leading zeros"],
    ["3600", 3600, "an hour"],
    ["3601", 3600, "at most an hour"],
    ["9".repeat(400), 3600, "a very long number"],
    ["Sun, 06 Nov 1994 08:49:37 GMT", 37, "a date"],
    ["Sun, 06 Nov 1994 08:48:00 GMT", 0, "a date that has passed"],
    ["Mon, 07 Nov 1994 08:49:00 GMT", 3600, "a date that is far away"],
    ["Xyz, 99 Foo 1994 08:49:37 GMT", undefined, "the form of a date, but not a date"],
    ["", undefined, "empty"],
    ["-1", undefined, "a year to Date.parse"],
    ["1.5", undefined, "the fifth of January to Date.parse"],
    ["soon 5", undefined, "a date to Date.parse"],
    ["1994-11-06T08:49:37Z", undefined, "a date of another form"],
    ["5 seconds", undefined, "prose"],
    ["NaN", undefined, "not a number"],
  ])("reads %j as %s: %s", (value, seconds) => {
    expect(readRetryAfter(value, NOW_MS)).toBe(seconds);
  });

  test("returns 0 to 3600 whole seconds for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.integer().map(String), fc.date().map(String)), (value) => {
        const seconds = readRetryAfter(value, NOW_MS) ?? 0;
        expect(seconds >= 0 && seconds <= 3600 && Number.isInteger(seconds)).toBe(true);
      }),
    );
  });
});
