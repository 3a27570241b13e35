import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createMeter } from "./settlement-amount.js";

const CENTS = { maximum: 100_000n, decimals: 6, isInDollars: true };

describe("a meter", () => {
  test("a meter has no amount before the first call, which differs from zero", () => {
    const meter = createMeter(CENTS);
    expect([meter.amount, meter.remaining]).toEqual([undefined, 100_000n]);
    expect(meter.add("0")).toEqual({ ok: true });
    expect(meter.amount).toBe(0n);
    expect([meter.amount, meter.remaining]).toEqual([0n, 100_000n]);
  });

  test("add keeps fractions of an atomic unit", () => {
    const meter = createMeter(CENTS);
    for (let bit = 0; bit < 4; bit++) meter.add("$0.0000001");
    expect([meter.amount, meter.remaining]).toEqual([0n, 99_999n]);
    meter.add("$0.0000001");
    expect(meter.amount).toBe(1n);
    for (let bit = 0; bit < 5; bit++) meter.add("$0.0000001");
    expect([meter.amount, meter.remaining]).toEqual([1n, 99_999n]);
  });

  test("say replaces the sum, rounded to an atomic unit", () => {
    const meter = createMeter(CENTS);
    meter.add("$0.0999999");
    expect(meter.say("$0.0000005")).toEqual({ ok: true, amount: 1n });
    meter.add("$0.0000004");
    expect([meter.amount, meter.remaining]).toEqual([1n, 99_998n]);
  });

  test.each<[amount: unknown, expected: RegExp]>([
    ["100001", /at most what is left/],
    ["100.01%", /at most what is left/],
    ["$0.10000000000000000000000001", /at most what is left/],
    ["12.345%", /at most two decimals/],
    ["-1", /atomic units/],
    ["", /atomic units/],
    [1, /atomic units/],
    [undefined, /atomic units/],
  ])("add refuses %j and changes nothing", (amount, expected) => {
    const meter = createMeter(CENTS);
    const isTooMuch = expected.source.startsWith("at most what is left") ? { isTooMuch: true } : {};
    expect(meter.add(amount)).toEqual({ ok: false, expected: expect.stringMatching(expected), ...isTooMuch });
    expect(meter.amount).toBeUndefined();
    meter.add("7");
    expect(meter.add(amount).ok).toBe(false);
    expect(meter.say("100001").ok).toBe(false);
    expect(meter.amount).toBe(7n);
  });
});

/** Dollars in millionths of an atomic unit of six decimals, so that the model counts in whole numbers. */
const bits = fc.oneof(
  fc.bigInt(0n, 10n ** 9n).map((millionths) => ({ text: dollars(millionths), millionths })),
  fc.bigInt(0n, 50n).map((units) => ({ text: String(units), millionths: units * 1_000_000n })),
  fc.integer({ min: 0, max: 300 }).map((hundredths) => ({
    text: `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, "0")}%`,
    millionths: BigInt(hundredths) * 10_000_000n,
  })),
);

function dollars(millionths: bigint): string {
  const digits = millionths.toString().padStart(13, "0");
  return `$${digits.slice(0, -12)}.${digits.slice(-12)}`;
}

test("add agrees with integer arithmetic, and never exceeds the maximum, in any order", () => {
  fc.assert(
    fc.property(fc.array(bits, { maxLength: 200 }), (added) => {
      const meter = createMeter(CENTS);
      const most = 100_000n * 1_000_000n;
      let sum = 0n;
      for (const { text, millionths } of added) {
        const fits = sum + millionths <= most;
        if (fits) sum += millionths;
        expect(meter.add(text).ok).toBe(fits);
        expect(meter.amount ?? 0n).toBe((2n * sum + 1_000_000n) / 2_000_000n);
        expect(meter.remaining).toBe((most - sum) / 1_000_000n);
        expect(meter.amount ?? 0n).toBeLessThanOrEqual(100_000n);
      }
    }),
    { numRuns: 500 },
  );
});
