/** Signatures by keys and by contract wallets, in other forms, and over other messages. */
import type { FacilitatorRequest, FacilitatorScheme, PaymentRequirements } from "@farebox/core";
import { createPayer } from "@farebox/testing";
import { concatHex, encodeAbiParameters, type Hex, numberToHex, parseSignature, size } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.js";
import { AMOUNT, createOffer, newAddress, openStage, payloadOf, type Stage, signFor, withSignature } from "./stage.js";

let stage: Stage;
let proxy: RpcProxy;
let scheme: FacilitatorScheme;

beforeAll(async () => {
  stage = await openStage();
  proxy = await startRpcProxy(stage.chain.rpcUrl);
  scheme = stage.scheme({ privateKey: await stage.signer(), rpcUrl: proxy.url });
});

afterAll(async () => {
  await proxy.close();
  await stage.close();
});

const SIGNATURE = "invalid_exact_evm_payload_signature";
const STATE = "invalid_transaction_state";
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Expects verify and settle to agree, and no money to move. */
function expectRefused(request: FacilitatorRequest, reason: string): Promise<void> {
  return expectAllRefused(request, [{ why: "as it is", request, reason }]);
}

/** The same for changed requests, by the two accounts of the unchanged one. */
async function expectAllRefused(
  payment: FacilitatorRequest,
  all: readonly { readonly why: string; readonly request: FacilitatorRequest; readonly reason: string }[],
): Promise<void> {
  const { from, to } = payloadOf(payment).authorization;
  const balances = async () => [await stage.chain.balanceOf(from as Hex), await stage.chain.balanceOf(to as Hex)];
  const before = await balances();
  for (const { why, request, reason } of all) {
    const { from: payer } = payloadOf(request).authorization;
    expect(await scheme.verify(request), why).toMatchObject({ isValid: false, invalidReason: reason, payer });
    expect(await scheme.settle(request), why).toMatchObject({ success: false, errorReason: reason, transaction: "" });
  }
  expect(await balances()).toEqual(before);
}

type Parts = ReturnType<typeof parseSignature>;

