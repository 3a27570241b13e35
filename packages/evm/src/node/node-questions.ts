/**
 * The questions that a node is asked about a payment. Each response is checked: does it have the right form, and is it about
 * the thing that was asked? If not, the question rejects with a `RpcError`, as it does when no response comes.
 *
 * @see Ethereum JSON-RPC Specification; EIP-1898 for state at a block's hash; Contract ABI Specification, "Formal
 *   Specification of the Encoding"; ERC-20, "Events"
 * @module
 */
import {
  type BalanceReading,
  type ConfirmationReading,
  type JsonObject,
  type PaymentQuery,
  RpcError,
  type TransactionQuery,
} from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { orUnclear, unclear } from "@farebox/core/scheme";
import { sameAddress } from "../address.js";

/** Asks a node, a limited number of times. */
export type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** One block, without its transactions. */
export interface Block {
  readonly number: bigint;
  readonly hash: string;
  /** Unix seconds. */
  readonly timestamp: bigint;
}

/** An event of a contract. Hex is in lower case. */
export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly transactionHash: string;
  readonly blockHash: string;
  readonly blockNumber: bigint;
  /** Its position in the block. */
  readonly logIndex: bigint;
}

/** Which logs to ask for. In `topics`, a list matches any of its members. */
export interface LogFilter {
  readonly address: string;
  readonly topics: readonly (string | readonly string[])[];
}

/** A range of blocks, both ends included. */
export interface BlockRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** `Transfer(address indexed from, address indexed to, uint256 value)` */
export const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** Encodes an address as a word of 32 bytes, in lower case. */
export function addressWord(address: string): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
}

/** Encodes an amount as a word of 32 bytes. */
export function uintWord(amount: bigint): string {
  return `0x${amount.toString(16).padStart(64, "0")}`;
}

/** Creates a limited number of questions to a node. */
export function createAsk({ rpc, signal }: Pick<PaymentQuery, "rpc" | "signal">, limit: number): Ask {
  let asked = 0;
  return async (method, params) => {
    if (++asked > limit) throw new RpcError(`node was asked ${limit} times without a result`, "given_up");
    return rpc.call(method, params, signal === undefined ? {} : { signal });
  };
}

/** Asks for the node's network, in CAIP-2. */
export async function readNetwork(ask: Ask): Promise<string> {
  const method = "eth_chainId";
  return `eip155:${readQuantity(method, await ask(method, []))}`;
}

/** Asks for a block. */
export async function readBlock(ask: Ask, which: bigint | "latest"): Promise<Block> {
  const method = "eth_getBlockByNumber";
  const tag = which === "latest" ? which : toQuantity(which);
  const block = readObject(method, await ask(method, [tag, false]));
  const number = readQuantity(method, block["number"]);
  if (which !== "latest" && number !== which) throw nonsense(method);
  return { number, hash: readHash(method, block["hash"]), timestamp: readQuantity(method, block["timestamp"]) };
}

/** Calls a contract that returns a word of 32 bytes, at one exact block, regardless of which node behind the URL responds. */
export async function readWord(
  ask: Ask,
  call: { readonly to: string; readonly data: string },
  { hash }: Block,
): Promise<bigint> {
  const method = "eth_call";
  return BigInt(readHash(method, await ask(method, [call, { blockHash: hash }])));
}

/** Calls a contract that returns a boolean, as {@link readWord} does. */
export async function readFlag(ask: Ask, call: Parameters<typeof readWord>[1], block: Block): Promise<boolean> {
  const word = await readWord(ask, call, block);
  if (word > 1n) throw nonsense("eth_call");
  return word === 1n;
}

/** `balanceOf(address account)` */
const BALANCE_OF = "0x70a08231";

/** Implements `readBalance` of both schemes. Total. @param owner - The payer; `undefined`: the payment cannot be read. */
export function readTokenBalance(query: PaymentQuery, owner: string | undefined): Promise<BalanceReading> {
  return orUnclear<BalanceReading>(async () => {
    const { network, asset } = query.requirements;
    if (owner === undefined) return unclear("the payment is not one of this scheme");
    const ask = createAsk(query, 3);
    if ((await readNetwork(ask)) !== network) return unclear(`the node is not of ${network}`);
    const call = { to: asset, data: BALANCE_OF + addressWord(owner).slice(2) };
    return { kind: "known", amount: await readWord(ask, call, await readBlock(ask, "latest")) };
  });
}

const ALLOWANCE = "0xdd62ed3e";

/** Implements `readAllowance` of schemes by Permit2. Total. @param of - Who owns the asset, and who may move it. */
export function readTokenAllowance(
  query: PaymentQuery,
  of: { readonly owner: string | undefined; readonly spender: string },
): Promise<BalanceReading> {
  return orUnclear<BalanceReading>(async () => {
    const { network, asset } = query.requirements;
    const { owner, spender } = of;
    if (owner === undefined) return unclear("the payment is not one of this scheme");
    const ask = createAsk(query, 3);
    if ((await readNetwork(ask)) !== network) return unclear(`the node is not of ${network}`);
    const call = { to: asset, data: ALLOWANCE + addressWord(owner).slice(2) + addressWord(spender).slice(2) };
    return { kind: "known", amount: await readWord(ask, call, await readBlock(ask, "latest")) };
  });
}

