/** Problems with the chain: an operator sees them, and no message contains a key or a URL. */
import { inspect } from "node:util";
import type { FacilitatorRequest, Logger } from "@farebox/core";
import { ChainError, createExactEvmScheme, createRpcChain, type SignedAuthorization } from "@farebox/evm/facilitator";
import { createFacilitator } from "@farebox/facilitator";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { holdRequestTimeouts } from "./patience.js";
import { type Fate, type RpcProxy, startRpcProxy } from "./rpc-proxy.js";
import { createOffer, newAddress, openStage, PATIENT, payloadOf, type Stage, signFor } from "./stage.js";

let stage: Stage;
let proxy: RpcProxy;
let privateKey: Hex;
let payment: FacilitatorRequest;

beforeAll(async () => {
  stage = await openStage();
  proxy = await startRpcProxy(stage.chain.rpcUrl);
  privateKey = await stage.signer();
  payment = await stage.payment();
});

afterEach(() => proxy.decide(() => "pass"));

afterAll(async () => {
  await proxy.close();
  await stage.close();
});

/** No message of a scheme, a facilitator or a chain may contain one of these. */
const SECRETS = ["path-key-5f3a", "pass-word-77", "user-name-12"];

/** The proxy's URL, with secrets in every part that can have one. */
function secretUrl(): string {
  const url = new URL(`${proxy.url}/v3/${SECRETS[0]}?apikey=${SECRETS[0]}`);
  url.password = SECRETS[1] ?? "";
  url.username = SECRETS[2] ?? "";
  return url.href;
}

function expectNoSecret(said: unknown): void {
  const text = inspect(said, { depth: 20, showHidden: true });
  for (const secret of [...SECRETS, privateKey.slice(2), payloadOf(payment).signature.slice(2)]) {
    expect(text).not.toContain(secret);
  }
}

