import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readUint256 } from "./payload-fields.js";

const LIMIT = 2n ** 256n;

describe("readUint256", () => {
  test.each([
    { why: "zero", text: "0", number: 0n },
    { why: "the largest", text: String(LIMIT - 1n), number: LIMIT - 1n },
  ])("readUint256 reads $why", ({ text, number }) => {
    expect(readUint256(text)).toBe(number);
  });

  test.each([
    { why: "one too many", value: String(LIMIT) },
    { why: "far too many digits", value: "1".repeat(100_000) },
    { why: "a number of JSON, which may have been rounded", value: 10_000 },
    { why: "a bigint, which no JSON has", value: 1n },
    { why: "nothing", value: "" },
    { why: "a sign", value: "-1" },
    { why: "the other sign", value: "+1" },
    { why: "a fraction", value: "1.0" },
    { why: "an exponent", value: "1e3" },
    { why: "hexadecimal", value: "0x10" },
    { why: "a leading zero", value: "01" },
    { why: "a space", value: " 1" },
    { why: "a line break at the end", value: "1\n" },
    { why: "digits of another script", value: "١" },
    { why: "full-width digits", value: "１" },
    { why: "a separator", value: "1_000" },
    { why: "a list of one", value: ["1"] },
  ])("readUint256 does not read $why", ({ value }) => {
    expect(readUint256(value)).toBeUndefined();
  });

  test("readUint256 reads every number below 2^256 exactly", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: LIMIT - 1n }), (number) => {
        expect(readUint256(String(number))).toBe(number);
      }),
    );
  });
});

test("readUint256 never throws", () => {
  fc.assert(
    fc.property(fc.anything(), (value) => void readUint256(value)),
    { numRuns: 2_000 },
  );
});
