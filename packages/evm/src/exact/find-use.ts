/**
 * Looks for the log by which an authorization was used up, the newest blocks first.
 *
 * @see EIP-3009, `AuthorizationUsed` and `AuthorizationCanceled`
 * @module
 */
import { JsonRpcError } from "@farebox/core";
import { addressWord } from "../abi-words.js";
import { type Ask, type Block, type Log, type LogFilter, readBlock, readLogs } from "../node/node-questions.js";
import { AUTHORIZATION_CANCELED, AUTHORIZATION_USED } from "./eip3009-wire.js";

/** Which authorization, and where to look for it. */
export interface UseSearch {
  readonly asset: string;
  readonly authorizer: string;
  readonly nonce: string;
  /** The newest block to look into. */
  readonly head: Block;
  /** Unix seconds. Blocks before are not looked into, but for those asked for together with later ones. */
  readonly since: bigint;
}

/** Most nodes look through at most 10000 blocks at once. */
const BLOCKS_AT_ONCE = 9_000n;
/** Some look through ten. */
const FEWEST_BLOCKS_AT_ONCE = 8n;

/** Yields the only log that says that the nonce was used or cancelled; `undefined` when there is none in these blocks. */
export async function findUse(ask: Ask, search: UseSearch): Promise<Log | undefined> {
  const filter = filterFor(search);
  let [to, span] = [search.head.number, BLOCKS_AT_ONCE];
  for (;;) {
    const { logs, from, span: possible } = await readUpTo(ask, filter, { to, span });
    if (logs.length > 0) return onlyOne(logs);
    if (from === 0n || (await readBlock(ask, from)).timestamp < search.since) return undefined;
    [to, span] = [from - 1n, possible];
  }
}

function filterFor({ asset, authorizer, nonce }: UseSearch): LogFilter {
  return {
    address: asset,
    topics: [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], addressWord(authorizer), nonce.toLowerCase()],
  };
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
    const canBeLess = span > FEWEST_BLOCKS_AT_ONCE && error instanceof JsonRpcError && isAboutSize(error);
    if (!canBeLess) throw error;
  }
  return readUpTo(ask, filter, { to, span: span / 2n });
}

function isAboutSize({ problem, status }: JsonRpcError): boolean {
  return problem === "refused" || (problem === "status" && (status === 400 || status === 413));
}

/** A nonce is used or cancelled once; two such logs are a token, or a node, whose word counts for nothing. */
function onlyOne(logs: readonly Log[]): Log | undefined {
  if (logs.length === 1) return logs[0];
  throw new JsonRpcError("node says that one nonce was used more than once", "unreadable");
}
