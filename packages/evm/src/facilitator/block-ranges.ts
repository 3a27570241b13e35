/**
 * The newest blocks in pieces of a size that nodes accept.
 *
 * @module
 */

/** Most nodes look through at most 10000 blocks at once. */
const BLOCKS_AT_ONCE = 9_000n;

/** Both ends included. */
export interface BlockRange {
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
}

/** Yields the head and the `lookbackBlocks` blocks before it, the newest first. */
export function* rangesBefore(head: bigint, lookbackBlocks: number): Generator<BlockRange, void> {
  const last = atLeast(0n, head - BigInt(lookbackBlocks));
  for (let toBlock = head; toBlock >= last; toBlock -= BLOCKS_AT_ONCE) {
    yield { fromBlock: atLeast(last, toBlock - BLOCKS_AT_ONCE + 1n), toBlock };
  }
}

function atLeast(least: bigint, block: bigint): bigint {
  return block < least ? least : block;
}
