import { ConfigError } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { encodeBase58 } from "../address.js";
import { keypair, NETWORK } from "../payments.fixture.js";
import { createRpcSvmChain } from "./rpc-chain.js";
import { parseRpcOptions, type RpcSvmChainOptions } from "./rpc-options.js";
import { createExactSvmScheme } from "./scheme.js";
import { signAs } from "./signer.js";

const { secretKey, publicKey } = keypair(5);
const OPTIONS: RpcSvmChainOptions = { network: NETWORK, rpcUrl: "https://rpc.example/", privateKey: secretKey };

function issuesOf(change: object): readonly string[] {
  try {
    parseRpcOptions({ ...OPTIONS, ...change });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, expected, received }) => `${path}: ${expected}, not ${received}`);
  }
}

describe("a key", () => {
  test.each<[form: string, privateKey: unknown]>([
    ["base58", encodeBase58(secretKey)],
    ["bytes", secretKey],
    ["a key file's list", [...secretKey]],
  ])("a key in %s makes its address the fee payer", (_, privateKey) => {
    expect(createRpcSvmChain({ ...OPTIONS, privateKey: privateKey as string }).feePayer).toBe(publicKey.toBase58());
  });

  test("a signer makes its address the fee payer, and must sign with that key", async () => {
    const signer = { address: publicKey.toBase58(), signMessage: async () => new Uint8Array(64) };
    const { privateKey: _, ...rest } = OPTIONS;
    expect(createRpcSvmChain({ ...rest, signer }).feePayer).toBe(signer.address);
    await expect(signAs(signer, Buffer.from("x"))).rejects.toMatchObject({ code: "ERR_FAREBOX_CHAIN" });
  });

  test.each<[what: string, privateKey: unknown]>([
    ["a seed alone", encodeBase58(secretKey.subarray(0, 32))],
    [
      "halves that do not match",
      encodeBase58(Buffer.concat([secretKey.subarray(0, 32), keypair(6).publicKey.toBuffer()])),
    ],
    ["hex", Buffer.from(secretKey).toString("hex")],
    ["a list with a number that is not a byte", [...secretKey.subarray(0, 63), 256]],
    ["an object", { ...secretKey }],
    ["a number", 7],
  ])("a key is refused and not quoted: %s", (_, privateKey) => {
    const [issue, ...more] = issuesOf({ privateKey });
    expect(more).toEqual([]);
    expect(issue).toMatch(/^options\.privateKey: a key of 64 bytes.*, not something else$/);
  });
});

test.each<[change: object, issue: string]>([
  [{ privateKey: undefined }, "options.privateKey: either privateKey or signer, not neither"],
  [{ signer: {} }, "options.privateKey: either privateKey or signer, not both"],
  [{ privateKey: undefined, signer: { address: "x" } }, "options.signer: a signer with an address and signMessage"],
  [{ network: "solana:devnet" }, "options.network: a CAIP-2 network"],
  [{ network: "eip155:1" }, "options.network: a CAIP-2 network"],
  [{ rpcUrl: "ws://rpc.example" }, "options.rpcUrl: an http or https URL"],
  [{ rpcUrl: "https://user:secret@rpc.example" }, "options.rpcUrl: an http or https URL"],
  [{ commitment: "processed" }, 'options.commitment: "confirmed" or "finalized"'],
  [{ pollingIntervalMs: 9 }, "options.pollingIntervalMs: a whole number from 10 to 60000"],
  [{ confirmTimeoutMs: "1" }, "options.confirmTimeoutMs: a whole number from 100 to 600000"],
  [{ requestTimeoutMs: Number.NaN }, "options.requestTimeoutMs: a whole number"],
  [{ url: "x" }, "options.url: one of the keys"],
])("options with %j are refused: %s", (change, issue) => {
  const issues = issuesOf(change);
  expect(issues).toEqual([expect.stringContaining(issue)]);
  expect(issues.join()).not.toContain("secret");
});

test("options with five faults have five issues", () => {
  expect(issuesOf({ network: 1, rpcUrl: 2, privateKey: 3, commitment: 4, pollingIntervalMs: 5 })).toHaveLength(5);
});

test.each<[options: object, path: string]>([
  [{}, "options.chain"],
  [{ chain: null }, "options.chain"],
  [{ chain: createRpcSvmChain(OPTIONS), now: 1 }, "options.now"],
  [{ chain: createRpcSvmChain(OPTIONS), maxPriorityFeeLamports: -1 }, "options.maxPriorityFeeLamports"],
  [{ chain: createRpcSvmChain(OPTIONS), maxPriorityFeeLamports: 7_000_001 }, "options.maxPriorityFeeLamports"],
  [{ chain: createRpcSvmChain(OPTIONS), fee: 1 }, "options.fee"],
])("a scheme with %# is refused for %s", (options, path) => {
  expect(() => createExactSvmScheme(options as never)).toThrow(path);
});
