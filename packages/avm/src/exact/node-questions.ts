/**
 * The questions that a seller asks a node about a payment. An answer that has not the form it should have rejects with an
 * `RpcError`, as one that does not come.
 *
 * @see Algorand documentation, "algod REST API"
 * @module
 */
import { isJsonObject, type JsonObject, type PaymentQuery, RpcError } from "@farebox/core";
import {
  holdingPath,
  type NodeState,
  readCount,
  readNodeState,
  STATE_PATH,
  transactionPath,
} from "../node/read-answers.js";

/** Asks a node, so many times and no more. */
export type Ask = (path: string) => Promise<unknown>;

/** A limited number of questions to a node. */
export function createAsk({ rpc, signal }: Pick<PaymentQuery, "rpc" | "signal">, limit: number): Ask {
  let asked = 0;
  return async (path) => {
    if (++asked > limit) throw new RpcError(`node was asked ${limit} times without a result`, "given_up");
    return rpc.get(path, signal === undefined ? {} : { signal });
  };
}

/** The node's network and last round. */
export async function readState(ask: Ask): Promise<NodeState> {
  return readNodeState(await ask(STATE_PATH)) ?? nonsense(STATE_PATH);
}

/**
 * The round in which a transaction got on chain; `undefined` when it is in none of those that the node remembers, and waits
 * or is not known.
 */
export async function readConfirmedRound(ask: Ask, id: string): Promise<bigint | undefined> {
  const path = transactionPath(id);
  const { "confirmed-round": round } = await askOrNothing(ask, path);
  if (round === undefined) return undefined;
  const confirmed = readCount(round) ?? nonsense(path);
  return confirmed > 0n ? confirmed : undefined;
}

/** What an account has of an asset; `undefined` when it has not opted in. */
export async function readHolding(
  ask: Ask,
  address: string,
  asset: string,
): Promise<{ readonly isFrozen: boolean } | undefined> {
  const path = holdingPath(address, asset);
  const answer = await askOrNothing(ask, path);
  const holding = answer["asset-holding"];
  if (holding === undefined) return undefined;
  return isJsonObject(holding) ? { isFrozen: holding["is-frozen"] === true } : nonsense(path);
}

/** The object at a path; an empty one where the node says that there is nothing. */
async function askOrNothing(ask: Ask, path: string): Promise<JsonObject> {
  try {
    const answer = await ask(path);
    return isJsonObject(answer) ? answer : nonsense(path);
  } catch (error) {
    if (error instanceof RpcError && error.status === 404) return {};
    throw error;
  }
}

/** The names of the transactions in a block. Rejects where the node has not kept it. */
export async function readTransactionIds(ask: Ask, round: bigint): Promise<readonly unknown[]> {
  const path = `/v2/blocks/${round}/txids?format=json`;
  const answer = await ask(path);
  const ids = isJsonObject(answer) ? answer["blockTxids"] : undefined;
  return Array.isArray(ids) ? ids : nonsense(path);
}

function nonsense(path: string): never {
  const [name] = path.split("?", 1);
  throw new RpcError(`node's answer to ${name} is none to what it was asked`, "unreadable");
}