/** Implements `readConfirmations` of both schemes. Total. */
export function readTransactionDepth(query: TransactionQuery): Promise<ConfirmationReading> {
  return orUnclear<ConfirmationReading>(async () => {
    const { transaction, network } = query;
    if (!HASH.test(transaction)) return unclear("the transaction is not one of this network");
    const ask = createAsk(query, 4);
    if ((await readNetwork(ask)) !== network) return unclear(`the node is not of ${network}`);
    const method = "eth_getTransactionReceipt";
    const found = await ask(method, [transaction]);
    if (found === null) return { kind: "absent" };
    const receipt = readObject(method, found);
    if (readHash(method, receipt["transactionHash"]) !== transaction.toLowerCase()) throw nonsense(method);
    const number = readQuantity(method, receipt["blockNumber"]);
    const head = await readBlock(ask, "latest");
    // Of several nodes behind one URL, one may lag; and one may still have a block that the chain has dropped.
    if (head.number < number) return { kind: "absent" };
    const block = head.number === number ? head : await readBlock(ask, number);
    if (block.hash !== readHash(method, receipt["blockHash"])) return { kind: "absent" };
    if (receipt["status"] !== "0x1") return { kind: "failed" };
    return { kind: "confirmed", confirmations: Number(head.number - number) + 1 };
  });
}

/** Asks for the call by which a log's transaction began; `to` is `undefined` if it created a contract. */
export async function readCallOf(
  ask: Ask,
  { transactionHash, blockHash }: Log,
): Promise<{ readonly to: string | undefined; readonly input: string }> {
  const method = "eth_getTransactionByHash";
  const transaction = readObject(method, await ask(method, [transactionHash]));
  const isIt =
    readHash(method, transaction["hash"]) === transactionHash &&
    readHash(method, transaction["blockHash"]) === blockHash;
  if (!isIt) throw nonsense(method);
  const to = transaction["to"] === null ? undefined : readText(method, ADDRESS, transaction["to"]);
  return { to, input: readText(method, BYTES, transaction["input"]) };
}

/** Asks for the logs that pass a filter in a range of blocks. */
export async function readLogs(ask: Ask, filter: LogFilter, range: BlockRange): Promise<readonly Log[]> {
  const method = "eth_getLogs";
  const bounds = { fromBlock: toQuantity(range.from), toBlock: toQuantity(range.to) };
  const logs = readList(method, await ask(method, [{ ...filter, ...bounds }]));
  if (!logs.every((log) => passes(log, filter) && log.blockNumber >= range.from && log.blockNumber <= range.to)) {
    throw nonsense(method);
  }
  return logs;
}

/** Asks for all logs of a log's transaction, in order. The transaction must have succeeded, in the log's block. */
export async function readLogsBeside(ask: Ask, { transactionHash, blockHash }: Log): Promise<readonly Log[]> {
  const method = "eth_getTransactionReceipt";
  const receipt = readObject(method, await ask(method, [transactionHash]));
  const logs = readList(method, receipt["logs"]);
  const isOfIt = (at: { readonly transactionHash: string; readonly blockHash: string }) =>
    at.transactionHash === transactionHash && at.blockHash === blockHash;
  const of = {
    transactionHash: readHash(method, receipt["transactionHash"]),
    blockHash: readHash(method, receipt["blockHash"]),
  };
  const isOrdered = logs.every((log, at) => at === 0 || log.logIndex > (logs[at - 1]?.logIndex ?? 0n));
  if (receipt["status"] !== "0x1" || !isOfIt(of) || !logs.every(isOfIt) || !isOrdered) throw nonsense(method);
  return logs;
}

function passes(log: Log, { address, topics }: LogFilter): boolean {
  if (!sameAddress(log.address, address) || log.topics.length !== topics.length) return false;
  return topics.every((wanted, at) => [wanted].flat().includes(log.topics[at] ?? ""));
}

const QUANTITY = /^0x[0-9a-f]{1,64}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const BYTES = /^0x(?:[0-9a-f]{2})*$/i;
/** The EVM has no instruction for more. */
const MAX_TOPICS = 4;

function readObject(method: string, value: unknown): JsonObject {
  if (!isJsonObject(value)) throw nonsense(method);
  return value;
}

function readList(method: string, value: unknown): readonly Log[] {
  if (!Array.isArray(value)) throw nonsense(method);
  return value.map((log) => readLog(method, readObject(method, log)));
}

function readLog(method: string, log: JsonObject): Log {
  const { topics, removed = false } = log;
  // A removed log comes from a block that is no longer part of the chain.
  if (removed !== false || !Array.isArray(topics) || topics.length > MAX_TOPICS) throw nonsense(method);
  return {
    address: readText(method, ADDRESS, log["address"]),
    topics: topics.map((topic) => readHash(method, topic)),
    data: readText(method, BYTES, log["data"]),
    transactionHash: readHash(method, log["transactionHash"]),
    blockHash: readHash(method, log["blockHash"]),
    blockNumber: readQuantity(method, log["blockNumber"]),
    logIndex: readQuantity(method, log["logIndex"]),
  };
}

function readQuantity(method: string, value: unknown): bigint {
  return BigInt(readText(method, QUANTITY, value));
}

function readHash(method: string, value: unknown): string {
  return readText(method, HASH, value);
}

function readText(method: string, form: RegExp, value: unknown): string {
  if (typeof value !== "string" || !form.test(value)) throw nonsense(method);
  return value.toLowerCase();
}

function toQuantity(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function nonsense(method: string): RpcError {
  return new RpcError(`node's response to ${method} does not fit the question`, "unreadable");
}
