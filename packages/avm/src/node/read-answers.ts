/**
 * Reads what a node answers, for whoever has asked. No answer is believed to have the form it should have: `undefined` is
 * one that has not. Total.
 *
 * @see Algorand documentation, "algod REST API"
 * @module
 */
import { isJsonObject } from "@farebox/core";
import { HASH_BYTES } from "../hash.js";

/** Which network a node is of, and how far it is. */
export interface NodeState {
  readonly genesisHash: Buffer;
  readonly lastRound: bigint;
}

/** Says both in one answer. */
export const STATE_PATH = "/v2/transactions/params";

/** What {@link STATE_PATH} says. */
export function readNodeState(answer: unknown): NodeState | undefined {
  if (!isJsonObject(answer)) return undefined;
  const { "genesis-hash": hash, "last-round": round } = answer;
  const genesisHash = Buffer.from(typeof hash === "string" ? hash : "", "base64");
  const lastRound = readCount(round);
  return genesisHash.length === HASH_BYTES && lastRound !== undefined ? { genesisHash, lastRound } : undefined;
}

/** Where a node says what it knows of a transaction: for a thousand rounds, and 404 after that or before it was seen. */
export function transactionPath(id: string): string {
  return `/v2/transactions/pending/${id}?format=json`;
}

/** Where a node says what an account has of an asset: 404 when it has not opted in. */
export function holdingPath(address: string, asset: bigint | string): string {
  return `/v2/accounts/${address}/assets/${asset}?format=json`;
}

/** Numbers above 2^53 come out of JSON as near as a `number` comes to them. */
export function readCount(value: unknown): bigint | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? BigInt(value) : undefined;
}
