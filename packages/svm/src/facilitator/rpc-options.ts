/**
 * Options of a chain over JSON-RPC, checked once.
 *
 * @module
 */
import { ConfigError, createIssues, createRpcNode, type Issues, type RpcNode } from "@farebox/core";
import { createKeySigner, isMessageSigner, type MessageSigner } from "./signer.js";

/** How to reach a chain, and who pays for transactions. */
export interface RpcSvmChainOptions {
  /** CAIP-2, e.g. `solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1`. */
  readonly network: `solana:${string}`;
  /** http or https, without a name and password. */
  readonly rpcUrl: string;
  /** 64 bytes, in base58 or as in a key file; either this or `signer`. It pays for transactions and never for payments. */
  readonly privateKey?: string | Uint8Array | readonly number[];
  /** Something that can sign messages, e.g. with a key in a vault; either this or `privateKey`. */
  readonly signer?: MessageSigner;
  /** How deep a transaction has to be before it counts. Default `confirmed`: two thirds of the stake have voted for it. */
  readonly commitment?: "confirmed" | "finalized";
  /** How often to look for a transaction, 10 to 60000 ms. Default 500. */
  readonly pollingIntervalMs?: number;
  /** How long to wait for one, 100 to 600000 ms. Default 25000, below a seller's deadline of 30 s. */
  readonly confirmTimeoutMs?: number;
  /** How long one question to the node may take, 100 to 60000 ms. Default 5000. */
  readonly requestTimeoutMs?: number;
}

/** The options, checked. */
export interface ParsedRpcOptions {
  readonly network: `solana:${string}`;
  readonly rpc: RpcNode;
  readonly signer: MessageSigner;
  readonly commitment: "confirmed" | "finalized";
  readonly pollingIntervalMs: number;
  readonly confirmTimeoutMs: number;
}

const RANGES = {
  pollingIntervalMs: { least: 10, most: 60_000, usual: 500 },
  confirmTimeoutMs: { least: 100, most: 600_000, usual: 25_000 },
  requestTimeoutMs: { least: 100, most: 60_000, usual: 5_000 },
} as const;

const KEYS = ["network", "rpcUrl", "privateKey", "signer", "commitment", ...Object.keys(RANGES)];

const NETWORK = /^solana:[1-9A-HJ-NP-Za-km-z]{32}$/;

/** Checks the options. @throws ConfigError with every issue at once; neither the key nor the URL is ever quoted. */
export function parseRpcOptions(options: RpcSvmChainOptions): ParsedRpcOptions {
  const issues = createIssues();
  issues.checkKeys("options", options, KEYS);
  const { network, commitment = "confirmed" } = options;
  if (typeof network !== "string" || !NETWORK.test(network)) {
    const expected = 'a CAIP-2 network such as "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"';
    issues.addOutline("options.network", expected, network);
  }
  if (commitment !== "confirmed" && commitment !== "finalized") {
    issues.addText("options.commitment", '"confirmed" or "finalized"', "something else");
  }
  const deadlineMs = parseNumber("requestTimeoutMs", options, issues);
  const parsed = {
    pollingIntervalMs: parseNumber("pollingIntervalMs", options, issues),
    confirmTimeoutMs: parseNumber("confirmTimeoutMs", options, issues),
  };
  const rpc = parseUrl(options.rpcUrl, { deadlineMs, issues });
  const signer = parseSigner(options, issues);
  if (rpc === undefined || signer === undefined || issues.found.length > 0) throw new ConfigError(issues.found);
  return Object.freeze({ network, rpc, signer, commitment, ...parsed });
}

function parseUrl(
  rpcUrl: string,
  { deadlineMs, issues }: { readonly deadlineMs: number; readonly issues: Issues },
): RpcNode | undefined {
  try {
    return createRpcNode(rpcUrl, { deadlineMs });
  } catch {
    issues.addText("options.rpcUrl", "an http or https URL without a name and password", "something else");
    return undefined;
  }
}

function parseSigner({ privateKey, signer }: RpcSvmChainOptions, issues: Issues): MessageSigner | undefined {
  if ((privateKey === undefined) === (signer === undefined)) {
    issues.addText("options.privateKey", "either privateKey or signer", privateKey === undefined ? "neither" : "both");
    return undefined;
  }
  if (signer !== undefined) {
    if (isMessageSigner(signer)) return signer;
    issues.addText("options.signer", "a signer with an address and signMessage", "something else");
    return undefined;
  }
  const own = createKeySigner(privateKey);
  if (own === undefined) {
    const expected = "a key of 64 bytes, in base58 or as a list, whose second half is the address of the first";
    issues.addText("options.privateKey", expected, "something else");
  }
  return own;
}

function parseNumber(key: keyof typeof RANGES, options: RpcSvmChainOptions, issues: Issues): number {
  return issues.readNumber(`options.${key}`, options[key], RANGES[key]);
}
