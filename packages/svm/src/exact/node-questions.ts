/**
 * The questions that a node is asked about a payment. Each response is checked. If its form is wrong, the question rejects
 * with an `RpcError`, as it does when no response comes.
 *
 * @see Solana documentation, "JSON-RPC HTTP Methods"
 * @module
 */
import { type ConfirmationReading, RpcError, type RpcNode } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { fieldsOf, SIGNATURE_BYTES } from "@farebox/core/scheme";
import { ADDRESS_BYTES, decodeBase58 } from "../address.js";
import { networkOf, type SvmNetwork } from "../networks.js";

/** A bank lists as many, and takes a transaction for as many blocks after the block of its blockhash. */
export const MAX_BLOCKHASHES = 150;

/** A blockhash has as many as an address. */
const HASH_BYTES = ADDRESS_BYTES;

/** One transaction of an account. */
export interface HistoryEntry {
  /** In base58. */
  readonly signature: string;
  readonly signatureBytes: Buffer;
  readonly failed: boolean;
  readonly isFinal: boolean;
  /** Unix seconds, if the node knows it. */
  readonly blockTime: number | undefined;
}

/** The node's network. */
export async function readNetwork(node: RpcNode): Promise<SvmNetwork> {
  const method = "getGenesisHash";
  return networkOf(await node.call(method, [])) ?? unreadable(method);
}

/** Whether transactions with a blockhash are still accepted, and as of which slot. Only finalized blocks count. */
export async function readBlockhashValidity(
  node: RpcNode,
  blockhash: string,
): Promise<{ readonly isValid: boolean; readonly slot: number }> {
  const method = "isBlockhashValid";
  const { slot, value } = readContextual(method, await node.call(method, [blockhash, { commitment: "finalized" }]));
  return typeof value === "boolean" ? { isValid: value, slot } : unreadable(method);
}

/** How deep a transaction is in the chain. A node counts up to 32 blocks above; then it is final. */
export async function readDepth(node: RpcNode, signature: string): Promise<ConfirmationReading> {
  const method = "getSignatureStatuses";
  const options = { searchTransactionHistory: true };
  const { value } = readContextual(method, await node.call(method, [[signature], options]));
  const status: unknown = Array.isArray(value) && value.length === 1 ? value[0] : unreadable(method);
  if (status === null) return { kind: "absent" };
  const { confirmations, err } = fieldsOf(status);
  if (err === undefined) unreadable(method);
  if (err !== null) return { kind: "failed" };
  if (confirmations === null) return { kind: "confirmed", confirmations: Number.POSITIVE_INFINITY };
  const isCount = typeof confirmations === "number" && Number.isSafeInteger(confirmations) && confirmations >= 0;
  return isCount ? { kind: "confirmed", confirmations: confirmations + 1 } : unreadable(method);
}

/** The blockhash of a recent block, on which a new transaction can build. */
export async function readBlockhash(node: RpcNode): Promise<string> {
  const method = "getLatestBlockhash";
  const { value } = readContextual(method, await node.call(method, [{ commitment: "confirmed" }]));
  const { blockhash } = fieldsOf(value);
  return typeof blockhash === "string" && decodeBase58(blockhash, HASH_BYTES) !== undefined
    ? blockhash
    : unreadable(method);
}

/** The decimals of a token are at this place in the account of its mint. */
const DECIMALS_AT = 44;

/** Which program a token has, and its decimals; `undefined` if the account is no mint. */
export async function readMintFacts(
  node: RpcNode,
  mint: string,
): Promise<{ readonly program: string; readonly decimals: number } | undefined> {
  const method = "getAccountInfo";
  const { value } = readContextual(method, await node.call(method, [mint, { encoding: "base64" }]));
  const { owner, data } = fieldsOf(value);
  if (typeof owner !== "string" || !Array.isArray(data) || typeof data[0] !== "string") return undefined;
  const decimals = Buffer.from(data[0], "base64")[DECIMALS_AT];
  return decimals === undefined ? undefined : { program: owner, decimals };
}

/** The blockhashes that a bank accepts, and the time of that bank. */
export interface RecentBlockhashes {
  /** The newest first. */
  readonly blockhashes: readonly Buffer[];
  /** The clock of the chain, in Unix seconds. */
  readonly unixSeconds: number;
}

const RECENT_BLOCKHASHES = "SysvarRecentB1ockHashes11111111111111111111";
const CLOCK = "SysvarC1ock11111111111111111111111111111111";

/** A blockhash, and what a signature costs. */
const ENTRY_BYTES = HASH_BYTES + 8;

