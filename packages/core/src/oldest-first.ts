/**
 * The oldest entry of a map, again and again, as entries come and go.
 *
 * A map keeps the order in which its keys were set, but where its oldest ones were deleted it has holes, and whoever starts
 * at the beginning walks over all of them. With 10,000 entries that takes longer than the rest of what is done to them.
 *
 * @module
 */

/**
 * Prepares to find the oldest entries of a map, in which a key is only ever set anew, with another value, after it was
 * deleted.
 *
 * @returns Yields the oldest entry; `undefined` when there is none.
 */
export function createOldestFinder<K, V extends object>(
  entries: ReadonlyMap<K, V>,
): () => readonly [key: K, value: V] | undefined {
  let rest = entries.entries();
  let oldest: readonly [K, V] | undefined;
  const step = () => {
    const next = rest.next();
    oldest = next.done === true ? undefined : next.value;
  };
  return () => {
    while (oldest !== undefined && entries.get(oldest[0]) !== oldest[1]) step();
    if (oldest !== undefined) return oldest;
    // An iteration that has come to its end does not see what is added later.
    rest = entries.entries();
    step();
    return oldest;
  };
}
