import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readAddress, readBytes, readBytes32, readFields, readText } from "./wire.js";

describe("readers of hexadecimal", () => {
  const address = `0x${"aB".repeat(20)}`;
  const bytes32 = `0x${"aB".repeat(32)}`;

  test("readAddress and readBytes32 yield lower case, and readBytes keeps the case", () => {
    expect(readAddress(address)).toBe(address.toLowerCase());
    expect(readBytes32(bytes32)).toBe(bytes32.toLowerCase());
    expect(readBytes("0xaB", 1)).toBe("0xaB");
  });

  test("readers of hexadecimal refuse another number of bytes", () => {
    expect([readBytes("0x", 1), readBytes("0xabc", 2), readBytes("0xabcdef", 2)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(readAddress(bytes32)).toBeUndefined();
    expect(readBytes32(address)).toBeUndefined();
  });

  test.each([0, null, "", "0X", "aB", `${address}\n`, ` ${address}`, [address]])(
    "readers of hexadecimal refuse %j",
    (value) => {
      expect([readAddress(value), readBytes32(value)]).toEqual([undefined, undefined]);
    },
  );
});

test("readFields and readText refuse other types and lengths", () => {
  expect([readFields(null), readFields([]), readFields("x"), readFields(undefined)]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect([readText("", 1), readText("ab", 1), readText(1, 1), readText("a", 1)]).toEqual([
    undefined,
    undefined,
    undefined,
    "a",
  ]);
});

test("the readers never throw", () => {
  const readers = [
    readAddress,
    readBytes32,
    readFields,
    (value: unknown) => readText(value, 8),
    (value: unknown) => readBytes(value, 8),
  ];
  fc.assert(
    fc.property(fc.anything(), (value) => {
      for (const read of readers) read(value);
    }),
    { numRuns: 2_000 },
  );
});
