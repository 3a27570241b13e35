/**
 * The questions that a node is asked about a payment. No answer is believed to have the form it should have: one that has
 * not rejects with a `RpcError`, as one that does not come.
 *
 * @see Solana documentation, "JSON-RPC HTTP Methods"
 * @module
 */
import { isJsonObject, type JsonObject, type PaymentQuery, RpcError } from "@farebox/core";
import { SIGNATURE_BYTES } from "@farebox/core/scheme";
import { decodeBase58 } from "../base58.js";

/** Asks a node, so many times and no more. */
export type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** How far the chain has to be behind a block, so that it counts. */
export type Commitment = "confirmed" | "finalized";

/** One transaction of an account. */
export interface HistoryEntry {
  /** In base58. */
  readonly signature: string;
  readonly signatureBytes: Buffer;
  readonly failed: boolean;
  readonly isFinal: boolean;
  /** Unix seconds, where the node knows it. */
  readonly blockTime: number | undefined;
}

/** A limited number of questions to a node. */
export function createAsk({ rpc, signal }: Pick<PaymentQuery, "rpc" | "signal">, limit: number): Ask {
  let asked = 0;
  return async (method, params) => {
    if (++asked > limit) throw new RpcError(`node was asked ${limit} times without a result`, "given_up");
    return rpc.call(method, params, signal === undefined ? {} : { signal });
  };
}

/** The network that the node is of, in CAIP-2. */
export async function readNetwork(ask: Ask): Promise<string> {
  const method = "getGenesisHash";
  const hash = await ask(method, []);
  if (typeof hash !== "string" || decodeBase58(hash, 32) === undefined) throw nonsense(method);
  return `solana:${hash.slice(0, 32)}`;
}

/** Whether transactions that name a block are still taken, as of a slot. */
export async function readBlockhashValidity(
  ask: Ask,
  blockhash: string,
  { commitment, minContextSlot = 0 }: { readonly commitment: Commitment; readonly minContextSlot?: number },
): Promise<{ readonly isValid: boolean; readonly slot: number }> {
  const method = "isBlockhashValid";
  const { slot, value } = readContextual(method, await ask(method, [blockhash, { commitment, minContextSlot }]));
  if (typeof value !== "boolean" || slot < minContextSlot) throw nonsense(method);
  return { isValid: value, slot };
}

/** How many transactions are asked for at once. */
export const PAGE = 200;

/** An account's transactions, the newest first. */
export async function readHistory(
  ask: Ask,
  account: string,
  { before, minContextSlot }: { readonly before: string | undefined; readonly minContextSlot: number },
): Promise<readonly HistoryEntry[]> {
  const method = "getSignaturesForAddress";
  const from = before === undefined ? {} : { before };
  const list = await ask(method, [account, { limit: PAGE, commitment: "confirmed", minContextSlot, ...from }]);
  if (!Array.isArray(list) || list.length > PAGE) throw nonsense(method);
  return list.map((entry) => readEntry(method, entry));
}

function readEntry(method: string, value: unknown): HistoryEntry {
  if (!isJsonObject(value)) throw nonsense(method);
  const { signature, err, blockTime, confirmationStatus } = value;
  const signatureBytes = decodeBase58(signature, SIGNATURE_BYTES);
  if (typeof signature !== "string" || signatureBytes === undefined || err === undefined) throw nonsense(method);
  return {
    signature,
    signatureBytes,
    failed: err !== null,
    isFinal: confirmationStatus === "finalized",
    blockTime: typeof blockTime === "number" ? blockTime : undefined,
  };
}

/** The programs that accounts belong to, in their order; `undefined` for one that does not exist. */
export async function readOwners(ask: Ask, addresses: readonly string[]): Promise<readonly (string | undefined)[]> {
  const method = "getMultipleAccounts";
  const options = { encoding: "base64", commitment: "confirmed", dataSlice: { offset: 0, length: 0 } };
  const { value } = readContextual(method, await ask(method, [addresses, options]));
  if (!Array.isArray(value) || value.length !== addresses.length) throw nonsense(method);
  return value.map((account) => {
    if (account === null) return undefined;
    const owner = isJsonObject(account) ? account["owner"] : undefined;
    if (typeof owner !== "string") throw nonsense(method);
    return owner;
  });
}

/** Reads an answer that says of which slot it is. */
export function readContextual(method: string, answer: unknown): { readonly slot: number; readonly value: unknown } {
  const context: JsonObject = isJsonObject(answer) && isJsonObject(answer["context"]) ? answer["context"] : {};
  const slot = context["slot"];
  if (!isJsonObject(answer) || typeof slot !== "number" || !Number.isSafeInteger(slot)) throw nonsense(method);
  return { slot, value: answer["value"] };
}

/** What is thrown about an answer that is none. */
export function nonsense(method: string): RpcError {
  return new RpcError(`node's answer to ${method} is none to what it was asked`, "unreadable");
}
