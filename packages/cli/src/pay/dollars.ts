/**
 * Amounts of dollars, in units of 10⁻¹⁸: no known stablecoin is finer.
 *
 * @module
 */
import { toDecimal } from "../catalog/price.js";

const DECIMALS = 18;

/** Reads `$0.05` or `0.05`; `undefined`: it is no amount. */
export function parseDollars(text: string): bigint | undefined {
  const [, whole, fraction = ""] = /^\$?(\d{1,9})(?:\.(\d{1,18}))?$/.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(DECIMALS, "0"));
}

/** Writes `$0.05`. */
export function describeDollars(dollars: bigint): string {
  return `$${toDecimal(dollars, DECIMALS)}`;
}