/**
 * The recent blockhashes of the newest bank, from accounts that each bank writes itself. One response, so both are of one bank.
 * No method of a node says how old a given blockhash is: `getLatestBlockhash` knows the newest, `isBlockhashValid` yes and no.
 *
 * @see Solana documentation, "Sysvar Cluster Data": the list is deprecated for programs, but durable nonces need it
 */
export async function readRecentBlockhashes(node: RpcNode): Promise<RecentBlockhashes> {
  const method = "getMultipleAccounts";
  const options = { encoding: "base64", commitment: "processed" };
  const { value } = readContextual(method, await node.call(method, [[RECENT_BLOCKHASHES, CLOCK], options]));
  const [list, clock] = Array.isArray(value) ? value.map(readData) : [];
  if (list === undefined || clock === undefined || list.length < 8 || clock.length < 40) unreadable(method);
  const count = Number(list.readBigUInt64LE(0));
  if (count > MAX_BLOCKHASHES || list.length < 8 + count * ENTRY_BYTES) unreadable(method);
  const blockhashes = Array.from({ length: count }, (_, nth) =>
    list.subarray(8 + nth * ENTRY_BYTES).subarray(0, HASH_BYTES),
  );
  return { blockhashes, unixSeconds: Number(clock.readBigInt64LE(32)) };
}

/** The number of transactions in one response. */
export const PAGE = 200;

/** An account's transactions, newest first. */
export async function readHistory(
  node: RpcNode,
  account: string,
  { before, minContextSlot }: { readonly before: string | undefined; readonly minContextSlot: number },
): Promise<readonly HistoryEntry[]> {
  const method = "getSignaturesForAddress";
  const from = before === undefined ? {} : { before };
  const list = await node.call(method, [account, { limit: PAGE, commitment: "confirmed", minContextSlot, ...from }]);
  if (!Array.isArray(list) || list.length > PAGE) unreadable(method);
  return list.map((entry) => readEntry(method, entry));
}

function readEntry(method: string, value: unknown): HistoryEntry {
  if (!isJsonObject(value)) unreadable(method);
  const { signature, err, blockTime, confirmationStatus } = value;
  const signatureBytes = decodeBase58(signature, SIGNATURE_BYTES);
  if (typeof signature !== "string" || signatureBytes === undefined || err === undefined) unreadable(method);
  return {
    signature,
    signatureBytes,
    failed: err !== null,
    isFinal: confirmationStatus === "finalized",
    blockTime: typeof blockTime === "number" ? blockTime : undefined,
  };
}

/** The programs that accounts belong to, in order; `undefined` for an account that does not exist. */
export async function readOwners(
  node: RpcNode,
  addresses: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const method = "getMultipleAccounts";
  const options = { encoding: "base64", commitment: "confirmed", dataSlice: { offset: 0, length: 0 } };
  const { value } = readContextual(method, await node.call(method, [addresses, options]));
  if (!Array.isArray(value) || value.length !== addresses.length) unreadable(method);
  return value.map((account) => {
    if (account === null) return undefined;
    const owner = isJsonObject(account) ? account["owner"] : undefined;
    if (typeof owner !== "string") unreadable(method);
    return owner;
  });
}

/** Bytes of a token account, and the bytes of its amount. */
const TOKEN_ACCOUNT_BYTES = 165;
const AMOUNT_AT = 64;

/** What a token account has, in atomic units; nothing if it does not exist. */
export async function readTokenAmount(node: RpcNode, account: string): Promise<bigint> {
  const method = "getAccountInfo";
  const { value } = readContextual(
    method,
    await node.call(method, [account, { encoding: "base64", commitment: "confirmed" }]),
  );
  if (value === null) return 0n;
  const bytes = readData(value);
  return bytes.length >= TOKEN_ACCOUNT_BYTES ? bytes.readBigUInt64LE(AMOUNT_AT) : unreadable(method);
}

/** The bytes of an account; none if it does not exist. */
function readData(account: unknown): Buffer {
  const { data } = fieldsOf(account);
  const [text] = Array.isArray(data) ? data : [];
  return Buffer.from(typeof text === "string" ? text : "", "base64");
}

/** Reads a response that names its slot. */
function readContextual(method: string, response: unknown): { readonly slot: number; readonly value: unknown } {
  const { context, value } = fieldsOf(response);
  const { slot } = fieldsOf(context);
  return typeof slot === "number" && Number.isSafeInteger(slot) && slot >= 0 ? { slot, value } : unreadable(method);
}

function unreadable(method: string): never {
  throw new RpcError(`node's response to ${method} is unreadable`, "unreadable");
}
