/**
 * Prices that are computed: exactly, in decimals. A price never passes through a floating-point number.
 *
 * @module
 */
import { PriceError } from "../errors.js";
import { formatAmount, NOT_FROM_FLOAT, PRICE_EXPECTED, readPrice } from "./price.js";

const FACTOR = /^\d{1,78}(?:\.\d{1,36})?$/;

/** A computed price may have this many decimals. Each factor adds its own. */
const MAX_DECIMALS = 200;

/** `units / 10 ** decimals`. */
interface Decimal {
  readonly units: bigint;
  readonly decimals: number;
}

/** What stands around the number: `$`, or a ticker. */
interface Currency {
  readonly sign: string;
  readonly ticker: string | undefined;
}

/** A price that is computed exactly. It can stand wherever a price can, and is written by `toString`. */
export class ExactPrice {
  readonly #value: Decimal;
  readonly #currency: Currency;

  /** @internal */
  constructor(value: Decimal, currency: Currency) {
    this.#value = value;
    this.#currency = currency;
  }

  /**
   * Multiplies by a count or a decimal: `.times(words)`, `.times("1.5")`.
   *
   * @param factor - A whole number, a bigint, or a decimal as text. A `number` with a fraction is refused.
   * @throws PriceError when the factor is none of them, or negative.
   */
  times(factor: number | bigint | string): ExactPrice {
    const { units, decimals } = readFactor(factor);
    const product = { units: this.#value.units * units, decimals: this.#value.decimals + decimals };
    if (product.decimals > MAX_DECIMALS) throw new PriceError(factor, "a rounded price before this factor");
    return exact(product, this.#currency);
  }

  /**
   * Adds a price in the same currency: `.plus("$0.01")`.
   *
   * @throws PriceError when it is no price, or in another currency.
   */
  plus(price: string | ExactPrice): ExactPrice {
    const other = typeof price === "object" && price !== null && #value in price ? price : parseExact(price);
    const [own, added] = [this.#currency, other.#currency];
    if (own.sign !== added.sign || own.ticker !== added.ticker) {
      throw new PriceError(String(other), `a price in the currency of ${this}`);
    }
    const decimals = Math.max(this.#value.decimals, other.#value.decimals);
    return exact({ units: unitsAt(this.#value, decimals) + unitsAt(other.#value, decimals), decimals }, own);
  }

  /** @throws PriceError in a calculation such as `price + 1`, which would join two texts. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    throw new PriceError(this.toString(), "plus() or times() instead of an operator");
  }

  /** Rounds up to a number of decimals. Default: 6, as most stablecoins have. */
  roundUp(decimals = 6): ExactPrice {
    return this.#round(decimals, (parts, step) => (parts + step - 1n) / step);
  }

  /** Rounds down to a number of decimals. Default: 6, as most stablecoins have. The price may become zero. */
  roundDown(decimals = 6): ExactPrice {
    return this.#round(decimals, (parts, step) => parts / step);
  }

  #round(decimals: number, divide: (parts: bigint, step: bigint) => bigint): ExactPrice {
    if (!Number.isInteger(decimals) || decimals < 0 || decimals > 36) {
      throw new PriceError(decimals, "0 to 36 decimals");
    }
    const excess = this.#value.decimals - decimals;
    if (excess <= 0) return this;
    return exact({ units: divide(this.#value.units, 10n ** BigInt(excess)), decimals }, this.#currency);
  }

  /** Writes the price, without trailing zeros: `"$0.01"`, `"0.01 USDT"`. */
  toString(): string {
    const { sign, ticker } = this.#currency;
    return `${sign}${formatAmount(this.#value.units, this.#value.decimals)}${ticker === undefined ? "" : ` ${ticker}`}`;
  }

  /** As `toString`. */
  toJSON(): string {
    return this.toString();
  }
}

/**
 * A price in dollars, to compute with: `usd("0.002").times(words)`.
 *
 * @param amount - A decimal as text: `"0.002"`.
 * @throws PriceError when it is another value.
 */
export function usd(amount: string): ExactPrice {
  if (typeof amount !== "string" || !FACTOR.test(amount))
    throw new PriceError(amount, 'a decimal text, such as "0.01"');
  return parseExact(`$${amount}`);
}

/**
 * A price in dollars or by ticker, to compute with: `price("0.002 USDT").times(words)`.
 *
 * @throws PriceError when it is no price.
 */
export function price(text: string): ExactPrice {
  return parseExact(text);
}

function parseExact(text: unknown): ExactPrice {
  const read = typeof text === "string" ? readPrice(text) : undefined;
  if (read === undefined) throw new PriceError(text, PRICE_EXPECTED);
  if (read === "from a float") throw new PriceError(text, NOT_FROM_FLOAT);
  const { sign, whole, fraction, ticker } = read;
  return exact({ units: BigInt(whole + fraction), decimals: fraction.length }, { sign, ticker });
}

/** Outside of the class, which bundlers rename if it names itself. */
function exact(value: Decimal, currency: Currency): ExactPrice {
  return new ExactPrice(value, currency);
}

function readFactor(factor: unknown): Decimal {
  const isExact = typeof factor === "bigint" || (typeof factor === "number" && Number.isSafeInteger(factor));
  const text = isExact ? String(factor) : factor;
  if (typeof text !== "string" || !FACTOR.test(text)) {
    throw new PriceError(
      factor,
      'a whole number, or a decimal text such as "1.5": a number with a fraction is not exact',
    );
  }
  const [whole = "", fraction = ""] = text.split(".");
  return { units: BigInt(whole + fraction), decimals: fraction.length };
}

function unitsAt({ units, decimals }: Decimal, most: number): bigint {
  return units * 10n ** BigInt(most - decimals);
}