function toSigned(request: FacilitatorRequest): SignedAuthorization {
  const { signature, authorization } = payloadOf(request);
  const { from, to, nonce } = authorization as Record<"from" | "to" | "nonce", Hex>;
  const [value, validAfter, validBefore] = [authorization.value, authorization.validAfter, authorization.validBefore];
  return {
    asset: stage.chain.asset,
    domain: { name: "USDC", version: "2", chainId: 84532 },
    authorization: {
      from,
      to,
      nonce,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
    signature,
  };
}

describe("the wrong chain behind rpcUrl", () => {
  const problem = "the RPC URL is of chain 84532, not of eip155:8453";

  test("a node of another chain is reported, and no payment is settled", async () => {
    const chain = createRpcChain({ network: "eip155:8453", rpcUrl: stage.chain.rpcUrl, privateKey });
    const scheme = createExactEvmScheme({ chain });
    const wrong = await signFor(await stage.payer(), createOffer({ network: "eip155:8453" }));
    expect(await scheme.health()).toEqual({ ok: false, problem });
    expect(await scheme.verify(wrong)).toMatchObject({
      invalidReason: "unexpected_verify_error",
      invalidMessage: problem,
    });
    expect(await scheme.settle(wrong)).toMatchObject({ errorReason: "unexpected_settle_error", transaction: "" });
    await expect(chain.submit(toSigned(wrong))).rejects.toMatchObject({ code: "ERR_FAREBOX_CHAIN", message: problem });
    const address = privateKeyToAccount(privateKey).address;
    expect(await stage.client.getTransactionCount({ address })).toBe(0);
  });

  test("a node's chain id is compared again until it is the right one", async () => {
    const scheme = stage.scheme({ privateKey, rpcUrl: proxy.url });
    proxy.decide(({ method }) => (method === "eth_chainId" ? { result: "0x1" } : "pass"));
    expect(await Promise.all([scheme.health(), scheme.health()])).toMatchObject([{ ok: false }, { ok: false }]);
    proxy.decide(() => "pass");
    expect(await scheme.health()).toEqual({ ok: true, balance: expect.stringMatching(/^\d+$/) });
  });

  test("the chain id is asked for once, not with each payment", async () => {
    const scheme = stage.scheme({ privateKey, rpcUrl: proxy.url });
    const before = proxy.calls.length;
    await Promise.all([scheme.verify(payment), scheme.verify(payment), scheme.health()]);
    expect(proxy.calls.slice(before).filter((method) => method === "eth_chainId")).toHaveLength(1);
  });
});

describe("a URL with a name and a password", () => {
  test("a name and a password of the URL are sent in a header", async () => {
    const scheme = stage.scheme({ privateKey, rpcUrl: secretUrl() });
    expect(await scheme.health()).toEqual({ ok: true, balance: expect.stringMatching(/^\d+$/) });
    const credentials = Buffer.from(`${SECRETS[2]}:${SECRETS[1]}`).toString("base64");
    expect(proxy.headers()["authorization"]).toBe(`Basic ${credentials}`);
  });

  const FATES: readonly { readonly why: string; readonly fate: () => Fate }[] = [
    { why: "hangs up", fate: () => "lose-request" },
    { why: "is silent", fate: () => ({ silence: holdRequestTimeouts() }) },
    { why: "responds with 401", fate: () => ({ status: 401 }) },
    { why: "responds with 500", fate: () => ({ status: 500 }) },
    {
      why: "quotes the URL",
      fate: () => ({ code: -32_000, message: `bad key at https://x:${"pass-word-77"}@node/v3/path-key-5f3a` }),
    },
    { why: "responds with nonsense", fate: () => ({ result: { path: "x" } }) },
  ];

  test.each(FATES)("no message, error or log contains secrets of the URL when the node $why", async ({ fate }) => {
    const lines: unknown[] = [];
    const note = (event: string, fields: unknown) => lines.push([event, fields]);
    const logger: Logger = { info: note, warn: note, error: note };
    const chain = createRpcChain({
      network: "eip155:84532",
      rpcUrl: secretUrl(),
      privateKey,
      ...PATIENT,
      // No receipt ever comes, so this alone ends the wait for one.
      receiptTimeoutMs: 100,
    });
    const facilitator = createFacilitator({ schemes: [createExactEvmScheme({ chain })], logger });
    await facilitator.health();
    const each = fate();
    proxy.decide(({ method }) => (method === "eth_chainId" ? "pass" : each));

    const signed = toSigned(payment);
    const said = await Promise.all([
      facilitator.verify(payment),
      facilitator.settle(payment),
      facilitator.health(),
      facilitator.supported(),
      chain.outcomeOf(`0x${"1".repeat(64)}`),
      ...[
        chain.submit(signed),
        chain.simulate(signed),
        chain.findTransfer(signed),
        chain.balanceOf(newAddress(), newAddress()),
      ].map((call) => call.catch((error: unknown) => error)),
    ]);
    expect(said.filter((one) => one instanceof ChainError).length).toBeGreaterThan(0);
    expect(lines).toHaveLength(2);
    for (const one of [...said, ...lines, facilitator, chain]) expectNoSecret(one);
  });
});

test("a log line quotes a contract's error only as short, printable text", async () => {
  const lines: string[] = [];
  const note = (event: string, fields: unknown) => lines.push(JSON.stringify([event, fields]));
  const scheme = stage.scheme({ privateKey, rpcUrl: proxy.url });
  const facilitator = createFacilitator({ schemes: [scheme], logger: { info: note, warn: note, error: note } });
  const reason = `\n2026-01-01 root logged in\u001b[2J\u202e ${"x".repeat(10_000)}`;
  proxy.decide(({ method, params: [call] }) => {
    const isTransfer = method === "eth_call" && (call as { readonly from?: unknown }).from !== undefined;
    return isTransfer ? { code: 3, message: `execution reverted: ${reason}` } : "pass";
  });
  const { invalidMessage } = await facilitator.verify(payment);
  expect(invalidMessage).toMatch(/^[\x20-\x7e]{1,250}$/);
  expect(lines).toEqual([expect.stringMatching(/^[\x20-\x7e]{1,600}$/)]);
});

test("the chain does not show its private key, even before its first use", () => {
  const fresh = generatePrivateKey();
  const scheme = stage.scheme({ privateKey: fresh });
  expect(inspect(scheme, { depth: 20, showHidden: true })).not.toContain(fresh.slice(2));
});
