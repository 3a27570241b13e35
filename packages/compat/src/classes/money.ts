/**
 * Prices as the reference reads them: `"$0.01"`, `"0.01"`, `"0.01 USDT"`, numbers, and atomic units of an asset.
 *
 * No price is computed with floats. A number is written as the shortest decimal that is that number to 15 digits, which
 * is what a double holds: `0.1 + 0.2` is `0.3`.
 *
 * @module
 */
import { type AssetPrice, PriceError } from "@farebox/core";
import type { AssetAmount, Money, Price } from "../types.js";

const DECIMAL = /^\d{1,30}(?:\.\d{1,36})?$/;
const TICKER = /^[A-Za-z][A-Za-z0-9.]{0,19}$/;

const PRICE_EXPECTED = 'a price such as "$0.01", "0.01 USDT" or 0.01';

/** A decimal amount, and the ticker if there is one. */
export interface ParsedMoney {
  amount: string;
  symbol?: string;
}

/**
 * Splits a price into a decimal amount and a ticker. `USD` means the network's default stablecoin, and is no ticker.
 *
 * @throws PriceError when it is not a price
 */
export function parseMoney(money: Money): ParsedMoney {
  const parsed = typeof money === "number" ? readNumber(money) : readText(money);
  if (parsed === undefined) throw new PriceError(money, PRICE_EXPECTED);
  return parsed;
}

function readNumber(money: number): ParsedMoney | undefined {
  if (!Number.isFinite(money) || money < 0) return undefined;
  return { amount: numberToDecimalString(Number(money.toPrecision(15))) };
}

function readText(money: string): ParsedMoney | undefined {
  const [first = "", second, third, ...rest] = money.trim().split(/\s+/);
  const words = first === "$" ? [second, third] : [first.replace(/^\$/, ""), second];
  const [amount = "", symbol] = words;
  if (rest.length > 0 || (first !== "$" && third !== undefined) || !DECIMAL.test(amount)) return undefined;
  if (symbol === undefined || symbol.toUpperCase() === "USD") return { amount };
  return TICKER.test(symbol) ? { amount, symbol: symbol.toUpperCase() } : undefined;
}

/** Writes a number without an exponent: `1e-7` is `0.0000001`. */
export function numberToDecimalString(value: number): string {
  const text = String(value);
  const {
    sign,
    whole,
    fraction = "",
    exponent,
  } = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?e(?<exponent>[+-]\d+)$/.exec(text)?.groups ?? {};
  if (whole === undefined) return text;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  if (point >= digits.length) return sign + digits.padEnd(point, "0");
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/**
 * A price for the engine. What is not a price of the reference is returned as it is: the engine says what is wrong with it,
 * and where.
 */
export function toNativePrice(price: Price): string | AssetPrice {
  if (typeof price === "object") return price === null ? price : toAssetPrice(price);
  try {
    const { amount, symbol } = parseMoney(price);
    return symbol === undefined ? `$${amount}` : `${amount} ${symbol}`;
  } catch {
    return price as string;
  }
}

function toAssetPrice({ asset, amount, extra }: AssetAmount): AssetPrice {
  return extra === undefined || Object.keys(extra).length === 0 ? { asset, amount } : { asset, amount, extra };
}

/**
 * Converts a decimal amount to atomic units. Unlike the reference's, it refuses what the asset cannot hold, and never
 * returns zero for a price above it.
 *
 * @throws PriceError when the amount is no decimal, or has more decimals than the asset
 */
export function convertToTokenAmount(decimalAmount: string, decimals: number): string {
  if (!DECIMAL.test(decimalAmount)) throw new PriceError(decimalAmount, 'a decimal such as "0.01"', "amount");
  const [whole = "", fraction = ""] = decimalAmount.split(".");
  let length = fraction.length;
  while (fraction.charAt(length - 1) === "0") length--;
  const kept = fraction.slice(0, length);
  if (kept.length > decimals) throw new PriceError(decimalAmount, `at most ${decimals} decimals`, "amount");
  return BigInt(whole + kept.padEnd(decimals, "0")).toString();
}
