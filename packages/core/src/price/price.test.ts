import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatAmount, parseAtomic, parsePrice } from "./price.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

const UINT256_MAX = 2n ** 256n - 1n;

describe("parsePrice", () => {
  test.each<[price: string, decimals: number, amount: bigint, why: string]>([
    ["$0.01", 6, 10_000n, "a cent of USDC"],
    ["$1", 6, 1_000_000n, "whole dollars"],
    ["$1", 0, 1n, "no decimals, and none needed"],
    ["$0.000001", 6, 1n, "one atomic unit"],
    ["$0.1", 18, 100_000_000_000_000_000n, "more digits than a float has"],
    ["$69.595", 3, 69_595n, "all the decimals there are"],
    ["$007.50", 2, 750n, "leading zeros"],
    ["$123456789012345678901234567890", 6, 123456789012345678901234567890000000n, "thirty digits"],
    [`$0.${"0".repeat(35)}1`, 36, 1n, "thirty-six decimals"],
  ])("reads %s with %i decimals: %d (%s)", (price, decimals, amount) => {
    expect(parsePrice(price, decimals)).toEqual({ ok: true, amount });
  });

  test.each<[price: string, why: string]>([
    ["", "empty"],
    ["$", "no digits"],
    ["1", "no currency"],
    ["0.01", "no currency"],
    ["$.5", "no digit before the point"],
    ["$5.", "no digit behind the point"],
    ["$1,000", "a separator"],
    ["$1_000", "a separator"],
    ["$1 000", "a separator"],
    ["$1,5", "a comma for a point"],
    ["$1.2.3", "two points"],
    ["$-1", "a sign"],
    ["-$1", "a sign"],
    ["$+1", "a sign"],
    ["$1e3", "an exponent"],
    ["$0x10", "hexadecimal"],
    ["$ 1", "a space"],
    [" $1", "a space"],
    ["$1 ", "a space"],
    ["$1\n", "a line break"],
    ["$$1", "two currencies"],
    ["€1", "another currency"],
    ["1$", "the currency behind"],
    ["$1 USDC", "a ticker"],
    ["$NaN", "no number"],
    ["$Infinity", "no number"],
    ["$１", "a digit that is wide"],
    ["$٣", "a digit of another script"],
    ["$1.٣", "a digit of another script"],
    [`$${"9".repeat(31)}`, "more than thirty digits"],
    [`$0.${"1".repeat(37)}`, "more than thirty-six decimals"],
  ])("refuses %j: %s", (price) => {
    expect(parsePrice(price, 6)).toEqual({ ok: false, expected: 'a dollar price such as "$0.01"' });
  });

  test.each<[price: string, decimals: number, why: string]>([
    ["$0.0000001", 6, "a tenth of an atomic unit"],
    ["$0.0100000", 6, "a decimal too many, though it is a zero"],
    ["$1.5", 0, "an asset without decimals"],
    ["$1.0", 0, "an asset without decimals, though it is a zero"],
    ["$0.123456789", 8, "would be rounded up"],
  ])("refuses %s with %i decimals rather than round it: %s", (price, decimals) => {
    expect(parsePrice(price, decimals)).toEqual({ ok: false, expected: expect.stringContaining("never rounded") });
  });

  test.each(["$0", "$0.0", "$0.000000", "$000"])("refuses %s, which is a route served for free", (price) => {
    expect(parsePrice(price, 6)).toEqual({ ok: false, expected: "a price above zero" });
  });

  test.each([Number.NaN, -1, 1.5, 37, Number.POSITIVE_INFINITY, undefined as unknown as number])(
    "refuses an asset of %s decimals, by which any price would be another",
    (decimals) => {
      expect(parsePrice("$0.01", decimals)).toEqual({ ok: false, expected: "an asset with 0 to 36 decimals" });
    },
  );

  test("agrees with fractions of integers: exact, never rounded, never zero", () => {
    const digits = (maxLength: number) =>
      fc.array(fc.constantFrom(..."0123456789"), { minLength: 1, maxLength }).map((some) => some.join(""));
    fc.assert(
      fc.property(digits(30), fc.option(digits(36), { nil: undefined }), fc.nat(36), (whole, fraction, decimals) => {
        const price = fraction === undefined ? `$${whole}` : `$${whole}.${fraction}`;
        const parsed = parsePrice(price, decimals);
        // price = numerator / 10^places, and the amount must be the integer price × 10^decimals.
        const places = fraction?.length ?? 0;
        const numerator = BigInt(whole + (fraction ?? ""));
        if (parsed.ok) expect(parsed.amount * 10n ** BigInt(places)).toBe(numerator * 10n ** BigInt(decimals));
        expect(parsed.ok).toBe(places <= decimals && numerator > 0n);
      }),
    );
  });

  test("is total", () => {
    const texts = fc.oneof(fc.string({ unit: codeUnit }), fc.stringMatching(/^\$[0-9.,e\-+ ]{0,20}$/));
    fc.assert(
      fc.property(texts, fc.oneof(fc.nat(40), fc.double()), (price, decimals) => void parsePrice(price, decimals)),
    );
  });
});

