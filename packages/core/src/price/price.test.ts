import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatAmount, isPricedInDollars, isZeroPrice, parseAtomic, parsePrice } from "./price.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

const UINT256_MAX = 2n ** 256n - 1n;

/** Reads a price on a network with one asset. */
function parseDollars(price: string, decimals: number) {
  const parsed = parsePrice(price, [{ symbol: "USDC", decimals }]);
  return parsed.ok ? { ok: true, amount: parsed.amount } : parsed;
}

/** Reads a price on a network with three assets. */
const KNOWN = [
  { symbol: "USDC", decimals: 6 },
  { symbol: "mUSD", decimals: 18 },
  { symbol: "USDC.e", decimals: 2 },
];

describe("parsePrice", () => {
  test.each<[price: string, decimals: number, amount: bigint, why: string]>([
    ["$0.01", 6, 10_000n, "a cent of USDC"],
    ["$1", 6, 1_000_000n, "whole dollars"],
    ["$1", 0, 1n, "an asset without decimals"],
    ["$1.0", 0, 1n, "a zero that the asset has no decimal for"],
    ["$0.0100000", 6, 10_000n, "zeros after the last decimal of the asset"],
    ["$0.000001", 6, 1n, "one atomic unit"],
    ["$0.1", 18, 100_000_000_000_000_000n, "more digits than a float has"],
    ["$69.595", 3, 69_595n, "all the decimals of the asset"],
    ["$007.50", 2, 750n, "leading zeros"],
    ["$123456789012345678901234567890", 6, 123456789012345678901234567890000000n, "thirty digits"],
    [`$0.${"0".repeat(35)}1`, 36, 1n, "thirty-six decimals"],
  ])("reads %s with %i decimals: %d (%s)", (price, decimals, amount) => {
    expect(parseDollars(price, decimals)).toEqual({ ok: true, amount });
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
    ["$1,5", "a decimal comma"],
    ["$1.2.3", "two points"],
    ["$-1", "a sign"],
    ["-$1", "a sign"],
    ["$+1", "a sign"],
    ["$0x10", "hexadecimal"],
    ["$ 1", "a space"],
    [" $1", "a space"],
    ["$1 ", "a space"],
    ["$1\n", "a line break"],
    ["$$1", "two currencies"],
    ["€1", "another currency"],
    ["1$", "the currency after the number"],
    ["0.01USDC", "a ticker without a space"],
    ["1  USDC", "two spaces"],
    ["1\tUSDC", "a tab"],
    ["1 USDC ", "a trailing space"],
    ["1 ", "an empty ticker"],
    ["USDC 1", "the ticker before the number"],
    ["$1 USD/C", "a character that no ticker has"],
    [`1 ${"U".repeat(21)}`, "more than twenty letters"],
    ["$NaN", "not a number"],
    ["$Infinity", "not a number"],
    ["$１", "a full-width digit"],
    ["$٣", "a digit of another script"],
    ["$1.٣", "a digit of another script"],
    [`$${"9".repeat(31)}`, "more than thirty digits"],
    [`$0.${"1".repeat(37)}`, "more than thirty-six decimals"],
  ])("refuses %j: %s", (price) => {
    expect(parsePrice(price, KNOWN)).toEqual({ ok: false, expected: 'a dollar price such as "$0.01", or "0.01 USDC"' });
  });

  test.each<[price: string, why: string]>([
    ["$1e3", "an exponent"],
    ["$1e-7", "an exponent"],
    ["1e-7 USDC", "an exponent"],
    ["$1e+21", "an exponent"],
    [`$${3 * 0.1}`, "a product"],
    [`$${0.1 + 0.7}`, "a sum"],
    [`$${1.1 * 1.1} USDC`, "a product with a ticker"],
    [`$${1 / 3}`, "a quotient"],
    [`$${100 * 1.1}`, "a product above a hundred"],
  ])("refuses %j, which a floating-point number has made, even if the asset could hold it: %s", (price) => {
    const expected = expect.stringContaining("no floating-point number has made");
    expect(parsePrice(price, [{ symbol: "USDC", decimals: 36 }])).toEqual({ ok: false, expected });
  });

  test.each(["$1000000000.354608", "$0.123456789012345678", "$0.000000000000000001", "$123456789012345678"])(
    "reads %s, which has many digits and is no float's",
    (price) => {
      expect(parsePrice(price, [{ symbol: "USDC", decimals: 18 }])).toMatchObject({ ok: true });
    },
  );

  test.each<[price: string, decimals: number, why: string]>([
    ["$0.0000001", 6, "a tenth of an atomic unit"],
    ["$0.01000001", 6, "a digit after zeros"],
    ["$1.5", 0, "an asset without decimals"],
    ["$1.01", 0, "an asset without decimals, after a zero"],
    ["$0.123456789", 8, "would be rounded up"],
  ])("refuses %s with %i decimals rather than round it: %s", (price, decimals) => {
    expect(parseDollars(price, decimals)).toEqual({ ok: false, expected: expect.stringContaining("never rounded") });
  });

  test.each(["$0", "$0.0", "$0.000000", "$000", "0 USDC", "$0.00 usdc"])("reads %s as zero", (price) => {
    expect(parseDollars(price, 6)).toEqual({ ok: true, amount: 0n });
    expect(isZeroPrice(price)).toBe(true);
  });

  test.each<[price: string, symbol: string, amount: bigint, why: string]>([
    ["$0.01", "USDC", 10_000n, "a $ means the first asset"],
    ["0.01 USD", "USDC", 10_000n, "USD means the first asset"],
    ["$0.01 usd", "USDC", 10_000n, "in any case"],
    ["0.10 USDC", "USDC", 100_000n, "by its ticker"],
    ["$0.10 usdc", "USDC", 100_000n, "with a currency before it, and in lower case"],
    ["0.10 MUSD", "mUSD", 100_000_000_000_000_000n, "with the decimals it has"],
    ["0.10 USDC.e", "USDC.e", 10n, "a ticker that begins with another ticker"],
  ])("reads %s as an amount of %s: %d (%s)", (price, symbol, amount) => {
    expect(parsePrice(price, KNOWN)).toMatchObject({ ok: true, asset: { symbol }, amount });
  });

  test.each(["0.10 USDT", "$0.10 USDT", "0.10 USDC.", "0.10 EURC"])(
    "refuses %s, and lists the tickers on the network",
    (price) => {
      expect(parsePrice(price, KNOWN)).toEqual({
        ok: false,
        expected: "one of the tickers on this network: USDC, mUSD, USDC.e",
      });
    },
  );

  test("refuses more decimals than the named asset has", () => {
    expect(parsePrice("0.001 USDC.e", KNOWN)).toMatchObject({
      ok: false,
      expected: expect.stringMatching(/^at most 2 decimals/),
    });
    expect(parsePrice("0.0000001 mUSD", KNOWN)).toMatchObject({ ok: true, amount: 100_000_000_000n });
  });

  test("reads USD as the asset with that ticker if there is one", () => {
    expect(parsePrice("1 USD", [...KNOWN, { symbol: "USD", decimals: 0 }])).toMatchObject({ ok: true, amount: 1n });
  });

  test("refuses every price on a network without assets", () => {
    for (const price of ["$1", "1 USD", "1 USDC"]) {
      expect(parsePrice(price, [])).toEqual({ ok: false, expected: "one of the tickers on this network: none known" });
    }
  });

  test.each([Number.NaN, -1, 1.5, 37, Number.POSITIVE_INFINITY, undefined as unknown as number])(
    "refuses an asset of %s decimals",
    (decimals) => {
      expect(parseDollars("$0.01", decimals)).toEqual({ ok: false, expected: "an asset with 0 to 36 decimals" });
    },
  );

  test("agrees with exact fractions of integers", () => {
    const digits = (maxLength: number) =>
      fc.array(fc.constantFrom(..."0123456789"), { minLength: 1, maxLength }).map((some) => some.join(""));
    fc.assert(
      fc.property(digits(30), fc.option(digits(36), { nil: undefined }), fc.nat(36), (whole, fraction, decimals) => {
        const price = fraction === undefined ? `$${whole}` : `$${whole}.${fraction}`;
        const parsed = parsePrice(price, [{ symbol: "USDC", decimals }]);
        // price = numerator / 10^places, and the amount must be the integer price × 10^decimals.
        const places = fraction?.length ?? 0;
        const numerator = BigInt(whole + (fraction ?? ""));
        // The text that a float has, to its last digit.
        const isFloat = places > 6 && `${whole}.${fraction}` === String(Number(`${whole}.${fraction}`));
        fc.pre(!isFloat || (whole + fraction).replace(/^0+/, "").length <= 15);
        if (parsed.ok) expect(parsed.amount * 10n ** BigInt(places)).toBe(numerator * 10n ** BigInt(decimals));
        expect(parsed.ok).toBe(withoutZeros(fraction ?? "").length <= decimals);
        expect(isZeroPrice(price)).toBe(numerator === 0n);
      }),
    );
  });

  test("reads dollars and the first ticker alike, in any case", () => {
    const numbers = fc.stringMatching(/^\d{1,30}(?:\.\d{1,36})?$/);
    const tickers = fc.constantFrom("USDC", "usdc", "Usdc", "USD", "usd");
    fc.assert(
      fc.property(numbers, tickers, fc.boolean(), (number, ticker, hasSign) => {
        const byTicker = parsePrice(`${hasSign ? "$" : ""}${number} ${ticker}`, KNOWN);
        expect(byTicker).toEqual(parsePrice(`$${number}`, KNOWN));
      }),
    );
  });

  test("reads the asset of the ticker with its decimals, or refuses", () => {
    const symbols = fc.uniqueArray(fc.stringMatching(/^[A-Za-z][A-Za-z0-9.]{0,19}$/), {
      minLength: 1,
      maxLength: 5,
      selector: (symbol) => symbol.toUpperCase(),
    });
    const assets = symbols.map((some) => some.map((symbol, index) => ({ symbol, decimals: index * 9 })));
    const numbers = fc.tuple(fc.bigInt(0n, 10n ** 20n), fc.stringMatching(/^\d{1,36}$/));
    fc.assert(
      fc.property(assets, fc.nat(4), numbers, (known, index, [whole, fraction]) => {
        const asset = known[index % known.length] ?? { symbol: "", decimals: 0 };
        const parsed = parsePrice(`${whole}.${fraction} ${asset.symbol}`, known);
        const digits = withoutZeros(fraction);
        expect(parsed.ok).toBe(digits.length <= asset.decimals);
        if (!parsed.ok) return;
        expect(parsed.asset).toBe(asset);
        expect(parsed.amount).toBe(BigInt(whole + digits) * 10n ** BigInt(asset.decimals - digits.length));
      }),
    );
  });

  test("parsePrice and isZeroPrice never throw", () => {
    const texts = fc.oneof(fc.string({ unit: codeUnit }), fc.stringMatching(/^\$?[0-9.,e\-+ USDC]{0,20}$/));
    fc.assert(
      fc.property(texts, fc.oneof(fc.nat(40), fc.double()), (price, decimals) => {
        parseDollars(price, decimals);
        isZeroPrice(price);
      }),
    );
  });
});

