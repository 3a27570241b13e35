/**
 * Prices: decimal money as a seller writes it, and the atomic units it stands for.
 *
 * @see x402 v2 §5.1.2 `amount`
 * @module
 */

/** A price in dollars: `"$0.01"`. No separators, sign, exponent or spaces. */
export type DollarPrice = `$${number}`;

/** A price in atomic units of a named asset. */
export interface AssetPrice {
  /** Token contract or mint. */
  readonly asset: string;
  /** Atomic units as a decimal string, e.g. `"10000"`. */
  readonly amount: string;
  /** What the scheme needs to know of an asset that it does not know itself, e.g. `{ name: "USDC", version: "2" }`. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** A price converted exactly, or what is wrong with it. */
export type ParsedPrice =
  | { readonly ok: true; readonly amount: bigint }
  | { readonly ok: false; readonly expected: string };

const PRICE = /^\$(?<whole>\d{1,30})(?:\.(?<fraction>\d{1,36}))?$/;
const ATOMIC = /^(0|[1-9]\d{0,77})$/;
const MAX_UINT256 = 2n ** 256n - 1n;

/**
 * Converts a dollar price to atomic units, exactly: `parsePrice("$0.01", 6)` has the amount `10000n`.
 *
 * A price with more decimals than the asset is refused, not rounded, and zero is refused, because a price that vanishes
 * is a route served for free.
 *
 * @param decimals - Decimals of the asset, 0 to 36.
 */
export function parsePrice(price: string, decimals: number): ParsedPrice {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 36) {
    return { ok: false, expected: "an asset with 0 to 36 decimals" };
  }
  const { whole, fraction = "" } = PRICE.exec(price)?.groups ?? {};
  if (whole === undefined) return { ok: false, expected: 'a dollar price such as "$0.01"' };
  if (fraction.length > decimals) {
    return {
      ok: false,
      expected: `at most ${decimals} decimals, which is all the asset has: a price is never rounded`,
    };
  }
  return positive(BigInt(whole + fraction.padEnd(decimals, "0")));
}

/** Reads an amount in atomic units: `"10000"`. Digits only, no leading zero, above zero, below 2^256. */
export function parseAtomic(amount: string): ParsedPrice {
  if (!ATOMIC.test(amount)) return { ok: false, expected: 'atomic units as digits, such as "10000"' };
  return positive(BigInt(amount));
}

/** Writes atomic units as a decimal: `formatAmount(1000n, 6)` is `"0.001"`. */
export function formatAmount(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals);
  const shown = fraction.slice(0, lengthWithoutZeros(fraction));
  return shown === "" ? whole : `${whole}.${shown}`;
}

function lengthWithoutZeros(fraction: string): number {
  let length = fraction.length;
  while (fraction.charAt(length - 1) === "0") length--;
  return length;
}

function positive(amount: bigint): ParsedPrice {
  if (amount === 0n) return { ok: false, expected: "a price above zero" };
  if (amount > MAX_UINT256) return { ok: false, expected: "an amount below 2^256" };
  return { ok: true, amount };
}
