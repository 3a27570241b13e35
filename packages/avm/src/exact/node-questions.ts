/**
 * The questions that a node is asked about a payment. Each response is checked. If its form is wrong, the question rejects
 * with an `RpcError`, as it does when no response comes.
 *
 * @see Algorand documentation, "algod REST API"
 * @module
 */
import { type JsonObject, RpcError, type RpcNode } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { fieldsOf } from "@farebox/core/scheme";
import { HASH_BYTES } from "../address.js";

/** A node's network, and its last round. */
export interface NodeState {
  readonly genesisHash: Buffer;
  readonly lastRound: bigint;
}

/** Asks for the node's network and last round, in one response. */
export async function readState(node: RpcNode): Promise<NodeState> {
  const path = "/v2/transactions/params";
  const { "genesis-hash": hash, "last-round": round } = fieldsOf(await node.get(path));
  const genesisHash = Buffer.from(typeof hash === "string" ? hash : "", "base64");
  if (genesisHash.length !== HASH_BYTES) unreadable(path);
  return { genesisHash, lastRound: readCount(round) ?? unreadable(path) };
}

/** How far a node is. */
export interface NodeStatus {
  readonly lastRound: bigint;
  /** How long ago it got that round. */
  readonly secondsSince: number;
  /** Whether it has got rounds late: then the time since the last one says nothing. */
  readonly isCatchingUp: boolean;
}

/** Asks for the node's last round, and how old that is. */
export async function readStatus(node: RpcNode): Promise<NodeStatus> {
  const path = "/v2/status";
  const status = fieldsOf(await node.get(path));
  const nanoseconds = readCount(status["time-since-last-round"]);
  const catchingUp = readCount(status["catchup-time"]);
  if (nanoseconds === undefined || catchingUp === undefined) unreadable(path);
  const lastRound = readCount(status["last-round"]) ?? unreadable(path);
  return { lastRound, secondsSince: Number(nanoseconds) / 1e9, isCatchingUp: catchingUp > 0n };
}

/**
 * Asks for the round in which a transaction got on chain; `undefined` if it is still pending, or the node does not remember
 * it. A node remembers a thousand rounds.
 */
export async function readConfirmedRound(node: RpcNode, id: string): Promise<bigint | undefined> {
  const path = `/v2/transactions/pending/${id}?format=json`;
  const { "confirmed-round": round } = await askOrNothing(node, path);
  if (round === undefined) return undefined;
  const confirmed = readCount(round) ?? unreadable(path);
  return confirmed > 0n ? confirmed : undefined;
}

/** Asks for an account's holding of an asset; `undefined` when the account has not opted in. */
export async function readHolding(
  node: RpcNode,
  address: string,
  asset: string,
): Promise<{ readonly isFrozen: boolean; readonly amount: bigint } | undefined> {
  const path = `/v2/accounts/${address}/assets/${asset}?format=json`;
  const { "asset-holding": holding } = await askOrNothing(node, path);
  if (holding === undefined) return undefined;
  const { "is-frozen": frozen, amount } = fieldsOf(holding);
  return { isFrozen: frozen === true, amount: readCount(amount) ?? unreadable(path) };
}

/** Asks for the ids of the transactions in a block. Rejects if the node no longer has the block. */
export async function readTransactionIds(node: RpcNode, round: bigint): Promise<readonly unknown[]> {
  const path = `/v2/blocks/${round}/txids?format=json`;
  const { blockTxids: ids } = fieldsOf(await node.get(path));
  return Array.isArray(ids) ? ids : unreadable(path);
}

/** Asks for the object at a path; an empty one if the node responds with 404. */
async function askOrNothing(node: RpcNode, path: string): Promise<JsonObject> {
  try {
    const response = await node.get(path);
    return isJsonObject(response) ? response : unreadable(path);
  } catch (error) {
    if (error instanceof RpcError && error.status === 404) return {};
    throw error;
  }
}

function readCount(value: unknown): bigint | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? BigInt(value) : undefined;
}

function unreadable(path: string): never {
  const [name] = path.split("?", 1);
  throw new RpcError(`node's response to ${name} is unreadable`, "unreadable");
}