/** Zeros at the end of a fraction do not count. */
function withoutZeros(fraction: string): string {
  return fraction.endsWith("0") ? withoutZeros(fraction.slice(0, -1)) : fraction;
}

describe("parseAtomic", () => {
  test.each<[amount: string, why: string]>([
    ["0", "zero"],
    ["1", "the minimum"],
    ["10000", "a cent of USDC"],
    [UINT256_MAX.toString(), "the maximum"],
  ])("reads %s: %s", (amount) => {
    expect(parseAtomic(amount)).toEqual({ ok: true, amount: BigInt(amount) });
  });

  test.each<[amount: string, expected: string, why: string]>([
    ["", "digits", "empty"],
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
    ["１", "digits", "a full-width digit"],
    [(UINT256_MAX + 1n).toString(), "below 2^256", "one too many"],
    ["9".repeat(78), "below 2^256", "as many digits as the maximum, but more"],
    ["9".repeat(79), "digits", "more digits than the maximum"],
  ])("refuses %s: %s (%s)", (amount, expected) => {
    expect(parseAtomic(amount)).toEqual({ ok: false, expected: expect.stringContaining(expected) });
  });

  test("parsePrice and isZeroPrice never throw", () => {
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
        expect(parseDollars(`$${formatAmount(amount, decimals)}`, decimals)).toEqual({ ok: true, amount });
      }),
    );
  });

  test("writes an amount of any length", () => {
    expect(formatAmount(10n ** 50_000n + 1n, 50_000)).toHaveLength(50_002);
  });
});

test.each<[isIt: boolean, price: unknown]>([
  [true, "$0.01"],
  [true, "$0.01 USDT"],
  [true, "0.01 USD"],
  [true, "0.01 usd"],
  [true, "0.01"],
  [false, "0.01 USDT"],
  [false, "0.01 USDCE"],
  [false, { asset: "0xA", amount: "10000" }],
  [false, () => "$0.01"],
  [false, undefined],
])("is in dollars, %s: %j", (isIt, price) => {
  expect(isPricedInDollars(price)).toBe(isIt);
});
