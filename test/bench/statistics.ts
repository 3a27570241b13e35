/**
 * Medians and ratios.
 *
 * @module
 */

/** The middle value; of an even number of values, the upper of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new RangeError("no values");
  return middle;
}

/** The median of what each value is to the other of the same round. */
export function medianRatio(values: readonly number[], others: readonly number[]): number {
  return median(values.map((value, at) => value / (others[at] ?? Number.NaN)));
}
