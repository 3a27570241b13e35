/**
 * Prices for people.
 *
 * @module
 */
import { stablecoinOf } from "@farebox/bazaar/facilitator";
import { printable } from "../frame/terminal.js";

/** The terms that make a price. */
export interface PricedOffer {
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  /** Atomic units. */
  readonly amount: string;
}

/** `$0.001 (USDC)` for a known stablecoin, otherwise atomic units of the asset. */
export function describePrice({ scheme, network, asset, amount }: PricedOffer): string {
  const coin = stablecoinOf({ network, asset });
  const most = scheme === "upto" ? "at most " : "";
  if (coin === undefined || !/^\d{1,78}$/.test(amount)) {
    return `${most}${printable(amount, 80)} atomic units of ${printable(asset, 80)}`;
  }
  return `${most}$${toDecimal(BigInt(amount), coin.decimals)} (${coin.symbol})`;
}

/** Atomic units as a decimal, exactly: `1500` of 6 decimals is `0.0015`. */
export function toDecimal(amount: bigint, decimals: number): string {
  const unit = 10n ** BigInt(decimals);
  const [whole, rest] = [amount / unit, amount % unit];
  if (rest === 0n) return whole.toString();
  const digits = rest.toString().padStart(decimals, "0");
  const last = [...digits].findLastIndex((digit) => digit !== "0");
  return `${whole}.${digits.slice(0, last + 1)}`;
}
