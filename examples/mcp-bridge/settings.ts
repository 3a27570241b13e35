/**
 * Reads the settings of the bridge from its environment. Reports all problems at once, and never quotes a key.
 *
 * @module
 */
import { createKeyPairSignerFromBytes, getBase58Encoder, type KeyPairSigner } from "@solana/kit";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";

/** The wallets and the endpoint. */
export interface Settings {
  readonly endpoint: URL;
  readonly evm: PrivateKeyAccount | undefined;
  readonly svm: KeyPairSigner | undefined;
  /** A Solana node. Default: the one of the client library for the network. */
  readonly svmRpcUrl: string | undefined;
}

/** Wrong settings, one line each. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/**
 * Reads the environment.
 *
 * @throws SettingsError with all problems
 */
export async function readSettings(env: NodeJS.ProcessEnv): Promise<Settings> {
  const problems: string[] = [];
  const read = async <T>(name: string, must: string, parse: (text: string) => T | Promise<T>, otherwise = "") => {
    // An empty variable counts as absent.
    const text = env[name] || otherwise;
    if (text === "") return undefined;
    try {
      return await parse(text);
    } catch {
      // The error may quote the key, so nothing of it is passed on.
      problems.push(`${name} must be ${must}`);
      return undefined;
    }
  };
  const evm = await read("EVM_PRIVATE_KEY", "0x and 64 hexadecimal digits", parseEvmKey);
  const svm = await read("SVM_PRIVATE_KEY", "the 64 bytes of a key pair in base58", parseSvmKey);
  const svmRpcUrl = await read("SVM_RPC_URL", "an http or https URL", (text) => parseUrl(text).href);
  const base = await read("RESOURCE_SERVER_URL", "an http or https URL", parseUrl, "http://localhost:4021");
  const path = await read("ENDPOINT_PATH", "a path that begins with one slash", parsePath, "/weather");
  if (!env["EVM_PRIVATE_KEY"] && !env["SVM_PRIVATE_KEY"]) {
    problems.push("at least one of EVM_PRIVATE_KEY and SVM_PRIVATE_KEY must be provided");
  }
  if (problems.length > 0 || base === undefined || path === undefined) throw new SettingsError(problems.join("\n"));
  const endpoint = new URL(base.href.replace(/\/$/, "") + path);
  return { endpoint, evm, svm, svmRpcUrl };
}

function parseEvmKey(text: string): PrivateKeyAccount {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new SettingsError("not a key");
  return privateKeyToAccount(text as `0x${string}`);
}

function parseSvmKey(text: string): Promise<KeyPairSigner> {
  return createKeyPairSignerFromBytes(getBase58Encoder().encode(text));
}

function parseUrl(text: string): URL {
  const url = new URL(text);
  const isPlain = url.search === "" && url.hash === "" && url.username === "" && url.password === "";
  if (!/^https?:$/.test(url.protocol) || !isPlain) throw new SettingsError("not such a URL");
  return url;
}

function parsePath(text: string): string {
  if (!/^\/(?!\/)/.test(text) || new URL(text, "http://host").host !== "host") throw new SettingsError("not a path");
  return text;
}