describe("a key's signature", () => {
  const FORMS: readonly {
    readonly why: string;
    readonly form: (parts: Parts) => string;
    readonly reason: string;
  }[] = [
    {
      why: "with a high s",
      form: ({ r, s, yParity }) =>
        concatHex([r, numberToHex(ORDER - BigInt(s), { size: 32 }), yParity === 0 ? "0x1c" : "0x1b"]),
      reason: STATE,
    },
    {
      why: "with v 0 or 1",
      form: ({ r, s, yParity }) => concatHex([r, s, numberToHex(yParity, { size: 1 })]),
      reason: STATE,
    },
    {
      why: "with the wrong v",
      form: ({ r, s, yParity }) => concatHex([r, s, yParity === 0 ? "0x1c" : "0x1b"]),
      reason: SIGNATURE,
    },
    { why: "with v 29", form: ({ r, s }) => concatHex([r, s, "0x1d"]), reason: SIGNATURE },
    { why: "with v 255", form: ({ r, s }) => concatHex([r, s, "0xff"]), reason: SIGNATURE },
    {
      why: "of 64 bytes, compact",
      form: ({ r, s, yParity }) => concatHex([r, numberToHex(BigInt(s) | (BigInt(yParity) << 255n), { size: 32 })]),
      reason: SIGNATURE,
    },
    {
      why: "with an extra byte",
      form: ({ r, s, yParity }) => concatHex([r, s, numberToHex(27 + yParity), "0x00"]),
      reason: SIGNATURE,
    },
    { why: "of zeros", form: () => `0x${"00".repeat(65)}`, reason: SIGNATURE },
    { why: "of ones", form: () => `0x${"ff".repeat(65)}`, reason: SIGNATURE },
    { why: "of one byte", form: () => "0x00", reason: SIGNATURE },
    { why: "of 4096 bytes", form: () => `0x${"ab".repeat(4096)}`, reason: SIGNATURE },
    { why: "of 4097 bytes", form: () => `0x${"ab".repeat(4097)}`, reason: SIGNATURE },
    { why: "that is empty", form: () => "0x", reason: SIGNATURE },
    { why: "that is not hex", form: () => `0x${"zz".repeat(65)}`, reason: SIGNATURE },
    { why: "of half a byte", form: () => "0x123", reason: SIGNATURE },
  ];

  test("a signature of another form is refused, and the payer's own is accepted after it", async () => {
    const payment = await stage.payment();
    const parts = parseSignature(payloadOf(payment).signature);
    const all = FORMS.map(({ why, form, reason }) => ({ why, request: withSignature(payment, form(parts)), reason }));
    await expectAllRefused(payment, all);
    expect(await scheme.settle(payment)).toMatchObject({ success: true });
  });

  test("a signature in capitals is accepted", async () => {
    const payment = await stage.payment();
    const { signature } = payloadOf(payment);
    expect(await scheme.settle(withSignature(payment, `0x${signature.slice(2).toUpperCase()}`))).toMatchObject({
      success: true,
    });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "payment_already_settled" });
  });

  test("a signature of another account is refused", async () => {
    const payer = await stage.payer();
    await expectRefused(await signFor(createPayer({ wallet: payer.address }), createOffer()), SIGNATURE);
  });

  test("a key's signature is checked without asking the node", async () => {
    const payment = await stage.payment();
    await scheme.health();
    const before = proxy.calls.length;
    expect(await scheme.verify(payment)).toMatchObject({ isValid: true });
    // The nonce, the balance, the trial run. The signature takes no call.
    expect(proxy.calls.slice(before)).toEqual(["eth_call", "eth_call", "eth_call"]);
  });
});

describe("a signature over another message", () => {
  const DOMAINS: readonly { readonly why: string; readonly signed: Partial<PaymentRequirements> }[] = [
    { why: "another name of the token", signed: { extra: { name: "USD Coin", version: "2" } } },
    { why: "another version of the token", signed: { extra: { name: "USDC", version: "1" } } },
    { why: "another chain", signed: { network: "eip155:8453" } },
    { why: "another token", signed: { asset: newAddress() } },
  ];

  test("a signature over another token, name, version or chain is refused", async () => {
    const [offer, payer] = [createOffer(), await stage.payer()];
    const all = DOMAINS.map(async ({ why, signed }) => {
      const { payload } = await payer.signExact({ ...offer, ...signed });
      const paymentPayload = { x402Version: 2, accepted: offer, payload } as const;
      return {
        why,
        request: { x402Version: 2, paymentPayload, paymentRequirements: offer },
        reason: SIGNATURE,
      } as const;
    });
    await expectAllRefused(await signFor(payer, offer), await Promise.all(all));
  });

  test.each(["name", "version"])(
    "a %s that the token does not have is refused, even if payer and seller agree on it",
    async (key) => {
      const offer = createOffer({ extra: { name: "USDC", version: "2", [key]: "3" } });
      await expectRefused(await signFor(await stage.payer(), offer), STATE);
    },
  );

  const FIELDS: readonly { readonly field: string; readonly value: string }[] = [
    { field: "from", value: newAddress() },
    { field: "validAfter", value: "1" },
    { field: "validBefore", value: "9999999999" },
    { field: "nonce", value: `0x${"0".repeat(64)}` },
  ];

  test("a signature over another field of the authorization is refused", async () => {
    const payment = await stage.payment();
    const { signature, authorization } = payloadOf(payment);
    const all = FIELDS.map(({ field, value }) => {
      const payload = { signature, authorization: { ...authorization, [field]: value } };
      const request = { ...payment, paymentPayload: { ...payment.paymentPayload, payload } };
      return { why: field, request, reason: SIGNATURE };
    });
    await expectAllRefused(payment, all);
  });
});

