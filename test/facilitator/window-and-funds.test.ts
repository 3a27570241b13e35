/** The limits of a payment's window, and of the payer's funds. */
import type { FacilitatorRequest, FacilitatorScheme } from "@farebox/core";
import { createPayer } from "@farebox/testing";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AMOUNT, createOffer, openStage, payloadOf, type Stage, signFor } from "./stage.js";

let stage: Stage;
let privateKey: Hex;
/** The time of the facilitator's clock, in Unix seconds. */
let now: number;
let scheme: FacilitatorScheme;

beforeAll(async () => {
  stage = await openStage();
  privateKey = await stage.signer();
  // From now on only `mineAt` moves the clock of the chain: seconds that a test takes do not count.
  await stage.rpc("anvil_setBlockTimestampInterval", 0);
  now = await stage.chain.now();
  scheme = stage.scheme({ privateKey }, () => now * 1000 + 999);
});

afterAll(() => stage.close());

const TYPES = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

interface Window {
  readonly validAfter?: number;
  readonly validBefore?: number;
}

/** A payment with any window. `createPayer` does not sign some of these. */
async function payWithin({ validAfter = 0, validBefore = now + 600 }: Window): Promise<FacilitatorRequest> {
  const account = privateKeyToAccount(generatePrivateKey());
  await stage.chain.fund(account.address, { usdc: AMOUNT });
  const request = await signFor(createPayer(), createOffer());
  const { to, value, nonce } = payloadOf(request).authorization;
  const message = {
    from: account.address,
    to: to as Hex,
    value: BigInt(value),
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    nonce: nonce as Hex,
  };
  const signature = await account.signTypedData({
    domain: { name: "USDC", version: "2", chainId: 84532, verifyingContract: stage.chain.asset },
    types: TYPES,
    primaryType: "TransferWithAuthorization",
    message,
  });
  const window = { validAfter: String(validAfter), validBefore: String(validBefore) };
  const authorization = { ...message, value, ...window };
  return { ...request, paymentPayload: { ...request.paymentPayload, payload: { signature, authorization } } };
}

const AFTER = "invalid_exact_evm_payload_authorization_valid_after";
const BEFORE = "invalid_exact_evm_payload_authorization_valid_before";

