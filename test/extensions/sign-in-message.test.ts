/**
 * Messages that the clients of `@x402/extensions/sign-in-with-x` sign, read and verified by us.
 *
 * @module
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { parseSIWxHeader, type SIWxPayload, validateSIWxMessage, verifySIWxSignature } from "@farebox/extensions";
import * as theirs from "@x402/extensions/sign-in-with-x";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";

const ORIGIN = new URL("https://api.example.com");
const account = privateKeyToAccount(generatePrivateKey());

/** A wallet of Solana. */
function solanaWallet() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const address = theirs.encodeBase58(Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url"));
  return {
    publicKey: address,
    signMessage: async (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey)),
  };
}

const WALLETS = [
  ["an EVM wallet", account, "eip155:8453", "eip191"],
  ["a Solana wallet", solanaWallet(), theirs.SOLANA_DEVNET, "ed25519"],
] as const;

const INFO = {
  domain: "api.example.com",
  uri: "https://api.example.com/weather?a=1",
  version: "1",
  nonce: "0123456789abcdef0123456789abcdef",
  issuedAt: new Date(Date.now() - 1000).toISOString(),
};

const FORMS = [
  ["the least", {}],
  ["a statement", { statement: "Sign in: to read" }],
  ["resources", { resources: ["https://api.example.com/weather"] }],
  [
    "every field",
    {
      statement: "Sign in",
      expirationTime: new Date(Date.now() + 60_000).toISOString(),
      notBefore: new Date(Date.now() - 60_000).toISOString(),
      requestId: "r-1",
      resources: ["https://api.example.com/weather", "https://api.example.com/more"],
    },
  ],
] as const;

const CASES = WALLETS.flatMap(([who, wallet, chainId, type]) =>
  FORMS.map(([what, fields]) => [who, what, wallet, { ...INFO, ...fields, chainId, type }] as const),
);

async function signIn(wallet: unknown, info: object): Promise<string> {
  return theirs.encodeSIWxHeader(await theirs.createSIWxPayload(info as never, wallet as never, ORIGIN));
}

test.each(CASES)("a message of %s with %s is verified", async (_who, _what, wallet, info) => {
  const header = await signIn(wallet, info);
  const payload = parseSIWxHeader(header);
  expect(payload).toEqual(theirs.parseSIWxHeader(header));
  expect(await validateSIWxMessage(payload, ORIGIN)).toEqual({ isValid: true });
  const address = wallet === account ? account.address : payload.address;
  expect(await verifySIWxSignature(payload)).toEqual({ isValid: true, payer: address });
  for (const changed of [{ nonce: `${payload.nonce}0` }, { uri: `${payload.uri}0` }, { domain: "evil.example" }]) {
    expect(await verifySIWxSignature({ ...payload, ...changed })).toMatchObject({ isValid: false });
  }
});

test("an address in lower case is the same wallet, as for the reference", async () => {
  const wallet = { address: account.address.toLowerCase(), signMessage: account.signMessage };
  const payload = parseSIWxHeader(await signIn(wallet, { ...INFO, chainId: "eip155:1", type: "eip191" }));
  expect(await theirs.verifySIWxSignature(payload as never)).toMatchObject({ isValid: true });
  expect(await verifySIWxSignature(payload)).toEqual({ isValid: true, payer: wallet.address });
});

test("contract wallets are asked through the seller's verifier", async () => {
  const payload = parseSIWxHeader(await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" }));
  const forged: SIWxPayload = { ...payload, signature: `0x${"ab".repeat(200)}` };
  const seen: unknown[] = [];
  const verify = (answer: () => boolean) => ({
    evmVerifier: (args: object) => {
      seen.push(args);
      return answer();
    },
  });
  expect(await verifySIWxSignature(forged)).toMatchObject({ isValid: false });
  expect(
    await verifySIWxSignature(
      forged,
      verify(() => true),
    ),
  ).toMatchObject({ isValid: true });
  expect(
    await verifySIWxSignature(
      forged,
      verify(() => false),
    ),
  ).toMatchObject({ isValid: false });
  const broken = () => {
    throw new Error("the node is down");
  };
  expect(await verifySIWxSignature(forged, verify(broken))).toMatchObject({
    invalidReason: "invalid_siwx_verifier_error",
  });
  const text = expect.stringMatching(/^api\.example\.com wants you to sign in with your Ethereum account:\n0x/);
  expect(seen[0]).toEqual({ address: payload.address, message: text, signature: forged.signature });
});

describe("the checks of a message", () => {
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  const base = { ...INFO, address: account.address, chainId: "eip155:1", type: "eip191", signature: "0x" } as const;
  const CHANGES: readonly (readonly [string, Partial<SIWxPayload>])[] = [
    ["nothing", {}],
    ["another domain", { domain: "evil.example" }],
    ["another origin", { uri: "https://evil.example/" }],
    ["no URI", { uri: "weather" }],
    ["no time", { issuedAt: "yesterday" }],
    ["an old time", { issuedAt: ago(301_000) }],
    ["a time to come", { issuedAt: ago(-60_000) }],
    ["an expired message", { expirationTime: ago(1_000) }],
    ["an expiry that is no time", { expirationTime: "soon" }],
    ["a beginning to come", { notBefore: ago(-60_000) }],
    ["a beginning that is no time", { notBefore: "soon" }],
  ];

  test.each(CHANGES)("say of %s what the reference says", async (_what, change) => {
    const message = { ...base, ...change };
    const own = await validateSIWxMessage(message, ORIGIN);
    const other = await theirs.validateSIWxMessage(message as never, ORIGIN);
    expect({ ...own, invalidMessage: "" }).toEqual({ ...other, invalidMessage: "" });
  });
});

test.each([
  ["no base64", "{}"],
  ["no JSON", Buffer.from("text").toString("base64")],
  ["a field too few", Buffer.from(JSON.stringify(INFO)).toString("base64")],
  [
    "a line break in a field",
    Buffer.from(
      JSON.stringify({
        ...INFO,
        address: "0x",
        chainId: "eip155:1",
        type: "eip191",
        signature: "0x",
        statement: "a\nb",
      }),
    ).toString("base64"),
  ],
])("a header with %s is refused", (_what, header) => {
  expect(() => parseSIWxHeader(header)).toThrow("SIGN-IN-WITH-X");
});
