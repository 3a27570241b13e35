/**
 * The options of a chain over a node's REST API, checked once.
 *
 * @module
 */
import { ConfigError } from "@farebox/core";
import { CHAIN_TIMES, type ChainTimes, readChainTimes, readSigner } from "@farebox/core/facilitator";
import { createIssues, type Issues } from "@farebox/core/issues";
import { type AvmNetwork, isAvmNetwork } from "../networks.js";
import { BYTES_SIGNER, type BytesSigner } from "./signer.js";

/** A node of the chain, and the account that pays for transactions. */
export interface AlgodChainOptions {
  /** CAIP-2 in either spelling, e.g. `algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe`. Payers and sellers see this spelling. */
  readonly network: `algorand:${string}`;
  /**
   * One node: several behind one name may have different last rounds. An http or https URL without a name, password, query or
   * fragment.
   */
  readonly algodUrl: string;
  /** Sent to the node as `X-Algo-API-Token`. Default: none. */
  readonly token?: string;
  /**
   * 64 bytes, in base64 or as bytes, e.g. `mnemonicToSecretKey(…).sk` of `algosdk`. Either this or `signer`. The key pays for
   * transactions, never for payments.
   */
  readonly privateKey?: string | Uint8Array;
  /** A signer of bytes, e.g. with its key in a vault. Either this or `privateKey`. */
  readonly signer?: BytesSigner;
  /** How often to look for a transaction, 10 to 60000 ms. Default 1000. */
  readonly pollingIntervalMs?: number;
  /** How long to wait for a transaction, 100 to 600000 ms. Default 25000, below a seller's deadline of 30 s. */
  readonly confirmTimeoutMs?: number;
  /** How long one request to the node may take, 100 to 60000 ms. Default 5000. */
  readonly requestTimeoutMs?: number;
}

/** The options, checked. */
export interface ParsedAlgodOptions {
  readonly network: AvmNetwork;
  /** Without a slash at its end. */
  readonly algodUrl: string;
  readonly token: string | undefined;
  readonly signer: BytesSigner;
  readonly times: ChainTimes;
}

const KEYS = ["network", "algodUrl", "token", "privateKey", "signer", ...CHAIN_TIMES];

/** The characters that a header may contain. */
const TOKEN = /^[\x21-\x7e]{1,1024}$/;

/** Checks the options. @throws ConfigError with every issue at once; neither key, nor token, nor URL is ever quoted. */
export function parseAlgodOptions(options: AlgodChainOptions): ParsedAlgodOptions {
  const issues = createIssues();
  issues.checkKeys("options", options, KEYS);
  const { network, token } = options;
  if (!isAvmNetwork(network)) {
    const expected = 'a CAIP-2 network such as "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe"';
    issues.addOutline("options.network", expected, network);
  }
  if (token !== undefined && (typeof token !== "string" || !TOKEN.test(token))) {
    issues.addText("options.token", "a text of printable characters without spaces", "something else");
  }
  const times = readChainTimes(options, { usualPollingMs: 1_000, issues });
  const algodUrl = parseUrl(options.algodUrl, issues);
  const signer = readSigner(options, BYTES_SIGNER, issues);
  if (algodUrl === undefined || signer === undefined || issues.found.length > 0) throw new ConfigError(issues.found);
  return Object.freeze({ network, algodUrl, token, signer, times });
}

/** The URL without a trailing slash. */
function parseUrl(value: unknown, issues: Issues): string | undefined {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (url !== undefined && isHttp && url.username + url.password + url.search + url.hash === "") {
    return url.href.replace(/\/$/, "");
  }
  const expected = "an http or https URL without a name and password, query and fragment";
  issues.addText("options.algodUrl", expected, "something else");
  return undefined;
}