describe("a contract wallet", () => {
  /** A wallet, its owner's key, and the money in it. */
  async function openWallet() {
    const privateKey = generatePrivateKey();
    const wallet = await stage.chain.deployWallet(privateKeyToAccount(privateKey).address);
    await stage.chain.fund(wallet, { usdc: AMOUNT });
    return { privateKey, wallet };
  }

  /** A contract of this code, with money. */
  async function openCode(code: Hex): Promise<Hex> {
    const address = newAddress();
    await stage.rpc("anvil_setCode", address, code);
    await stage.chain.fund(address, { usdc: AMOUNT });
    return address;
  }

  /** Returns the magic value if there are more than 200 bytes of calldata, else zero. */
  const ACCEPTS_LONG_ONES = "0x3660c810631626ba7e60e01b0260005260206000f3";
  const BROKEN: readonly { readonly why: string; readonly code: Hex; readonly reason: string }[] = [
    { why: "reverts", code: "0x60006000fd", reason: SIGNATURE },
    { why: "returns nothing", code: "0x00", reason: SIGNATURE },
    { why: "returns four bytes", code: "0x631626ba7e60e01b60005260046000f3", reason: SIGNATURE },
    { why: "returns a word of ones", code: "0x60001960005260206000f3", reason: SIGNATURE },
    { why: "runs into an invalid instruction", code: "0xfe", reason: SIGNATURE },
    { why: "never ends", code: "0x5b600056", reason: SIGNATURE },
  ];

  test("a contract wallet pays with its owner's signature of 65 bytes", async () => {
    const payment = await signFor(createPayer(await openWallet()), createOffer());
    expect(size(payloadOf(payment).signature)).toBe(65);
    expect(await scheme.verify(payment)).toMatchObject({ isValid: true });
    expect(await scheme.settle(payment)).toMatchObject({ success: true });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "payment_already_settled" });
  });

  test("a contract wallet pays with a signature of any length that it accepts, and with no other", async () => {
    const wallet = await openCode(ACCEPTS_LONG_ONES);
    const payment = await signFor(createPayer({ wallet }), createOffer());
    const { signature } = payloadOf(payment);
    await expectRefused(payment, SIGNATURE);
    const long = withSignature(payment, concatHex([signature, signature]));
    expect(await scheme.verify(long)).toMatchObject({ isValid: true, payer: wallet });
    expect(await scheme.settle(long)).toMatchObject({ success: true, payer: wallet });
    expect(await stage.chain.balanceOf(wallet)).toBe(0n);
  });

  test.each(BROKEN)("a contract wallet that $why does not pay", async ({ code, reason }) => {
    await expectRefused(await signFor(createPayer({ wallet: await openCode(code) }), createOffer()), reason);
  });

  test("a contract wallet does not pay with another account's signature", async () => {
    const { wallet } = await openWallet();
    await expectRefused(await signFor(createPayer({ wallet }), createOffer()), SIGNATURE);
  });

  test("a wallet that is not deployed does not pay", async () => {
    const from = newAddress();
    await stage.chain.fund(from, { usdc: AMOUNT });
    const payment = await signFor(createPayer({ wallet: from }), createOffer());
    // ERC-6492: a signature that contains the wallet's deployment. The token does not know it.
    const wrapped = encodeAbiParameters(
      [{ type: "address" }, { type: "bytes" }, { type: "bytes" }],
      [newAddress(), "0x1234", payloadOf(payment).signature],
    );
    await expectRefused(withSignature(payment, concatHex([wrapped, `0x${"6492".repeat(16)}`])), SIGNATURE);
  });

  test("a contract that is not a wallet does not pay", async () => {
    const payment = await signFor(createPayer({ wallet: stage.chain.asset }), createOffer());
    await expectRefused(payment, SIGNATURE);
  });
});
