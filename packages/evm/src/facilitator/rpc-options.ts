/**
 * Options of a chain over JSON-RPC, checked once.
 *
 * @module
 */
import { ConfigError, createIssues, type Issues } from "@farebox/core";
import { createPublicClient, http, type PublicClient } from "viem";
import { type LocalAccount, privateKeyToAccount } from "viem/accounts";
import { isAddressShaped } from "../address.js";
import { type ParsedSponsoring, parseSponsoring, type SponsoringOptions } from "./sponsoring-options.js";

/** How to reach a chain, and who sends transactions. */
export interface RpcChainOptions {
  /** CAIP-2, e.g. `eip155:84532`. */
  readonly network: `eip155:${number}`;
  /** http or https; a name and password in it become a header. */
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
  /** How long one question to the node may take, 100 to 60000 ms. Default 5000. */
  readonly requestTimeoutMs?: number;
  /** How far back to look for a transfer that was made before, 1 to 1000000 blocks. Default 9000. */
  readonly lookbackBlocks?: number;
  /** Gas that one transfer may take, 50000 to 100000000. Default 2000000; USDC takes some 100000. */
  readonly maxGas?: number;
  /** Carries out approvals for Permit2 that payers have signed as transactions. Default: it does not. */
  readonly sponsoring?: SponsoringOptions;
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
  readonly pollingIntervalMs: number;
  readonly receiptTimeoutMs: number;
  readonly lookbackBlocks: number;
  readonly maxGas: bigint;
  readonly sponsoring: ParsedSponsoring | undefined;
}

const RANGES = {
  confirmations: { least: 1, most: 1_000, usual: 1 },
  pollingIntervalMs: { least: 10, most: 60_000, usual: 1_000 },
  receiptTimeoutMs: { least: 100, most: 600_000, usual: 25_000 },
  requestTimeoutMs: { least: 100, most: 60_000, usual: 5_000 },
  lookbackBlocks: { least: 1, most: 1_000_000, usual: 9_000 },
  maxGas: { least: 50_000, most: 100_000_000, usual: 2_000_000 },
} as const;

const KEYS = ["network", "rpcUrl", "privateKey", "account", "sponsoring", ...Object.keys(RANGES)];

const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/;

/**
 * Questions that move nothing are asked again when they fail, once, for a seller waits 5 s for a verification. What is
 * done about a transaction is in `broadcast.ts`.
 */
const RETRIES = 1;

/** Checks the options. @throws ConfigError with every issue at once; neither the key nor the URL is ever quoted. */
export function parseRpcOptions(options: RpcChainOptions): ParsedRpcOptions {
  const issues = createIssues();
  issues.checkKeys("options", options, KEYS);
  const chainId = parseChainId(options.network, issues);
  if (!isHttpUrl(options.rpcUrl)) issues.addText("options.rpcUrl", "an http or https URL", "something else");
  const parsed = {
    confirmations: parseNumber("confirmations", options, issues),
    pollingIntervalMs: parseNumber("pollingIntervalMs", options, issues),
    receiptTimeoutMs: parseNumber("receiptTimeoutMs", options, issues),
    lookbackBlocks: parseNumber("lookbackBlocks", options, issues),
    maxGas: BigInt(parseNumber("maxGas", options, issues)),
    sponsoring: parseSponsoring(options.sponsoring, issues),
  };
  const timeout = parseNumber("requestTimeoutMs", options, issues);
  const account = parseAccount(options, issues);
  if (account === undefined || issues.found.length > 0) throw new ConfigError(issues.found);
  const transport = http(options.rpcUrl, { timeout, retryCount: RETRIES });
  const client = createPublicClient({ transport, cacheTime: 0 });
  return Object.freeze({ network: options.network, chainId, client, account, ...parsed });
}

function parseChainId(network: unknown, issues: Issues): number {
  const chainId = typeof network === "string" ? /^eip155:([1-9]\d{0,14})$/.exec(network)?.[1] : undefined;
  if (chainId === undefined) issues.addOutline("options.network", 'a CAIP-2 network such as "eip155:84532"', network);
  return Number(chainId);
}

function parseAccount({ privateKey, account }: RpcChainOptions, issues: Issues): LocalAccount | undefined {
  if ((privateKey === undefined) === (account === undefined)) {
    issues.addText("options.privateKey", "either privateKey or account", privateKey === undefined ? "neither" : "both");
  } else if (account !== undefined) {
    if (isSigningAccount(account)) return account;
    issues.addText("options.account", "an account with an address and signTransaction", "something else");
  } else if (typeof privateKey === "string" && PRIVATE_KEY.test(privateKey)) {
    try {
      return privateKeyToAccount(privateKey);
    } catch {
      issues.addText("options.privateKey", "a key above zero and below the order of secp256k1", "something else");
    }
  } else {
    issues.addText("options.privateKey", "a key: 0x and 64 hex digits", "something else");
  }
  return undefined;
}

function isSigningAccount(account: unknown): account is LocalAccount {
  if (typeof account !== "object" || account === null) return false;
  return "address" in account && isAddressShaped(account.address) && "signTransaction" in account;
}

function parseNumber(key: keyof typeof RANGES, options: RpcChainOptions, issues: Issues): number {
  return issues.readNumber(`options.${key}`, options[key], RANGES[key]);
}

function isHttpUrl(value: unknown): boolean {
  return typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}
