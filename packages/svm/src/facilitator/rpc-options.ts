/**
 * The options of a chain over JSON-RPC, checked once.
 *
 * @module
 */
import { ConfigError, createRpcNode, type RpcNode } from "@farebox/core";
import { CHAIN_TIMES, type ChainTimes, readChainTimes, readSigner } from "@farebox/core/facilitator";
import { createIssues, type Issues } from "@farebox/core/issues";
import { isSvmNetwork, type SvmNetwork } from "../networks.js";
import { MESSAGE_SIGNER, type MessageSigner } from "./signer.js";

/** A node of the chain, and the account that pays for transactions. */
export interface RpcSvmChainOptions {
  /** CAIP-2, e.g. `solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1`. */
  readonly network: `solana:${string}`;
  /** http or https, without a name and password. */
  readonly rpcUrl: string;
  /** 64 bytes, in base58 or as in a key file. Either this or `signer`. The key pays for transactions, never for payments. */
  readonly privateKey?: string | Uint8Array | readonly number[];
  /** A signer of messages, e.g. with its key in a vault. Either this or `privateKey`. */
  readonly signer?: MessageSigner;
  /** The depth from which a transaction counts. Default `confirmed`: two thirds of the stake have voted for it. */
  readonly commitment?: "confirmed" | "finalized";
  /** How often to look for a transaction, 10 to 60000 ms. Default 500. */
  readonly pollingIntervalMs?: number;
  /** How long to wait for a transaction, 100 to 600000 ms. Default 25000, below a seller's deadline of 30 s. */
  readonly confirmTimeoutMs?: number;
  /** How long one request to the node may take, 100 to 60000 ms. Default 5000. */
  readonly requestTimeoutMs?: number;
}

/** The options, checked. */
export interface ParsedRpcOptions {
  readonly network: SvmNetwork;
  readonly rpc: RpcNode;
  readonly signer: MessageSigner;
  readonly commitment: "confirmed" | "finalized";
  readonly times: ChainTimes;
}

const KEYS = ["network", "rpcUrl", "privateKey", "signer", "commitment", ...CHAIN_TIMES];

/** Checks the options. @throws ConfigError with every issue at once; neither the key nor the URL is ever quoted. */
export function parseRpcOptions(options: RpcSvmChainOptions): ParsedRpcOptions {
  const issues = createIssues();
  issues.checkKeys("options", options, KEYS);
  const { network, commitment = "confirmed" } = options;
  if (!isSvmNetwork(network)) {
    const expected = 'a CAIP-2 network such as "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"';
    issues.addOutline("options.network", expected, network);
  }
  if (commitment !== "confirmed" && commitment !== "finalized") {
    issues.addText("options.commitment", '"confirmed" or "finalized"', "something else");
  }
  const times = readChainTimes(options, { usualPollingMs: 500, issues });
  const rpc = parseUrl(options.rpcUrl, times.requestTimeoutMs, issues);
  const signer = readSigner(options, MESSAGE_SIGNER, issues);
  if (rpc === undefined || signer === undefined || issues.found.length > 0) throw new ConfigError(issues.found);
  return Object.freeze({ network, rpc, signer, commitment, times });
}

function parseUrl(rpcUrl: string, deadlineMs: number, issues: Issues): RpcNode | undefined {
  try {
    return createRpcNode(rpcUrl, { deadlineMs });
  } catch {
    issues.addText("options.rpcUrl", "an http or https URL without a name and password", "something else");
    return undefined;
  }
}
