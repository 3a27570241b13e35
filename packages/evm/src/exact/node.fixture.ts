/**
 * A node on this machine that knows one payment. It tells the truth about it, except in methods that a test replaces.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ChainFinding, createRpcNode, type PaymentQuery, type PaymentRequirements } from "@farebox/core";
import { encodeAbiParameters, type Hex, padHex, toEventSelector, toHex } from "viem";
import { exactEvm } from "./exact-evm.js";

/** A node's response: a result, an error, or any bytes. */
export type Reply =
  | { readonly result: unknown }
  | { readonly error: unknown }
  | { readonly write: (response: ServerResponse) => void };

/** One call of a method. */
export type Method = (params: readonly unknown[]) => Reply;

export const REQUIREMENTS: PaymentRequirements = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "10000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 300,
  extra: { name: "USDC", version: "2" },
};

export const AUTHORIZATION = {
  from: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
  to: REQUIREMENTS.payTo,
  value: REQUIREMENTS.amount,
  validAfter: "0",
  validBefore: "1800000300",
  nonce: `0x${"F3".repeat(32)}`,
} as const;

export const PAYLOAD = { signature: `0x${"11".repeat(65)}`, authorization: AUTHORIZATION };

/** The newest block, whose time is a second before the payment expires. Blocks come every two seconds. */
export const HEAD = 1_000_000n;
const HEAD_SECONDS = 1_800_000_299n;

/** The block and the transaction that used the nonce. */
export const USED_AT = HEAD - 20n;
export const TRANSACTION = `0x${"ab".repeat(32)}`;

/** The hash of a block is made of its number. */
export function hashOf(block: bigint): Hex {
  return toHex(block, { size: 32 });
}

export function blockOf(block: bigint): Readonly<Record<string, unknown>> {
  const timestamp = toHex(HEAD_SECONDS - 2n * (HEAD - block));
  return { number: toHex(block), hash: hashOf(block), timestamp, transactions: [] };
}

const PLACE = {
  transactionHash: TRANSACTION,
  blockHash: hashOf(USED_AT),
  blockNumber: toHex(USED_AT),
  removed: false,
};
const nonceTopics = [padHex(AUTHORIZATION.from).toLowerCase(), AUTHORIZATION.nonce.toLowerCase()];

/** The log of the nonce's use, or of its cancellation. */
export const USE = {
  ...PLACE,
  address: REQUIREMENTS.asset,
  topics: [toEventSelector("AuthorizationUsed(address,bytes32)"), ...nonceTopics],
  data: "0x",
  logIndex: "0x5",
};
export const CANCELLATION = {
  ...USE,
  topics: [toEventSelector("AuthorizationCanceled(address,bytes32)"), ...nonceTopics],
};

interface TransferTerms {
  readonly from?: string;
  readonly to?: string;
  readonly value?: bigint;
  readonly logIndex?: string;
}

/** A transfer of the token, by default the payment's. */
export function transfer(terms: TransferTerms = {}) {
  const { from = AUTHORIZATION.from, to = AUTHORIZATION.to, value = 10_000n, logIndex = "0x6" } = terms;
  const topics = [toEventSelector("Transfer(address,address,uint256)"), padHex(from as Hex), padHex(to as Hex)];
  const data = encodeAbiParameters([{ type: "uint256" }], [value]);
  return { ...PLACE, address: REQUIREMENTS.asset, topics: topics.map((topic) => topic.toLowerCase()), data, logIndex };
}

/** The receipt of the transaction that has these logs. */
export function receipt(logs: readonly unknown[]): Readonly<Record<string, unknown>> {
  return { transactionHash: TRANSACTION, blockHash: hashOf(USED_AT), blockNumber: toHex(USED_AT), status: "0x1", logs };
}

/** The responses of a healthy node that saw the payment. */
export const PAID: Readonly<Record<string, Method>> = {
  eth_chainId: () => ({ result: "0x14a34" }),
  eth_getBlockByNumber: ([tag]) => ({ result: blockOf(tag === "latest" ? HEAD : BigInt(tag as string)) }),
  eth_call: () => ({ result: toHex(1n, { size: 32 }) }),
  eth_getLogs: ([filter]) => ({ result: isIn(filter as Range, USED_AT) ? [USE] : [] }),
  eth_getTransactionReceipt: () => ({ result: receipt([USE, transfer()]) }),
};

/** Of a filter, the blocks. */
export interface Range {
  readonly fromBlock: string;
  readonly toBlock: string;
}

export function isIn({ fromBlock, toBlock }: Range, block: bigint): boolean {
  return BigInt(fromBlock) <= block && block <= BigInt(toBlock);
}

export interface RunningNode {
  readonly url: string;
  /** The calls to the node, in order. */
  readonly calls: { readonly method: string; readonly params: readonly unknown[] }[];
}

const servers: Server[] = [];

/** Starts a node that tells the truth, but for the methods that are given. */
export async function startNode(methods: Readonly<Record<string, Method>> = {}): Promise<RunningNode> {
  const calls: RunningNode["calls"] = [];
  const known: Readonly<Record<string, Method>> = { ...PAID, ...methods };
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    calls.push({ method, params });
    const reply = known[method]?.(params) ?? { error: { code: -32_601, message: "no such method" } };
    if ("write" in reply) reply.write(response);
    else response.end(JSON.stringify({ jsonrpc: "2.0", id, ...reply }));
  };
  // A client that leaves while its request is read is no fault.
  const server = createServer(
    { keepAlive: false },
    (request, response) => void respond(request, response).catch(() => response.destroy()),
  );
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/key`, calls };
}

/** Ends every node that a test has started. */
export function closeNodes(): void {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
}

export type Methods = Readonly<Record<string, Method>>;

export const MOVED: ChainFinding = { kind: "moved", transaction: TRANSACTION };
export const OTHER: Hex = `0x${"22".repeat(32)}`;
export const STRANGER: Hex = `0x${"33".repeat(20)}`;

/** Changes to the usual query. */
export type Changes = Partial<PaymentQuery> & { readonly deadlineMs?: number };

/** Asks a node about the payment. A slow machine does not reach the deadline. */
export function findAt(url: string, { deadlineMs = 120_000, ...query }: Changes = {}) {
  const rpc = createRpcNode(url, { deadlineMs });
  return exactEvm().findPayment?.({ payload: PAYLOAD, requirements: REQUIREMENTS, rpc, ...query });
}

/** Asks a node with these methods replaced, and returns the node too. */
export async function find(methods: Methods = {}, changes: Changes = {}) {
  const node = await startNode(methods);
  return { finding: await findAt(node.url, changes), node };
}

/** The payment with another authorization. */
export function changed(authorization: Partial<Record<keyof typeof AUTHORIZATION, string>>) {
  return { ...PAYLOAD, authorization: { ...AUTHORIZATION, ...authorization } };
}

/** The number of calls of a method. */
export function countOf({ calls }: RunningNode, method: string): number {
  return calls.filter((call) => call.method === method).length;
}
