/**
 * Prices: reads a seller's decimal price as atomic units, exactly.
 *
 * @see x402 v2 §5.1.2 `amount`
 * @module
 */

/** A price in dollars, paid in the network's default stablecoin: `"$0.01"`. No separators, minus sign, exponent or spaces. */
export type DollarPrice = `$${number}`;

/** A price with a ticker, in any case, after one space: `"0.10 USDT"`. `USD` means the network's default stablecoin. */
export type TickerPrice = `${number} ${string}` | `${DollarPrice} ${string}`;

/** A price in atomic units of a named asset. */
export interface AssetPrice {
  /** Token contract, mint or asset id. */
  readonly asset: string;
  /** Atomic units as a decimal string, e.g. `"10000"`. */
  readonly amount: string;
  /**
   * Facts about an asset that the scheme does not know, e.g. `{ name: "USDC", version: "2" }`. Anything else in it is added to the
   * `extra` of the offer, as it is written.
   */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** An asset that a price can name. */
export interface PricingAsset {
  /** The ticker, e.g. `USDC`. */
  readonly symbol: string;
  /** 0 to 36. */
  readonly decimals: number;
}

/** An amount in atomic units, or a description of valid ones. */
export type ParsedAmount =
  | { readonly ok: true; readonly amount: bigint }
  | { readonly ok: false; readonly expected: string };

/** An exact amount and its asset, or a description of valid prices. */
export type ParsedPrice<A extends PricingAsset> =
  | { readonly ok: true; readonly asset: A; readonly amount: bigint }
  | { readonly ok: false; readonly expected: string };

const PRICE = /^(?<sign>\$?)(?<whole>\d{1,30})(?:\.(?<fraction>\d{1,36}))?(?: (?<ticker>[A-Za-z][A-Za-z0-9.]{0,19}))?$/;
/** `$${0.0000001}` is `$1e-7`. */
const FLOAT = /^\$?\d+(?:\.\d+)?e[+-]?\d+(?: .*)?$/;
const ZERO = /^(?:\$0{1,30}(?:\.0{1,36})?|0{1,30}(?:\.0{1,36})?(?= ))(?: [A-Za-z][A-Za-z0-9.]{0,19})?$/;
const ATOMIC = /^(0|[1-9]\d{0,77})$/;
const MAX_UINT256 = 2n ** 256n - 1n;

/**
 * Converts a price to atomic units, exactly: `parsePrice("$0.01", [{ symbol: "USDC", decimals: 6 }])` has the amount `10000n`.
 *
 * A price with more decimals than the asset is refused, not rounded; zeros at the end do not count. Zero is read as zero: the
 * route decides whether it is allowed.
 *
 * @param assets - The assets of the network; `$` means the first.
 */
export function parsePrice<A extends PricingAsset>(price: string, assets: readonly A[]): ParsedPrice<A> {
  const read = readPrice(price);
  if (read === undefined) return { ok: false, expected: PRICE_EXPECTED };
  if (read === "from a float") return { ok: false, expected: NOT_FROM_FLOAT };
  const { whole, fraction, ticker } = read;
  const asset = findAsset(assets, ticker);
  if (asset === undefined) return { ok: false, expected: `one of the tickers on this network: ${tickersOf(assets)}` };
  const { decimals } = asset;
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 36) {
    return { ok: false, expected: "an asset with 0 to 36 decimals" };
  }
  const exact = fraction.slice(0, lengthWithoutZeros(fraction));
  if (exact.length > decimals) {
    const expected = `at most ${decimals} decimals, which is all the asset has: a price is never rounded`;
    return { ok: false, expected };
  }
  const parsed = bounded(BigInt(whole + exact.padEnd(decimals, "0")));
  return parsed.ok ? { ...parsed, asset } : parsed;
}

/** A description of price texts, for error messages. */
export const PRICE_EXPECTED = 'a dollar price such as "$0.01", or "0.01 USDC"';

/** A description of prices that no float has made, for error messages. */
export const NOT_FROM_FLOAT =
  'a price that no floating-point number has made; compute it exactly, as in price("$0.10").times(3)';

/** The parts of a price text. */
export interface PriceText {
  readonly sign: string;
  readonly whole: string;
  readonly fraction: string;
  readonly ticker: string | undefined;
}

/** Splits a price text; `undefined` if it is none. */
export function readPrice(price: string): PriceText | "from a float" | undefined {
  if (FLOAT.test(price)) return "from a float";
  const { sign = "", whole, fraction = "", ticker } = PRICE.exec(price)?.groups ?? {};
  if (whole === undefined || (sign === "" && ticker === undefined)) return undefined;
  return isFromFloat(whole, fraction) ? "from a float" : { sign, whole, fraction, ticker };
}

/** A float has the text of any decimal of so many digits, and a price of so many decimals is off by less than its unit. */
const SAFE = { digits: 15, decimals: 6 };

/** `$${3 * 0.1}` is `$0.30000000000000004`. An asset of 18 decimals could hold that. */
function isFromFloat(whole: string, fraction: string): boolean {
  const digits = (whole + fraction).replace(/^0+/, "").length;
  if (fraction.length <= SAFE.decimals || digits <= SAFE.digits) return false;
  // A comparison only: no price is read as a float.
  return String(Number(`${whole}.${fraction}`)) === `${whole}.${fraction}`;
}

function findAsset<A extends PricingAsset>(assets: readonly A[], ticker = "USD"): A | undefined {
  const name = ticker.toUpperCase();
  return assets.find(({ symbol }) => symbol.toUpperCase() === name) ?? (name === "USD" ? assets[0] : undefined);
}

function tickersOf(assets: readonly PricingAsset[]): string {
  return assets.map(({ symbol }) => symbol).join(", ") || "none known";
}

/** Reads an amount in atomic units: `"10000"`. Digits only, no leading zero, below 2^256; `"0"` is read as zero. */
export function parseAtomic(amount: string): ParsedAmount {
  if (!ATOMIC.test(amount)) return { ok: false, expected: 'atomic units as digits, such as "10000"' };
  return bounded(BigInt(amount));
}

/** Whether a seller's price is zero, in any asset. */
export function isZeroPrice(price: string | AssetPrice): boolean {
  return typeof price === "string" ? ZERO.test(price) : price.amount === "0";
}

/** Whether a seller's price is written in dollars: with a dollar sign, in `USD`, or for price parsers as a bare decimal. */
export function isPricedInDollars(price: unknown): boolean {
  return typeof price === "string" && /^(?:\$.*|[\d.]+(?: USD)?)$/i.test(price);
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

function bounded(amount: bigint): ParsedAmount {
  return amount > MAX_UINT256 ? { ok: false, expected: "an amount below 2^256" } : { ok: true, amount };
}
