/**
 * Messages that the clients of `@x402/extensions/sign-in-with-x` sign, read and verified by us; and hooks of its shape.
 *
 * @module
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import {
  createSIWxRequestHook,
  createSIWxSettleHook,
  declareSIWxExtension,
  InMemorySIWxStorage,
  parseSIWxHeader,
  type SIWxPayload,
  siwxResourceServerExtension,
  validateSIWxMessage,
  verifySIWxSignature,
} from "@farebox/express/compat/extensions";
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

describe("the hooks", () => {
  const storage = new InMemorySIWxStorage();
  const ask = createSIWxRequestHook({ storage, origin: ORIGIN.origin });
  const settled = createSIWxSettleHook({ storage });
  const context = (header: string, path = "/weather") => ({
    path,
    adapter: { getHeader: (name: string) => (name === "sign-in-with-x" ? header : undefined) },
  });

  test("a wallet that paid for a path passes there, and nowhere else", async () => {
    const header = await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" });
    expect(await ask(context(header))).toBeUndefined();
    const resource = { url: "https://evil.example/other" };
    const payer = account.address.toLowerCase();
    const transportContext = { request: { path: "/weather" } };
    await settled({ result: { success: false, payer }, paymentPayload: { resource }, transportContext });
    expect(await ask(context(header))).toBeUndefined();
    await settled({ result: { success: true, payer }, paymentPayload: { resource }, transportContext });
    expect(await ask(context(header))).toEqual({ grantAccess: true });
    expect(await ask(context(header, "/other"))).toBeUndefined();
    expect(await ask(context(""))).toBeUndefined();
  });

  test("a wallet that paid passes with the same method and query, and without a body", async () => {
    const header = await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" });
    const own = new InMemorySIWxStorage();
    const hook = createSIWxRequestHook({ storage: own, origin: ORIGIN.origin });
    const record = createSIWxSettleHook({ storage: own });
    const adapt = (method: string, search: string, body?: unknown, headers: Record<string, string> = {}) => ({
      getMethod: () => method,
      getUrl: () => `https://api.example.com/r${search}`,
      getBody: () => body,
      getHeader: (name: string) => (name === "sign-in-with-x" ? header : headers[name]),
    });
    type Adapter = ReturnType<typeof adapt>;
    const pay = (adapter: Adapter, amount?: string) =>
      record({
        result: { success: true, payer: account.address, ...(amount === undefined ? {} : { amount }) },
        paymentPayload: {},
        transportContext: { request: { path: "/r", adapter } },
      });
    const passes = async (adapter: Adapter) => (await hook({ path: "/r", adapter })) !== undefined;
    await pay(adapt("GET", "?none"), "0");
    expect(await passes(adapt("GET", "?none"))).toBe(false);
    await pay(adapt("POST", "?small", { n: 1 }));
    await pay(adapt("POST", "?small", undefined, { "content-length": "9" }));
    expect(await passes(adapt("POST", "?small"))).toBe(false);
    await pay(adapt("POST", "?small", {}));
    expect(await passes(adapt("POST", "?small"))).toBe(true);
    expect(await passes(adapt("POST", "?small", { n: 1 }))).toBe(false);
    expect(await passes(adapt("GET", "?small"))).toBe(false);
    expect(await passes(adapt("POST", ""))).toBe(false);
  });

  test("a path that readers resolve is not recorded as the path that it leads to", async () => {
    const own = new InMemorySIWxStorage();
    const record = createSIWxSettleHook({ storage: own });
    const result = { success: true, payer: account.address };
    const url = "https://api.example.com/cheap/../expensive";
    await record({ result, paymentPayload: { resource: { url } } });
    await record({ result, paymentPayload: {}, transportContext: { request: { path: "/cheap/../expensive" } } });
    expect(own.hasPaid("/expensive", account.address)).toBe(false);
    await record({ result, paymentPayload: { resource: { url: "https://api.example.com/expensive?a=1" } } });
    expect(own.hasPaid("/expensive", account.address)).toBe(true);
  });

  test("a signature is enough where nothing is sold", async () => {
    const header = await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" });
    expect(await ask(context(header, "/profile"), { accepts: [] })).toEqual({ grantAccess: true });
    const forged = theirs.encodeSIWxHeader({ ...theirs.parseSIWxHeader(header), address: `0x${"11".repeat(20)}` });
    expect(await ask(context(forged, "/profile"), { accepts: [] })).toBeUndefined();
  });

  test("a storage that remembers nonces lets each signature pass once", async () => {
    const used = new Set<string>();
    const events: unknown[] = [];
    const once = createSIWxRequestHook({
      storage: {
        hasPaid: () => true,
        recordPayment() {},
        hasUsedNonce: (nonce) => used.has(nonce),
        recordNonce: (nonce) => void used.add(nonce),
      },
      origin: ORIGIN.origin,
      onEvent: ({ type }) => void events.push(type),
    });
    const header = await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" });
    expect([await once(context(header)), await once(context(header))]).toEqual([{ grantAccess: true }, undefined]);
    expect(events).toEqual(["access_granted", "nonce_reused"]);
  });

  test("what would let others in is refused at start", () => {
    expect(() => createSIWxRequestHook({ storage, origin: "api.example.com" })).toThrow("options.origin");
    expect(() => createSIWxRequestHook({ origin: ORIGIN.origin } as never)).toThrow("options.storage");
    const half = { hasPaid: () => true, recordPayment() {}, hasUsedNonce: () => false };
    expect(() => createSIWxSettleHook({ storage: half })).toThrow("recordNonce");
  });

  test("without an origin, a wallet signs in on this machine only, and the seller is warned", async () => {
    const warning = once(process, "warning");
    const hook = createSIWxRequestHook({ storage: { hasPaid: () => true, recordPayment() {} } });
    expect(await warning).toMatchObject([{ code: "FAREBOX_SIGNED_HOST_UNKNOWN" }]);
    const here = { remoteAddress: "::ffff:127.0.0.1", localAddress: "127.0.0.1" };
    const at = async (origin: string, req: object = { socket: here, headers: {} }) => {
      const info = { ...INFO, domain: new URL(origin).host, uri: origin, chainId: "eip155:1", type: "eip191" };
      const header = theirs.encodeSIWxHeader(await theirs.createSIWxPayload(info as never, account, origin));
      return hook({ path: "/a", adapter: { ...context(header).adapter, getUrl: () => `${origin}/a`, req } });
    };
    expect(await at("http://localhost:4021")).toEqual({ grantAccess: true });
    expect(await at("https://evil.example")).toBeUndefined();
    // Anybody may name this machine as the host.
    for (const req of [
      {},
      { socket: { ...here, remoteAddress: "203.0.113.7" }, headers: {} },
      { socket: here, headers: { "x-forwarded-for": "203.0.113.7" } },
    ]) {
      expect(await at("http://localhost:4021", req)).toBeUndefined();
    }
  });

  test("the constant of version 2.10 makes challenges that the reference's client signs", async () => {
    const declaration = declareSIWxExtension({ statement: "Sign in", expirationSeconds: 60 })["sign-in-with-x"];
    const { info, supportedChains } = await siwxResourceServerExtension.enrichPaymentRequiredResponse(declaration, {
      requirements: [{ network: "eip155:8453" }, { network: "eip155:8453" }],
      resourceInfo: { url: "https://api.example.com/weather" },
    });
    expect(supportedChains).toEqual([{ chainId: "eip155:8453", type: "eip191" }]);
    const header = await signIn(account, { ...info, ...supportedChains[0] });
    expect(await verifySIWxSignature(parseSIWxHeader(header))).toMatchObject({ isValid: true });
  });
});
