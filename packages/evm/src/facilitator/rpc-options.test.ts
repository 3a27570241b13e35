import { inspect } from "node:util";
import { ConfigError } from "@farebox/core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { createRpcChain } from "./rpc-chain.js";
import { parseRpcOptions, type RpcChainOptions } from "./rpc-options.js";
import { createExactEvmScheme } from "./schemes.js";

const privateKey = generatePrivateKey();
const GOOD: RpcChainOptions = { network: "eip155:84532", rpcUrl: "http://127.0.0.1:1/v3/path-key", privateKey };

/** The issues of options, each as `path: expected`. */
function issuesOf(create: () => unknown): readonly string[] {
  try {
    create();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    const shown = inspect(error, { depth: 10 });
    for (const secret of [privateKey.slice(2), "path-key"]) expect(shown).not.toContain(secret);
    return (error as ConfigError).issues.map(({ path, expected, received }) => `${path}: ${expected}, not ${received}`);
  }
  return [];
}

const withOption = (option: object) => () => createRpcChain({ ...GOOD, ...option } as RpcChainOptions);

describe("options of a chain", () => {
  test("createRpcChain fills in defaults", () => {
    const { client: _client, account, ...rest } = parseRpcOptions(GOOD);
    expect(rest).toEqual({
      network: "eip155:84532",
      chainId: 84532,
      confirmations: 1,
      pollingIntervalMs: 1_000,
      receiptTimeoutMs: 25_000,
      lookbackBlocks: 9_000,
      maxGas: 2_000_000n,
    });
    expect(account.address).toBe(privateKeyToAccount(privateKey).address);
    expect(createRpcChain(GOOD)).toMatchObject({ network: "eip155:84532", signers: [account.address] });
  });

  test("createRpcChain names all wrong options at once", () => {
    const wrong = {
      network: "base",
      rpcUrl: "ftp://127.0.0.1",
      privateKey: "0x12",
      confirmations: 0,
      pollingIntervalMs: "1000",
      receiptTimeoutMs: 99,
      requestTimeoutMs: 1.5,
      lookbackBlocks: 1_000_001,
      maxGas: Number.NaN,
      sponsoring: { maxGrantWei: 5, maxGrantWeiPerHour: -1n, assets: ["0x1"] },
      privatekey: privateKey,
    };
    expect(issuesOf(() => createRpcChain(wrong as unknown as RpcChainOptions))).toMatchInlineSnapshot(`
      [
        "options.privatekey: a known key: did you mean privateKey? Known: network, rpcUrl, account, sponsoring, confirmations and 5 more, not an unknown key",
        "options.network: a CAIP-2 network such as "eip155:84532", not "base"",
        "options.rpcUrl: an http or https URL, not something else",
        "options.confirmations: a whole number from 1 to 1000, not 0",
        "options.pollingIntervalMs: a whole number from 10 to 60000, not "1000"",
        "options.receiptTimeoutMs: a whole number from 100 to 600000, not 99",
        "options.lookbackBlocks: a whole number from 1 to 1000000, not 1000001",
        "options.maxGas: a whole number from 50000 to 100000000, not NaN",
        "options.sponsoring.maxGrantWei: wei as a bigint that is not negative, such as 10n ** 14n, not number",
        "options.sponsoring.maxGrantWeiPerHour: wei as a bigint that is not negative, such as 10n ** 14n, not a negative one",
        "options.sponsoring.assets: a list of token addresses, not something else",
        "options.requestTimeoutMs: a whole number from 100 to 60000, not 1.5",
        "options.privateKey: a key: 0x and 64 hex digits, not something else",
      ]
    `);
  });

  const WRONG: readonly { readonly why: string; readonly option: object; readonly says: string }[] = [
    { why: "no network", option: { network: undefined }, says: "options.network" },
    { why: "a network that is a number", option: { network: 84532n }, says: "options.network" },
    { why: "a network with a leading zero", option: { network: "eip155:01" }, says: "options.network" },
    { why: "a pattern of networks", option: { network: "eip155:*" }, says: "options.network" },
    { why: "another family of networks", option: { network: "solana:mainnet" }, says: "options.network" },
    { why: "a key for a network", option: { network: privateKey }, says: "not a text of 66 characters" },
    { why: "no URL", option: { rpcUrl: undefined }, says: "options.rpcUrl" },
    { why: "a host and port without a scheme", option: { rpcUrl: "localhost:8545" }, says: "options.rpcUrl" },
    { why: "a key for a URL", option: { rpcUrl: privateKey }, says: "options.rpcUrl" },
    { why: "no key", option: { privateKey: undefined }, says: "not neither" },
    { why: "a key and an account", option: { account: privateKeyToAccount(privateKey) }, says: "not both" },
    { why: "a key without 0x", option: { privateKey: privateKey.slice(2) }, says: "64 hex digits" },
    { why: "a key that is zero", option: { privateKey: `0x${"0".repeat(64)}` }, says: "a key above zero" },
    { why: "a key that is too large", option: { privateKey: `0x${"f".repeat(64)}` }, says: "a key above zero" },
    { why: "a key in bytes", option: { privateKey: new Uint8Array(32) }, says: "64 hex digits" },
    {
      why: "an account that is an address",
      option: { privateKey: undefined, account: `0x${"1".repeat(40)}` },
      says: "options.account",
    },
    {
      why: "an account that cannot sign",
      option: { privateKey: undefined, account: { address: `0x${"1".repeat(40)}` } },
      says: "options.account",
    },
    { why: "a key for a number", option: { maxGas: privateKey }, says: "not a text of 66 characters" },
    { why: "a key in an object for a number", option: { maxGas: { privateKey } }, says: "not {}" },
    { why: "a key in a list for a network", option: { network: [privateKey] }, says: "not []" },
    { why: "a number that is not finite", option: { confirmations: Number.POSITIVE_INFINITY }, says: "not Infinity" },
    { why: "an object for a number", option: { confirmations: Object.create(null) }, says: "not {}" },
    { why: "an unknown key", option: { confirmation: 1 }, says: "options.confirmation" },
  ];

  test.each(WRONG)("createRpcChain refuses $why", ({ option, says }) => {
    const issues = issuesOf(withOption(option));
    expect(issues).toHaveLength(1);
    expect(issues[0]).toContain(says);
  });

  test("createRpcChain accepts an account in place of a key", () => {
    const account = privateKeyToAccount(privateKey);
    expect(issuesOf(withOption({ privateKey: undefined, account }))).toEqual([]);
  });
});

describe("options of the scheme", () => {
  test("createExactEvmScheme names all wrong options at once", () => {
    const wrong = { chain: undefined, now: 5, chains: [] };
    expect(issuesOf(() => createExactEvmScheme(wrong as never))).toEqual([
      "options.chains: a known key: did you mean chain? Known: now, not an unknown key",
      "options.chain: a chain, e.g. createRpcChain(…), not nothing",
      "options.now: a function that yields Unix milliseconds, not 5",
    ]);
  });
});
