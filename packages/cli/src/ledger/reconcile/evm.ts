/**
 * Transfers to payees on an EVM chain: the `Transfer` events of the assets.
 *
 * @see ERC-20, "Events"; Ethereum JSON-RPC Specification
 * @module
 */
import { RpcError, type RpcNode } from "@farebox/core";
import { isJsonObject, type JsonObject } from "@farebox/core/protocol";
import { CliError } from "../../frame/cli-error.js";
import type { ChainView, Fate, Transfer } from "./transfers.js";

/** What to look for. */
export interface Search {
  readonly network: string;
  readonly rpc: RpcNode;
  readonly assets: readonly string[];
  readonly payees: readonly string[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** Most nodes search at most 10,000 blocks at once. */
const BLOCKS_AT_ONCE = 9_000n;

/** Looks at the chain. @throws CliError if the node is of another chain, or cannot be used */
export async function viewEvm(search: Search): Promise<ChainView> {
  const { network, rpc, sinceMs, untilMs } = search;
  const chain = `eip155:${BigInt(readText(await rpc.call("eth_chainId", []), "eth_chainId"))}`;
  if (chain !== network)
    throw new CliError("FAREBOX_CLI_NODE", `the node for ${network} is of ${chain}`, "Name a node of this network");
  const blocks = new Blocks(rpc);
  const head = await blocks.read("latest");
  const from = await blocks.firstAtOrAfter(sinceMs, head.number);
  const to = await blocks.lastBefore(untilMs, head.number);
  const transfers: Transfer[] = [];
  for await (const log of readLogs(search, from, to)) transfers.push(await toTransfer(log, network, blocks));
  return { transfers, fateOf: (transaction) => fateOf(rpc, transaction) };
}

interface Block {
  readonly number: bigint;
  readonly atMs: number;
}

/** Blocks by number and by time. */
class Blocks {
  readonly #rpc: RpcNode;
  readonly #known = new Map<bigint, Block>();

  constructor(rpc: RpcNode) {
    this.#rpc = rpc;
  }

  async read(which: bigint | "latest"): Promise<Block> {
    const known = which === "latest" ? undefined : this.#known.get(which);
    if (known !== undefined) return known;
    const tag = which === "latest" ? which : `0x${which.toString(16)}`;
    const block = await this.#rpc.call("eth_getBlockByNumber", [tag, false]);
    if (!isJsonObject(block)) throw unreadable("eth_getBlockByNumber");
    const number = BigInt(readText(block["number"], "eth_getBlockByNumber"));
    const read = { number, atMs: Number(BigInt(readText(block["timestamp"], "eth_getBlockByNumber"))) * 1000 };
    this.#known.set(number, read);
    return read;
  }

  /** The number of the first block of a time or later. */
  async firstAtOrAfter(ms: number, head: bigint): Promise<bigint> {
    let [low, high] = [0n, head];
    while (low < high) {
      const middle = (low + high) / 2n;
      if ((await this.read(middle)).atMs < ms) low = middle + 1n;
      else high = middle;
    }
    return low;
  }

  async lastBefore(ms: number, head: bigint): Promise<bigint> {
    if ((await this.read(head)).atMs < ms) return head;
    const first = await this.firstAtOrAfter(ms, head);
    return first === 0n ? 0n : first - 1n;
  }
}

/** The events of a range, in parts that the node accepts. */
async function* readLogs(
  { rpc, assets, payees }: Search,
  first: bigint,
  last: bigint,
): AsyncGenerator<JsonObject, void> {
  const topics = [TRANSFER, null, payees.map((payee) => `0x${payee.slice(2).toLowerCase().padStart(64, "0")}`)];
  let span = BLOCKS_AT_ONCE;
  for (let from = first; from <= last; ) {
    const to = from + span - 1n < last ? from + span - 1n : last;
    const range = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` };
    let logs: unknown;
    try {
      logs = await rpc.call("eth_getLogs", [{ address: assets, topics, ...range }]);
    } catch (error) {
      // Nodes refuse a large range in many words.
      const isAboutSize = error instanceof RpcError && ["refused", "status", "too_large"].includes(error.problem);
      if (!isAboutSize || span === 1n) throw error;
      span /= 2n;
      continue;
    }
    if (!Array.isArray(logs) || !logs.every(isJsonObject)) throw unreadable("eth_getLogs");
    yield* logs;
    from = to + 1n;
  }
}

async function toTransfer(log: JsonObject, network: string, blocks: Blocks): Promise<Transfer> {
  const method = "eth_getLogs";
  const topics = Array.isArray(log["topics"]) ? log["topics"].map((topic) => readText(topic, method)) : [];
  const [, from = "", to = ""] = topics;
  const { atMs } = await blocks.read(BigInt(readText(log["blockNumber"], method)));
  return {
    network,
    asset: readText(log["address"], method),
    from: `0x${from.slice(-40)}`,
    to: `0x${to.slice(-40)}`,
    amount: BigInt(readText(log["data"], method)),
    transaction: readText(log["transactionHash"], method),
    atMs,
  };
}

async function fateOf(rpc: RpcNode, transaction: string): Promise<Fate> {
  if (!/^0x[0-9a-fA-F]{64}$/.test(transaction)) return "absent";
  const receipt = await rpc.call("eth_getTransactionReceipt", [transaction]);
  if (receipt === null) return "absent";
  return isJsonObject(receipt) && receipt["status"] === "0x1" ? "succeeded" : "failed";
}

function readText(value: unknown, method: string): string {
  if (typeof value === "string" && value.startsWith("0x")) return value;
  throw unreadable(method);
}

function unreadable(method: string): CliError {
  return new CliError("FAREBOX_CLI_NODE", `the node's response to ${method} is unreadable`, "Name another node");
}