describe("an authorization by the facilitator's clock", () => {
  const WINDOWS: readonly { readonly why: string; readonly window: () => Window; readonly reason?: string }[] = [
    { why: "that has 6 seconds left is accepted", window: () => ({ validBefore: now + 6 }) },
    { why: "that has 5 seconds left is refused", window: () => ({ validBefore: now + 5 }), reason: BEFORE },
    { why: "that ends now is refused", window: () => ({ validBefore: now }), reason: BEFORE },
    { why: "that ended long ago is refused", window: () => ({ validBefore: 1 }), reason: BEFORE },
    { why: "that ends before it begins is refused", window: () => ({ validAfter: 5, validBefore: 4 }), reason: BEFORE },
    { why: "that began a second ago is accepted", window: () => ({ validAfter: now - 1 }) },
    {
      why: "that begins now is refused: it is valid strictly after",
      window: () => ({ validAfter: now }),
      reason: AFTER,
    },
    { why: "that begins in an hour is refused", window: () => ({ validAfter: now + 3_600 }), reason: AFTER },
    { why: "that never ends is accepted", window: () => ({ validBefore: Number.MAX_SAFE_INTEGER }) },
  ];

  test.each(WINDOWS)("an authorization $why", async ({ window, reason }) => {
    const payment = await payWithin(window());
    const { from } = payloadOf(payment).authorization;
    const verified = await scheme.verify(payment);
    expect(verified).toMatchObject({ isValid: reason === undefined, payer: from });
    expect(verified.invalidReason).toBe(reason);
    expect((await scheme.settle(payment)).errorReason).toBe(reason);
    expect(await stage.chain.balanceOf(from as Hex)).toBe(reason === undefined ? 0n : AMOUNT);
  });

  test("an authorization that expires between verification and settlement is not paid", async () => {
    const payment = await payWithin({ validBefore: now + 8 });
    expect(await scheme.verify(payment)).toMatchObject({ isValid: true });
    now += 3;
    expect(await scheme.settle(payment)).toMatchObject({ success: false, errorReason: BEFORE, transaction: "" });
    now -= 3;
  });

  test("an expired authorization that another account carried out is reported as settled", async () => {
    const payment = await payWithin({ validBefore: now + 60 });
    const transaction = await stage.frontRun(payment);
    const late = stage.scheme({ privateKey }, () => (now + 3_600) * 1000);
    expect(await late.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
  });
});

describe("an authorization by the chain's clock", () => {
  test("an authorization that has expired by the chain's clock is not paid, even if the facilitator's clock is behind", async () => {
    const payment = await payWithin({ validBefore: now + 100 });
    await stage.mineAt(now + 200);
    const refused = { errorReason: "invalid_transaction_state", transaction: "" };
    expect(await scheme.settle(payment)).toMatchObject(refused);
    expect(await scheme.verify(payment)).toMatchObject({
      isValid: false,
      invalidReason: "invalid_transaction_state",
      invalidMessage: expect.stringContaining("authorization is expired"),
    });
    now = await stage.chain.now();
  });

  test("an authorization not yet valid by the chain's clock is not paid, even if the facilitator's clock is ahead", async () => {
    const begins = (await stage.chain.now()) + 1_000;
    const payment = await payWithin({ validAfter: begins, validBefore: begins + 1_000 });
    const ahead = stage.scheme({ privateKey }, () => (begins + 1) * 1000);
    expect(await ahead.settle(payment)).toMatchObject({ errorReason: "invalid_transaction_state", transaction: "" });
  });
});

describe("a payer", () => {
  test.each([
    { why: "the exact amount", has: AMOUNT, reason: undefined },
    { why: "one unit too little", has: AMOUNT - 1n, reason: "insufficient_funds" },
    { why: "nothing", has: 0n, reason: "insufficient_funds" },
  ])("a payer with $why gets the right response", async ({ has, reason }) => {
    const payer = createPayer();
    await stage.chain.fund(payer.address, { usdc: has });
    const payment = await signFor(payer, createOffer(), { now: () => now * 1000 });
    expect((await scheme.verify(payment)).invalidReason).toBe(reason);
    expect((await scheme.settle(payment)).errorReason).toBe(reason);
    expect(await stage.chain.balanceOf(payer.address)).toBe(reason === undefined ? 0n : has);
  });

  test("a payer with money for one of two payments pays one, even if both are settled at once", async () => {
    const payer = await stage.payer(AMOUNT * 2n - 1n);
    const offer = createOffer();
    const sign = () => signFor(payer, offer, { now: () => now * 1000 });
    const responses = await Promise.all([scheme.settle(await sign()), scheme.settle(await sign())]);
    expect(responses.filter(({ success }) => success)).toHaveLength(1);
    for (const { success, errorReason, transaction } of responses) {
      if (success) continue;
      const isFailed = errorReason === "invalid_transaction_state" && transaction !== "";
      expect(isFailed || ["insufficient_funds", "unexpected_settle_error"].includes(String(errorReason))).toBe(true);
    }
    expect(await stage.chain.balanceOf(payer.address)).toBe(AMOUNT - 1n);
  });

  test("an amount above the balance of any payer is refused", async () => {
    const payer = await stage.payer();
    const offer = createOffer({ amount: (2n ** 256n - 1n).toString() });
    const payment = await signFor(payer, offer, { now: () => now * 1000 });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "insufficient_funds" });
  });

  test("an amount of zero is refused", async () => {
    const payment = await signFor(await stage.payer(), createOffer({ amount: "0" }));
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "invalid_payment_requirements" });
  });

  test("a token address without a contract gets a reason of the protocol", async () => {
    const offer = createOffer({ asset: createPayer().address });
    const payment = await signFor(await stage.payer(), offer, { now: () => now * 1000 });
    expect(await scheme.verify(payment)).toMatchObject({ isValid: false, invalidReason: "unexpected_verify_error" });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "unexpected_settle_error", transaction: "" });
  });
});
