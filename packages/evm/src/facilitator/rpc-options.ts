/**
 * Options of a chain over JSON-RPC, checked once.
 *
 * @module
 */
import { ConfigError, type ConfigIssue } from "@farebox/core";
import { createPublicClient, http, type PublicClient } from "viem";
import { type LocalAccount, privateKeyToAccount } from "viem/accounts";

/** How to reach a chain, and who sends transactions. */
export interface RpcChainOptions {
  /** CAIP-2, e.g. `eip155:84532`. */
  readonly network: `eip155:${number}`;
  readonly rpcUrl: string;
  /** 32 bytes; either this or `account`. It pays for transactions and never for payments. */
  readonly privateKey?: `0x${string}`;
  /** An account that can sign transactions, e.g. one whose key is in a vault; either this or `privateKey`. */
  readonly account?: LocalAccount;
  /** Blocks that must stand on a transaction's before it counts, itself included, 1 to 1000. Default 1. */
  readonly confirmations?: number;
  /** How often to look for a receipt, 10 to 60000 ms. Default 1000. */
  readonly pollingIntervalMs?: number;
  /** How long to wait for a receipt, 100 to 600000 ms. Default 25000, below a seller's deadline of 30 s. */
  readonly receiptTimeoutMs?: number;
  /** How far back to look for a transfer that was made before, 1 to 1000000 blocks. Default 9000. */
  readonly lookbackBlocks?: number;
}

/** Asks the chain. */
export type RpcClient = PublicClient;

/** The options, checked. */
export interface ParsedRpcOptions {
  readonly network: `eip155:${number}`;
  readonly chainId: number;
  readonly client: RpcClient;
  readonly account: LocalAccount;
  readonly confirmations: number;
  readonly receiptTimeoutMs: number;
  readonly lookbackBlocks: number;
}

const RANGES = {
  confirmations: { least: 1, most: 1_000, usual: 1 },
  pollingIntervalMs: { least: 10, most: 60_000, usual: 1_000 },
  receiptTimeoutMs: { least: 100, most: 600_000, usual: 25_000 },
  lookbackBlocks: { least: 1, most: 1_000_000, usual: 9_000 },
} as const;

const KEYS = ["network", "rpcUrl", "privateKey", "account", ...Object.keys(RANGES)];

/** Checks the options. @throws ConfigError with every issue at once; the key is never quoted. */
export function parseRpcOptions(options: RpcChainOptions): ParsedRpcOptions {
  const issues: ConfigIssue[] = [];
  const add = (key: string, expected: string, received: string) => {
    issues.push({ path: `options.${key}`, expected, received });
  };
  const range = (key: keyof typeof RANGES) => parseNumber(key, options[key], add);

  for (const key of Object.keys(options)) {
    if (!KEYS.includes(key)) add(key, `one of the keys ${KEYS.join(", ")}`, "an unknown key");
  }
  const chainId = Number(/^eip155:([1-9]\d{0,14})$/.exec(String(options.network))?.[1]);
  if (Number.isNaN(chainId)) add("network", 'a CAIP-2 network such as "eip155:84532"', JSON.stringify(options.network));
  if (!isHttpUrl(options.rpcUrl)) add("rpcUrl", "an http or https URL", "something else");
  const account = parseAccount(options, add);
  const pollingInterval = range("pollingIntervalMs");
  const parsed = {
    confirmations: range("confirmations"),
    receiptTimeoutMs: range("receiptTimeoutMs"),
    lookbackBlocks: range("lookbackBlocks"),
  };
  if (issues.length > 0 || account === undefined) throw new ConfigError(issues);
  const client = createPublicClient({ transport: http(options.rpcUrl), pollingInterval, cacheTime: 0 });
  return Object.freeze({ network: options.network, chainId, client, account, ...parsed });
}

type AddIssue = (key: string, expected: string, received: string) => void;

function parseAccount({ privateKey, account }: RpcChainOptions, add: AddIssue): LocalAccount | undefined {
  if ((privateKey === undefined) === (account === undefined)) {
    add("privateKey", "either privateKey or account", privateKey === undefined ? "neither" : "both");
    return undefined;
  }
  if (privateKey === undefined) return account;
  try {
    return privateKeyToAccount(privateKey);
  } catch {
    add("privateKey", "a key: 0x and 64 hex digits", "something else");
    return undefined;
  }
}

function parseNumber(key: keyof typeof RANGES, value: unknown, add: AddIssue): number {
  const { least, most, usual } = RANGES[key];
  if (value === undefined) return usual;
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  add(key, `a whole number from ${least} to ${most}`, String(value));
  return usual;
}

function isHttpUrl(value: unknown): boolean {
  return typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}
