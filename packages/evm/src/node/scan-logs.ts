/**
 * Scans the logs of a contract, newest blocks first, in ranges that the node accepts.
 *
 * @see Ethereum JSON-RPC Specification, `eth_getLogs`
 * @module
 */
import { RpcError } from "@farebox/core";
import { type Ask, type Block, type Log, type LogFilter, readBlock, readLogs } from "./node-questions.js";

/** Which blocks to scan. */
interface Stretch {
  /** The newest block. */
  readonly head: Block;
  /** Unix seconds. The scan ends with the range that reaches a block before this. */
  readonly since: bigint;
}

/** Most nodes search at most 10,000 blocks at once. */
const BLOCKS_AT_ONCE = 9_000n;
/** Some nodes search ten. */
const FEWEST_BLOCKS_AT_ONCE = 8n;

/** Yields the logs that pass the filter, one list for each range, each list in the order of the chain. Some are empty. */
export async function* scanLogs(
  ask: Ask,
  filter: LogFilter,
  { head, since }: Stretch,
): AsyncGenerator<readonly Log[], void> {
  let [to, span] = [head.number, BLOCKS_AT_ONCE];
  for (;;) {
    const from = to < span ? 0n : to - span + 1n;
    try {
      yield await readLogs(ask, filter, { from, to });
    } catch (error) {
      if (span <= FEWEST_BLOCKS_AT_ONCE || !isAboutSize(error)) throw error;
      span /= 2n;
      continue;
    }
    if (from === 0n || (await readBlock(ask, from)).timestamp < since) return;
    to = from - 1n;
  }
}

/** Nodes refuse a large range in many words, and some by an HTTP status. */
function isAboutSize(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  const { problem, status } = error;
  return problem === "refused" || (problem === "status" && (status === 400 || status === 413));
}
