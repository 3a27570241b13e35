/**
 * Options of a chain over a node's REST interface, checked once.
 *
 * @module
 */
import { ConfigError, createIssues, type Issues } from "@farebox/core";
import { type AvmNetwork, isAvmNetwork } from "../networks.js";
import { type AlgodClient, createAlgodClient } from "./algod-client.js";
import { type BytesSigner, createKeySigner, isBytesSigner } from "./signer.js";

/** How to reach a chain, and who pays for transactions. */
export interface AlgodChainOptions {
  /** CAIP-2 in either spelling, e.g. `algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe`; payers and sellers are told this one. */
  readonly network: `algorand:${string}`;
  /** One node, not several behind one name, which may know different rounds. http or https, without a name and password. */
  readonly algodUrl: string;
  /** What the node wants as `X-Algo-API-Token`, if anything. */
  readonly token?: string;
  /**
   * 64 bytes, in base64 or as bytes, e.g. `mnemonicToSecretKey(…).sk` of `algosdk`; either this or `signer`. It pays for
   * transactions and never for payments.
   */
  readonly privateKey?: string | Uint8Array;
  /** Something that can sign bytes, e.g. with a key in a vault; either this or `privateKey`. */
  readonly signer?: BytesSigner;
  /** How often to look for a transaction, 10 to 60000 ms. Default 1000. */
  readonly pollingIntervalMs?: number;
  /** How long to wait for one, 100 to 600000 ms. Default 25000, below a seller's deadline of 30 s. */
  readonly confirmTimeoutMs?: number;
  /** How long one question to the node may take, 100 to 60000 ms. Default 5000. */
  readonly requestTimeoutMs?: number;
}

/** The options, checked. */
export interface ParsedAlgodOptions {
  readonly network: AvmNetwork;
  readonly client: AlgodClient;
  readonly signer: BytesSigner;
  readonly pollingIntervalMs: number;
  readonly confirmTimeoutMs: number;
}

const RANGES = {
  pollingIntervalMs: { least: 10, most: 60_000, usual: 1_000 },
  confirmTimeoutMs: { least: 100, most: 600_000, usual: 25_000 },
  requestTimeoutMs: { least: 100, most: 60_000, usual: 5_000 },
} as const;

const KEYS = ["network", "algodUrl", "token", "privateKey", "signer", ...Object.keys(RANGES)];

/** What a header can hold. */
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
  const deadlineMs = parseNumber("requestTimeoutMs", options, issues);
  const parsed = {
    pollingIntervalMs: parseNumber("pollingIntervalMs", options, issues),
    confirmTimeoutMs: parseNumber("confirmTimeoutMs", options, issues),
  };
  const baseUrl = parseUrl(options.algodUrl, issues);
  const signer = parseSigner(options, issues);
  if (baseUrl === undefined || signer === undefined || issues.found.length > 0) throw new ConfigError(issues.found);
  return Object.freeze({ network, client: createAlgodClient({ baseUrl, token, deadlineMs }), signer, ...parsed });
}

/** Without the slash at its end. */
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

function parseSigner({ privateKey, signer }: AlgodChainOptions, issues: Issues): BytesSigner | undefined {
  if ((privateKey === undefined) === (signer === undefined)) {
    issues.addText("options.privateKey", "either privateKey or signer", privateKey === undefined ? "neither" : "both");
    return undefined;
  }
  if (signer !== undefined) {
    if (isBytesSigner(signer)) return signer;
    issues.addText("options.signer", "a signer with an address and signBytes", "something else");
    return undefined;
  }
  const own = createKeySigner(privateKey);
  if (own === undefined) {
    const expected = "a key of 64 bytes, in base64 or as bytes, whose second half is the address of the first";
    issues.addText("options.privateKey", expected, "something else");
  }
  return own;
}

function parseNumber(key: keyof typeof RANGES, options: AlgodChainOptions, issues: Issues): number {
  return issues.readNumber(`options.${key}`, options[key], RANGES[key]);
}
