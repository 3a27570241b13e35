/**
 * Amounts of entries for people and accountants: decimals, exactly.
 *
 * @module
 */
import { stablecoinOf } from "@farebox/bazaar/facilitator";
import type { LedgerEntry } from "@farebox/core";
import { toDecimal } from "../catalog/price.js";

/** What names an asset. */
export type AssetOf = Pick<LedgerEntry, "network" | "asset" | "decimals">;

/** Decimals of the asset of an entry; `undefined` if nobody knows them. */
export function decimalsOf({ network, asset, decimals }: AssetOf): number | undefined {
  return decimals ?? stablecoinOf({ network, asset })?.decimals;
}

/** `USDC`, or the asset itself. */
export function symbolOf({ network, asset }: AssetOf): string {
  return stablecoinOf({ network, asset })?.symbol ?? asset;
}

/** A decimal; `undefined` if nobody knows the decimals of the asset. */
export function decimalOf(amount: bigint, asset: AssetOf): string | undefined {
  const decimals = decimalsOf(asset);
  return decimals === undefined ? undefined : toDecimal(amount, decimals);
}

/** `1.5 USDC`, or `1500000 atomic units of 0x…`. */
export function describeAmount(amount: bigint, asset: AssetOf): string {
  const decimal = decimalOf(amount, asset);
  return decimal === undefined ? `${amount} atomic units of ${asset.asset}` : `${decimal} ${symbolOf(asset)}`;
}

/** What was given back of an entry. */
export function refundedOf({ refunds }: Pick<LedgerEntry, "refunds">): bigint {
  return refunds.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}
