/**
 * The options of a chain over JSON-RPC, checked once.
 *
 * @module
 */
import { ConfigError } from "@farebox/core";
import { createIssues, type Issues } from "@farebox/core/issues";
import { createPublicClient, http, type PublicClient } from "viem";
import { type LocalAccount, privateKeyToAccount } from "viem/accounts";
import { isAddressShaped } from "../address.js";
import type { Address } from "./chain.js";

/** A node of the chain, and the account that sends transactions. */
export interface RpcChainOptions {
  /** CAIP-2, e.g. `eip155:84532`. */
  readonly network: `eip155:${number}`;
  /** An http or https URL. A name and password in it become a header. */
  readonly rpcUrl: string;
  /** 32 bytes. Either this or `account`. The key pays for gas, never for payments. */
  readonly privateKey?: `0x${string}`;
  /** An account that signs transactions, e.g. one with its key in a vault. Either this or `privateKey`. */
  readonly account?: LocalAccount;
  /** Number of blocks, from the transaction's own on, until a transaction counts, 1 to 1000. Default 1. */
  readonly confirmations?: number;
  /** How often to look for a receipt, 10 to 60000 ms. Default 1000. */
  readonly pollingIntervalMs?: number;
  /** How long to wait for a receipt, 100 to 600000 ms. Default 25000, below a seller's deadline of 30 s. */
  readonly receiptTimeoutMs?: number;
  /** How long one request to the node may take, 100 to 60000 ms. Default 5000. */
  readonly requestTimeoutMs?: number;
  /** How many blocks to search for an earlier transfer, 1 to 1000000. Default 9000. */
  readonly lookbackBlocks?: number;
  /** Gas that one transfer may take, 50000 to 100000000. Default 2000000; USDC takes some 100000. */
  readonly maxGas?: number;
  /** Carries out approvals for Permit2 that payers have signed as transactions. Default: no such approvals. */
  readonly sponsoring?: SponsoringOptions;
}

/**
 * Limits on sponsoring approvals that payers have signed as transactions (extension `erc20ApprovalGasSponsoring`). A payer
 * keeps the coin that it did not use, and a quick one can keep it all. So the facilitator loses at most this much to payers.
 */
export interface SponsoringOptions {
  /** The most that one payer is given within an hour, in wei. `0n`: nothing, so payers pay for the gas. */
  readonly maxGrantWei: bigint;
  /** The most that all payers are given within an hour, in wei, including the gas for the transfers. */
  readonly maxGrantWeiPerHour: bigint;
  /** Tokens whose approvals are carried out. Default: any. */
  readonly assets?: readonly Address[];
}

/** Asks the node. */
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

/** The options of sponsoring, checked. */
export interface ParsedSponsoring {
  readonly maxGrantWei: bigint;
  readonly maxGrantWeiPerHour: bigint;
  /** In lower case; `undefined`: any. */
  readonly assets: ReadonlySet<string> | undefined;
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
 * Requests that move no money are repeated once when they fail, because a seller waits only 5 s for a verification.
 * `broadcast` in `sender.ts` repeats transactions.
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

/** The result counts only if nothing was added to `issues`. */
function parseSponsoring(options: unknown, issues: Issues): ParsedSponsoring | undefined {
  if (options === undefined) return undefined;
  const path = "options.sponsoring";
  if (!issues.checkKeys(path, options, ["maxGrantWei", "maxGrantWeiPerHour", "assets"])) return undefined;
  const { maxGrantWei, maxGrantWeiPerHour, assets } = options;
  return {
    maxGrantWei: parseWei(maxGrantWei, `${path}.maxGrantWei`, issues),
    maxGrantWeiPerHour: parseWei(maxGrantWeiPerHour, `${path}.maxGrantWeiPerHour`, issues),
    assets: parseAssets(assets, `${path}.assets`, issues),
  };
}

function parseWei(value: unknown, path: string, issues: Issues): bigint {
  if (typeof value === "bigint" && value >= 0n) return value;
  const received = typeof value === "bigint" ? "a negative one" : typeof value;
  issues.addText(path, "wei as a bigint that is not negative, such as 10n ** 14n", received);
  return 0n;
}

function parseAssets(assets: unknown, path: string, issues: Issues): ReadonlySet<string> | undefined {
  if (assets === undefined) return undefined;
  if (Array.isArray(assets) && assets.every(isAddressShaped)) {
    return new Set(assets.map((asset) => asset.toLowerCase()));
  }
  issues.addText(path, "a list of token addresses", "something else");
  return undefined;
}
