import { ConfigError } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { account, base64, NETWORK } from "../payments.fixture.js";
import { createAlgodChain } from "./rpc-chain.js";
import { type AlgodChainOptions, parseAlgodOptions } from "./rpc-options.js";
import { createExactAvmScheme } from "./scheme.js";
import { signAs } from "./signer.js";

const { sk, addr } = account(5);
const OPTIONS: AlgodChainOptions = { network: NETWORK, algodUrl: "https://algod.example/", privateKey: sk };

function issuesOf(change: object): readonly string[] {
  try {
    parseAlgodOptions({ ...OPTIONS, ...change });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, expected, received }) => `${path}: ${expected}, not ${received}`);
  }
}

describe("a key", () => {
  test.each<[form: string, privateKey: unknown]>([
    ["base64", base64(sk)],
    ["bytes", sk],
  ])("a key in %s makes its address the fee payer", (_, privateKey) => {
    expect(createAlgodChain({ ...OPTIONS, privateKey: privateKey as string }).feePayer).toBe(addr.toString());
  });

  test("a signer makes its address the fee payer, and must sign with that key", async () => {
    const signer = { address: addr.toString(), signBytes: async () => new Uint8Array(64) };
    const { privateKey: _, ...rest } = OPTIONS;
    expect(createAlgodChain({ ...rest, signer }).feePayer).toBe(signer.address);
    await expect(signAs(signer, Buffer.from("x"))).rejects.toMatchObject({ code: "ERR_FAREBOX_CHAIN" });
  });

  test.each<[what: string, privateKey: unknown]>([
    ["a seed alone", base64(sk.subarray(0, 32))],
    ["halves that do not match", base64(Buffer.concat([sk.subarray(0, 32), account(6).addr.publicKey]))],
    ["hex", Buffer.from(sk).toString("hex")],
    ["a mnemonic", "abandon ".repeat(25)],
    ["a list", [...sk]],
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
  [{ privateKey: undefined, signer: { address: "x" } }, "options.signer: a signer with an address and signBytes"],
  [{ network: "algorand:testnet" }, "options.network: a CAIP-2 network"],
  [{ network: "eip155:1" }, "options.network: a CAIP-2 network"],
  [{ algodUrl: "ws://algod.example" }, "options.algodUrl: an http or https URL"],
  [{ algodUrl: "https://user:secret@algod.example" }, "options.algodUrl: an http or https URL"],
  [{ algodUrl: "https://algod.example/?token=secret" }, "options.algodUrl: an http or https URL"],
  [{ token: "secret\n" }, "options.token: a text of printable characters"],
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
  expect(issuesOf({ network: 1, algodUrl: 2, privateKey: 3, token: 4, pollingIntervalMs: 5 })).toHaveLength(5);
});

test.each<[options: object, path: string]>([
  [{}, "options.chain"],
  [{ chain: null }, "options.chain"],
  [{ chain: createAlgodChain(OPTIONS), now: 1 }, "options.now"],
  [{ chain: createAlgodChain(OPTIONS), maxFeeMicroAlgos: -1 }, "options.maxFeeMicroAlgos"],
  [{ chain: createAlgodChain(OPTIONS), maxFeeMicroAlgos: 1_000_001 }, "options.maxFeeMicroAlgos"],
  [{ chain: createAlgodChain(OPTIONS), fee: 1 }, "options.fee"],
])("a scheme with %# is refused for %s", (options, path) => {
  expect(() => createExactAvmScheme(options as never)).toThrow(path);
});