describe("parseAtomic", () => {
  test.each<[amount: string, why: string]>([
    ["1", "the least"],
    ["10000", "a cent of USDC"],
    [UINT256_MAX.toString(), "the most"],
  ])("reads %s: %s", (amount) => {
    expect(parseAtomic(amount)).toEqual({ ok: true, amount: BigInt(amount) });
  });

  test.each<[amount: string, expected: string, why: string]>([
    ["", "digits", "empty"],
    ["0", "above zero", "free"],
    ["00", "digits", "leading zero"],
    ["01", "digits", "leading zero: read as octal or as decimal"],
    ["-1", "digits", "a sign"],
    ["1.0", "digits", "a point"],
    ["1e3", "digits", "an exponent"],
    ["0x10", "digits", "hexadecimal"],
    ["1 ", "digits", "a space"],
    ["1\n", "digits", "a line break"],
    ["1n", "digits", "a bigint as JavaScript writes it"],
    ["$1", "digits", "dollars"],
    ["１", "digits", "a digit that is wide"],
    [(UINT256_MAX + 1n).toString(), "below 2^256", "one too many"],
    ["9".repeat(78), "below 2^256", "as long as the most, and more"],
    ["9".repeat(79), "digits", "longer than the most"],
  ])("refuses %s: %s (%s)", (amount, expected) => {
    expect(parseAtomic(amount)).toEqual({ ok: false, expected: expect.stringContaining(expected) });
  });

  test("is total", () => {
    fc.assert(fc.property(fc.string({ unit: codeUnit }), (amount) => void parseAtomic(amount)));
  });
});

describe("formatAmount", () => {
  test.each<[amount: bigint, decimals: number, text: string]>([
    [1000n, 6, "0.001"],
    [1n, 6, "0.000001"],
    [1_000_000n, 6, "1"],
    [10_000_000n, 6, "10"],
    [1_500_000n, 6, "1.5"],
    [1_050_000n, 6, "1.05"],
    [0n, 6, "0"],
    [70n, 0, "70"],
    [1n, 36, `0.${"0".repeat(35)}1`],
  ])("writes %d with %i decimals as %s", (amount, decimals, text) => {
    expect(formatAmount(amount, decimals)).toBe(text);
  });

  test("is what parsePrice reads", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 30n - 1n }), fc.nat(36), (amount, decimals) => {
        expect(parsePrice(`$${formatAmount(amount, decimals)}`, decimals)).toEqual({ ok: true, amount });
      }),
    );
  });

  test("costs what the length costs", () => {
    const started = performance.now();
    expect(formatAmount(10n ** 50_000n + 1n, 50_000)).toHaveLength(50_002);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
