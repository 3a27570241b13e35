/**
 * Goes through the logs of a contract, the newest blocks first, in pieces that the node is willing to look through.
 *
 * @see Ethereum JSON-RPC Specification, `eth_getLogs`
 * @module
 */
import { RpcError } from "@farebox/core";
import { type Ask, type Block, type Log, type LogFilter, readBlock, readLogs } from "./node-questions.js";

/** Where to look. */
export interface LogStretch {
  /** The newest block to look into. */
  readonly head: Block;
  /** Unix seconds. Blocks before are not looked into, but for those asked for together with later ones. */
  readonly since: bigint;
}

/** Most nodes look through at most 10000 blocks at once. */
const BLOCKS_AT_ONCE = 9_000n;
/** Some look through ten. */
const FEWEST_BLOCKS_AT_ONCE = 8n;

/** Yields the logs that pass the filter, piece by piece, each in the order of the chain; some have none. */
export async function* scanLogs(
  ask: Ask,
  filter: LogFilter,
  { head, since }: LogStretch,
): AsyncGenerator<readonly Log[], void> {
  let [to, span] = [head.number, BLOCKS_AT_ONCE];
  for (;;) {
    const { logs, from, span: possible } = await readUpTo(ask, filter, { to, span });
    yield logs;
    if (from === 0n || (await readBlock(ask, from)).timestamp < since) return;
    [to, span] = [from - 1n, possible];
  }
}

/** The newest blocks that are still to be looked into. */
interface Stretch {
  readonly to: bigint;
  /** How many blocks to ask for at once. */
  readonly span: bigint;
}

/** Asks for fewer blocks until the node answers. Nodes refuse in many words, and some by an HTTP status. */
async function readUpTo(
  ask: Ask,
  filter: LogFilter,
  { to, span }: Stretch,
): Promise<{ readonly logs: readonly Log[]; readonly from: bigint; readonly span: bigint }> {
  const from = to < span ? 0n : to - span + 1n;
  try {
    return { logs: await readLogs(ask, filter, { from, to }), from, span };
  } catch (error) {
    const canBeLess = span > FEWEST_BLOCKS_AT_ONCE && error instanceof RpcError && isAboutSize(error);
    if (!canBeLess) throw error;
  }
  return readUpTo(ask, filter, { to, span: span / 2n });
}

function isAboutSize({ problem, status }: RpcError): boolean {
  return problem === "refused" || (problem === "status" && (status === 400 || status === 413));
}
