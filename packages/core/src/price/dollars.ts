/**
 * Amounts of stablecoins in millionths of a dollar, for limits that count several assets together. Never for what is charged.
 *
 * @module
 */

/** The seller's limits of what metered responses may cost, in millionths of a dollar. */
export interface ExposureLimits {
  readonly perPayer: bigint;
  readonly total: bigint;
  /** How much of one response may be delivered that no durable store has recorded. */
  readonly unrecorded: bigint;
}

export const DOLLAR_DECIMALS = 6;

/** Atomic units of a stablecoin as millionths of a dollar, rounded up. */
export function microsOf(amount: bigint, decimals: number): bigint {
  if (decimals <= DOLLAR_DECIMALS) return amount * 10n ** BigInt(DOLLAR_DECIMALS - decimals);
  const unit = 10n ** BigInt(decimals - DOLLAR_DECIMALS);
  return (amount + unit - 1n) / unit;
}
