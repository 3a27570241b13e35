import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PriceError } from "../errors.js";
import { price, usd } from "./exact-price.js";

describe("a computed price", () => {
  test.each<[computed: { toString(): string }, text: string]>([
    [usd("0.01"), "$0.01"],
    [usd("1"), "$1"],
    [usd("0.10"), "$0.1"],
    [usd("0"), "$0"],
    [price("$0.10"), "$0.1"],
    [price("0.10 USDT"), "0.1 USDT"],
    [price("$0.10 USDT"), "$0.1 USDT"],
    [usd("0.1").times(3), "$0.3"],
    [usd("0.1").times(3n), "$0.3"],
    [usd("0.1").times("3"), "$0.3"],
    [usd("0.002").times(0), "$0"],
    [usd("1.1").times("1.1"), "$1.21"],
    [usd("0.07").times("1.00"), "$0.07"],
    [usd("0.1").plus("$0.2"), "$0.3"],
    [usd("0.1").plus(usd("0.2").times(2)), "$0.5"],
    [price("0.1 USDT").plus("0.23 USDT"), "0.33 USDT"],
    [usd("0.0000011").roundUp(), "$0.000002"],
    [usd("0.0000019").roundDown(), "$0.000001"],
    [usd("0.000001").roundUp(), "$0.000001"],
    [usd("0.0000001").roundDown(), "$0"],
    [usd("0.123").roundUp(2), "$0.13"],
    [usd("0.9").roundUp(0), "$1"],
    [usd("9007199254740993").times("9007199254740993"), "$81129638414606699710187514626049"],
  ])("%s is %s", (computed, text) => {
    expect([String(computed), `${computed}`, JSON.stringify(computed)]).toEqual([text, text, JSON.stringify(text)]);
  });

  test.each<[what: string, compute: () => unknown, message: RegExp]>([
    ["a number", () => usd(0.01 as never), /received 0.01$/],
    ["a sign twice", () => usd("$0.01"), /received "\$0.01"$/],
    ["an exponent", () => usd("1e-7"), /received "1e-7"$/],
    ["the text of a float", () => usd(String(3 * 0.1)), /no floating-point number.*received "\$0.30000000000000004"$/],
    ["the text of a float", () => price(`$${1 / 3}`), /no floating-point number/],
    ["a negative amount", () => usd("-1"), /received "-1"$/],
    ["no currency", () => price("0.01"), /a dollar price/],
    ["no text", () => price(undefined as never), /received nothing$/],
    ["a fraction as a number", () => usd("1").times(1.5), /a number with a fraction is not exact, received 1.5$/],
    ["a count that is not exact", () => usd("1").times(2 ** 53), /whole number/],
    ["a negative count", () => usd("1").times(-1), /received -1$/],
    ["a negative bigint", () => usd("1").times(-1n), /received -1$/],
    ["no count", () => usd("1").times(Number.NaN), /received NaN$/],
    ["the text of an exponent", () => usd("1").times("1e3"), /received "1e3"$/],
    ["another currency", () => usd("1").plus("1 USDT"), /in the currency of \$1, received "1 USDT"$/],
    ["a sum with a number", () => usd("1").plus(1 as never), /received 1$/],
    ["a sum with null", () => usd("1").plus(null as never), /received null$/],
    ["decimals that are none", () => usd("1").roundUp(-1), /0 to 36 decimals/],
    [
      "a product of too many decimals",
      () =>
        Array.from({ length: 9 }).reduce<ReturnType<typeof usd>>((sum) => sum.times(`0.${"1".repeat(36)}`), usd("1")),
      /a rounded price/,
    ],
  ])("%s throws a PriceError", (_what, compute, message) => {
    expect(compute).toThrow(
      expect.objectContaining({ code: "ERR_FAREBOX_PRICE", message: expect.stringMatching(message) }),
    );
  });

  test("a computed price in a calculation throws, because the operator would join texts", () => {
    const one = usd("0.1") as unknown as number;
    expect(`${usd("0.1")}`).toBe("$0.1");
    expect(() => one + 1).toThrow(PriceError);
    expect(() => one * 2).toThrow(PriceError);
  });

  test("a computed price is what integers say, for any of them", () => {
    const cents = fc.integer({ min: 0, max: 10_000_000 });
    const inDollars = (units: bigint) => `${units / 1_000_000n}.${String(units % 1_000_000n).padStart(6, "0")}`;
    fc.assert(
      fc.property(cents, cents, fc.nat(), (one, other, count) => {
        const expected = BigInt(one) * BigInt(count) + BigInt(other);
        const computed = usd(inDollars(BigInt(one)))
          .times(count)
          .plus(usd(inDollars(BigInt(other))));
        expect(String(computed)).toBe(String(usd(inDollars(expected))));
      }),
    );
  });
});
