import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSettlementAmount } from "./settlement-amount.js";

const CENTS = { maximum: 100_000n, decimals: 6, isInDollars: true };
const MAX_UINT256 = 2n ** 256n - 1n;

describe("a settlement amount", () => {
  test.each<[text: string, amount: bigint]>([
    ["0", 0n],
    ["1", 1n],
    ["100000", 100_000n],
    ["0%", 0n],
    ["0.00%", 0n],
    ["0.01%", 10n],
    ["12.34%", 12_340n],
    ["12.3%", 12_300n],
    ["100%", 100_000n],
    ["100.00%", 100_000n],
    ["$0", 0n],
    ["$0.0", 0n],
    ["$0.1", 100_000n],
    ["$0.0123", 12_300n],
    ["$0.0000004", 0n],
    ["$0.0000005", 1n],
    ["$0.0000019", 2n],
    ["$0.00000149999999", 1n],
    ["$0.0999995", 100_000n],
  ])("reads %s of a maximum of ten cents as %d", (text, amount) => {
    expect(parseSettlementAmount(text, CENTS)).toEqual({ ok: true, amount });
  });

  test.each<[text: unknown, expected: RegExp]>([
    ["100001", /at most what was authorized, 100000 atomic units/],
    ["100.01%", /at most what was authorized/],
    ["101%", /at most what was authorized/],
    ["999%", /at most what was authorized/],
    ["$0.1000005", /at most what was authorized/],
    ["$1", /at most what was authorized/],
    [`1${"0".repeat(77)}`, /at most what was authorized/],
    ["1.234%", /at most two decimals/],
    ["12.%", /atomic units/],
    [".5%", /atomic units/],
    ["1000%", /atomic units/],
    ["-1", /atomic units/],
    ["-0", /atomic units/],
    ["+1", /atomic units/],
    ["1.5", /atomic units/],
    ["1e3", /atomic units/],
    ["0x10", /atomic units/],
    ["007", /atomic units/],
    ["1_000", /atomic units/],
    ["1,000", /atomic units/],
    [" 1", /atomic units/],
    ["1 ", /atomic units/],
    ["1\n", /atomic units/],
    ["١", /atomic units/],
    ["", /atomic units/],
    ["%", /atomic units/],
    ["$", /atomic units/],
    ["$.5", /atomic units/],
    ["$1.", /atomic units/],
    ["$-1", /atomic units/],
    ["-$1", /atomic units/],
    ["$1e-3", /atomic units/],
    ["$01", /atomic units/],
    ["50 %", /atomic units/],
    ["$NaN", /atomic units/],
    ["1".repeat(100_000), /atomic units/],
    [1, /atomic units/],
    [1n, /atomic units/],
    [null, /atomic units/],
    [undefined, /atomic units/],
    [{ amount: "1" }, /atomic units/],
    [["1"], /atomic units/],
  ])("refuses %s", (text, expected) => {
    expect(parseSettlementAmount(text, CENTS)).toEqual({
      ok: false,
      expected: expect.stringMatching(expected),
    });
  });

  test("refuses dollars for an asset with unknown decimals", () => {
    const unknown = { maximum: 100n, decimals: undefined, isInDollars: true };
    expect(parseSettlementAmount("$0.1", unknown)).toMatchObject({
      ok: false,
      expected: expect.stringMatching(/decimals are not known/),
    });
    expect(parseSettlementAmount("50%", unknown)).toEqual({ ok: true, amount: 50n });
  });

  test("refuses dollars beside a price that is not in dollars, and no other form", () => {
    const atomic = { ...CENTS, isInDollars: false };
    expect(parseSettlementAmount("$0.01", atomic)).toMatchObject({
      ok: false,
      expected: expect.stringMatching(/not written in dollars/),
    });
    expect(parseSettlementAmount("10%", atomic)).toEqual({ ok: true, amount: 10_000n });
    expect(parseSettlementAmount("7", atomic)).toEqual({ ok: true, amount: 7n });
  });
});

/** A fraction, for a model that shares nothing with the code. */
interface Rational {
  readonly above: bigint;
  readonly below: bigint;
}

function rationalOf(digits: string): Rational {
  const [whole = "", fraction = ""] = digits.split(".");
  let below = 1n;
  for (const _digit of fraction) below *= 10n;
  return { above: BigInt(whole) * below + BigInt(fraction === "" ? 0 : fraction), below };
}

const floor = ({ above, below }: Rational) => above / below;
const halfUp = ({ above, below }: Rational) => (2n * above + below) / (2n * below);
const times = (a: Rational, b: bigint): Rational => ({ above: a.above * b, below: a.below });

function expectAmount(text: string, authorized: typeof CENTS, exact: bigint): void {
  const read = parseSettlementAmount(text, authorized);
  if (exact > authorized.maximum) expect(read.ok).toBe(false);
  else expect(read).toEqual({ ok: true, amount: exact });
}

const maxima = fc.oneof(fc.bigInt(0n, MAX_UINT256), fc.bigInt(0n, 10_000n), fc.constantFrom(0n, 1n, MAX_UINT256));
const decimalsOf = fc.integer({ min: 0, max: 36 });
const authorizations = fc.record({ maximum: maxima, decimals: decimalsOf, isInDollars: fc.constant(true) });
const digits = (most: number) => fc.stringMatching(new RegExp(`^\\d{1,${most}}$`));

describe("compared with rational arithmetic", () => {
  test("rounds percentages down", () => {
    const percentages = fc.tuple(fc.integer({ min: 0, max: 120 }), fc.option(digits(2), { nil: undefined }));
    fc.assert(
      fc.property(authorizations, percentages, (authorized, [whole, fraction]) => {
        const percentage = fraction === undefined ? `${whole}` : `${whole}.${fraction}`;
        const { above, below } = times(rationalOf(percentage), authorized.maximum);
        expectAmount(`${percentage}%`, authorized, floor({ above, below: below * 100n }));
      }),
      { numRuns: 400 },
    );
  });

  test("rounds dollars half up", () => {
    const wholes = fc.bigInt(0n, 10n ** 40n).map(String);
    const fractions = fc.option(digits(40), { nil: undefined });
    fc.assert(
      fc.property(authorizations, wholes, fractions, (authorized, whole, fraction) => {
        const dollars = fraction === undefined ? whole : `${whole}.${fraction}`;
        const exact = halfUp(times(rationalOf(dollars), 10n ** BigInt(authorized.decimals)));
        expectAmount(`$${dollars}`, authorized, exact);
      }),
      { numRuns: 400 },
    );
  });

  test("reads atomic units unchanged", () => {
    fc.assert(
      fc.property(authorizations, fc.bigInt(0n, MAX_UINT256 + 10n), (authorized, amount) => {
        expectAmount(String(amount), authorized, amount);
      }),
    );
  });

  test("reads or refuses any value, and never returns more than the maximum", () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[$\d.%e+-]{0,12}$/), fc.anything());
    fc.assert(
      fc.property(authorizations, texts, (authorized, text) => {
        const read = parseSettlementAmount(text, authorized);
        if (read.ok) expect(read.amount >= 0n && read.amount <= authorized.maximum).toBe(true);
        else expect(read.expected).not.toBe("");
      }),
      { numRuns: 400 },
    );
  });
});
