/**
 * Reads the settings of the bridge from its environment. Reports all problems at once, and never quotes a key.
 *
 * @module
 */
import { homedir } from "node:os";
import { join } from "node:path";
import type { KeyPairSigner } from "@solana/kit";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Dollars, parseDollars } from "./budget.js";
import { type EndpointPlace, isLocalHost, readPlaces } from "./endpoint.js";

/** The wallets, the limits, and what may be bought. */
export interface Settings {
  readonly endpoints: readonly EndpointPlace[];
  readonly catalog: URL | undefined;
  readonly evm: PrivateKeyAccount | undefined;
  readonly svm: KeyPairSigner | undefined;
  /** A Solana node. Default: the one of the client library for the network. */
  readonly svmRpcUrl: string | undefined;
  readonly maxPerCall: Dollars;
  readonly maxTotal: Dollars;
  /** EVM addresses in lower case. `undefined`: any payee. */
  readonly allowedPayees: ReadonlySet<string> | undefined;
  readonly budgetFile: string;
  readonly timeoutSeconds: number;
  /** Replaces the keys, in any letter case, and the URL of a node, which may hold one. */
  redact(text: string): string;
}

/** Wrong settings, one line each. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

const DOLLARS = 'a positive amount of dollars such as "0.10"';

/**
 * Reads the environment.
 *
 * @throws SettingsError with all problems
 */
export async function readSettings(env: NodeJS.ProcessEnv): Promise<Settings> {
  const problems: string[] = [];
  const read = async <T>(name: string, must: string, parse: (text: string) => T | Promise<T>, otherwise = "") => {
    const given = env[name];
    // An empty variable counts as absent, but an empty limit is a mistake.
    const isAbsent = given === undefined || (given === "" && !LIMITS.has(name));
    if (isAbsent && otherwise === "") return undefined;
    try {
      return await parse(isAbsent ? otherwise : given);
    } catch {
      // The error may quote the key, so nothing of it is passed on.
      problems.push(`${name} must be ${must}`);
      return undefined;
    }
  };
  const evm = await read("EVM_PRIVATE_KEY", "0x and 64 hexadecimal digits", parseEvmKey);
  const svm = await read("SVM_PRIVATE_KEY", "the 64 bytes of a key pair in base58", parseSvmKey);
  const svmRpcUrl = await read("SVM_RPC_URL", "an http or https URL", (text) => parseUrl(text, true).href);
  const catalog = await read("CATALOG_URL", "an https URL, or an http URL of this machine", parseCatalogUrl);
  // A bridge to a catalog needs no endpoint of its own.
  const isCatalogOnly = Boolean(env["CATALOG_URL"]) && !env["RESOURCE_SERVER_URL"] && !env["ENDPOINT_PATH"];
  const base = await read("RESOURCE_SERVER_URL", "an http or https URL", (text) => parseUrl(text), DEFAULTS.url);
  const listed = isCatalogOnly ? "" : DEFAULTS.path;
  const endpoints = await read(
    "ENDPOINT_PATH",
    PATHS,
    (text) => readPlaces(base ?? new URL(DEFAULTS.url), text),
    listed,
  );
  const maxPerCall = await read("MAX_PER_CALL", DOLLARS, parseDollars, DEFAULTS.perCall);
  const maxTotal = await read("MAX_TOTAL", DOLLARS, parseDollars, DEFAULTS.total);
  const allowedPayees = await read("ALLOWED_PAYEES", "addresses with commas between them", parsePayees);
  const budgetFile = await read(
    "BUDGET_FILE",
    "the path of a file",
    parseFile,
    join(homedir(), ".farebox-bridge-budget"),
  );
  const timeoutSeconds = await read("CALL_TIMEOUT_SECONDS", "a whole number from 1 to 300", parseSeconds, "45");
  if (!env["EVM_PRIVATE_KEY"] && !env["SVM_PRIVATE_KEY"]) {
    problems.push("at least one of EVM_PRIVATE_KEY and SVM_PRIVATE_KEY must be provided");
  }
  if (problems.length > 0) throw new SettingsError(problems.join("\n"));
  const evmKey = env["EVM_PRIVATE_KEY"] ?? "";
  // The URL of a node may hold a key, unless it is an origin alone.
  const nodes = svmRpcUrl === undefined || svmRpcUrl === `${new URL(svmRpcUrl).origin}/` ? [] : [svmRpcUrl];
  const texts = [evmKey, evmKey.slice(2), env["SVM_PRIVATE_KEY"] ?? "", ...nodes].filter((text) => text !== "");
  const secrets = new RegExp(texts.map((text) => text.replaceAll(/[^\w]/g, "\\$&")).join("|"), "gi");
  return {
    endpoints: endpoints ?? [],
    ...{ catalog, evm, svm, svmRpcUrl, allowedPayees },
    maxPerCall: maxPerCall!,
    maxTotal: maxTotal!,
    budgetFile: budgetFile!,
    timeoutSeconds: timeoutSeconds!,
    redact: (text) => text.replaceAll(secrets, "…"),
  };
}

const LIMITS = new Set(["MAX_PER_CALL", "MAX_TOTAL", "ALLOWED_PAYEES", "BUDGET_FILE", "CALL_TIMEOUT_SECONDS"]);
const DEFAULTS = { url: "http://localhost:4021", path: "/weather", perCall: "0.10", total: "5" };
const PATHS = 'paths such as "/weather" or "GET /weather/:city, POST /notes", each once';

function parseEvmKey(text: string): PrivateKeyAccount {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new SettingsError("not a key");
  return privateKeyToAccount(text as `0x${string}`);
}

/** The library is loaded only where there is such a key. */
async function parseSvmKey(text: string): Promise<KeyPairSigner> {
  const { createKeyPairSignerFromBytes, getBase58Encoder } = await import("@solana/kit");
  return createKeyPairSignerFromBytes(getBase58Encoder().encode(text));
}

/** The key of a node is often in the query of its URL. */
function parseUrl(text: string, mayHaveQuery = false): URL {
  const url = new URL(text);
  const isPlain = (mayHaveQuery || url.search === "") && url.hash === "" && url.username === "" && url.password === "";
  if (!/^https?:$/.test(url.protocol) || !isPlain) throw new SettingsError("not such a URL");
  return url;
}

function parseCatalogUrl(text: string): URL {
  const url = parseUrl(text);
  if (url.protocol !== "https:" && !isLocalHost(url)) throw new SettingsError("not https");
  return url;
}

function parsePayees(text: string): ReadonlySet<string> {
  return new Set(text.split(",").map((part) => parsePayee(part.trim())));
}

function parsePayee(text: string): string {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase();
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) throw new SettingsError("not an address");
  return text;
}

function parseFile(text: string): string {
  if (text.trim() === "" || text.includes("\0") || /[\\/]$/.test(text)) throw new SettingsError("not a file");
  return text;
}

function parseSeconds(text: string): number {
  const isWhole = /^[1-9]\d{0,2}$/.test(text) && Number(text) <= 300;
  if (!isWhole) throw new SettingsError("not such a number");
  return Number(text);
}
