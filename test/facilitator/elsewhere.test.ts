/**
 * Events outside of the facilitator: the payer cancels a payment, another account carries it out, the payer signs another one
 * under the same nonce, the token is paused.
 */
import { createPayer } from "@farebox/testing";
import { encodeFunctionData, type Hex, parseSignature, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  AMOUNT,
  createOffer,
  NETWORK,
  newAddress,
  openStage,
  payloadOf,
  type Stage,
  signFor,
  TOKEN,
  withSignature,
} from "./stage.js";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterEach(() => stage.chain.resumeMining());
afterAll(() => stage.close());

const NEVER = { success: false, errorReason: "invalid_transaction_state", transaction: "" };

describe("a cancelled authorization", () => {
  test("a cancelled authorization is never settled, neither now nor after a restart", async () => {
    const privateKey = generatePrivateKey();
    const account = privateKeyToAccount(privateKey);
    await stage.chain.fund(account.address, { usdc: AMOUNT });
    const payment = await signFor(createPayer({ privateKey }), createOffer());
    const { nonce } = payloadOf(payment).authorization;
    const { r, s, yParity } = parseSignature(
      await account.signTypedData({
        domain: { name: "USDC", version: "2", chainId: 84532, verifyingContract: stage.chain.asset },
        types: {
          CancelAuthorization: [
            { name: "authorizer", type: "address" },
            { name: "nonce", type: "bytes32" },
          ],
        },
        primaryType: "CancelAuthorization",
        message: { authorizer: account.address, nonce: nonce as Hex },
      }),
    );
    const args = [account.address, nonce as Hex, 27 + yParity, r, s] as const;
    await stage.command(newAddress(), encodeFunctionData({ abi: TOKEN, functionName: "cancelAuthorization", args }));

    const signer = await stage.signer();
    for (const scheme of [stage.scheme({ privateKey: signer }), stage.scheme({ privateKey: signer })]) {
      expect(await scheme.verify(payment)).toMatchObject({ isValid: false, invalidReason: NEVER.errorReason });
      expect(await scheme.settle(payment)).toMatchObject(NEVER);
      expect(await scheme.settle(payment)).toMatchObject(NEVER);
    }
    expect(await stage.chain.balanceOf(account.address)).toBe(AMOUNT);
  });
});

describe("an authorization that another account carries out", () => {
  test("an authorization that another account carried out is reported with that transaction, and not sent", async () => {
    const privateKey = await stage.signer();
    const scheme = stage.scheme({ privateKey });
    const payment = await stage.payment();
    const transaction = await stage.frontRun(payment);

    expect(await scheme.verify(payment)).toMatchObject({ isValid: false, invalidReason: "invalid_transaction_state" });
    const told = { success: false, errorReason: "payment_already_settled", transaction };
    expect(await scheme.settle(payment)).toMatchObject(told);
    expect(await scheme.settle(payment)).toMatchObject(told);
    const address = privateKeyToAccount(privateKey).address;
    expect(await stage.client.getTransactionCount({ address })).toBe(0);
    expect(await stage.chain.balanceOf(payment.paymentRequirements.payTo as Hex)).toBe(AMOUNT);
  });

  test("an authorization that another account carries out meanwhile is reported with that transaction, and the facilitator's fails", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer(), receiptTimeoutMs: 100 });
    const payment = await stage.payment();
    await stage.chain.pauseMining();
    const { transaction: ours, errorReason } = await scheme.settle(payment);
    expect(errorReason).toBe("settlement_pending");
    // Their transaction comes first although it is sent later, because it pays more.
    const theirs = await stage.sendAhead(payment, 10n ** 12n);
    await stage.chain.resumeMining();

    expect(theirs).not.toBe(ours);
    const told = { success: false, errorReason: "payment_already_settled", transaction: theirs };
    expect(await scheme.settle(payment)).toMatchObject(told);
    expect(await scheme.settle(payment)).toMatchObject(told);
    expect(await stage.chain.balanceOf(payment.paymentRequirements.payTo as Hex)).toBe(AMOUNT);
  });
});

describe("another authorization under the same nonce", () => {
  const nonce = toHex(5n, { size: 32 });
  const CASES = [
    { what: "to another recipient", change: { payTo: newAddress() } },
    { what: "of another amount", change: { amount: "99" } },
  ];

  test.each(CASES)(
    "another authorization under the same nonce $what is not settled, and not mistaken for the first",
    async ({ change }) => {
      const privateKey = await stage.signer();
      const scheme = stage.scheme({ privateKey });
      const payer = await stage.payer(500n);
      const offer = createOffer();
      const first = await signFor(payer, offer, { nonce });
      const second = await signFor(payer, { ...offer, ...change }, { nonce });
      expect(await scheme.settle(first)).toMatchObject({ success: true });
      for (const facilitator of [scheme, stage.scheme({ privateKey })]) {
        expect(await facilitator.settle(second)).toMatchObject(NEVER);
        expect(await facilitator.verify(second)).toMatchObject({ invalidReason: NEVER.errorReason });
      }
      expect(await stage.chain.balanceOf(payer.address)).toBe(400n);
    },
  );

  test("an authorization does not count as settled by another payment in the same transaction", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer() });
    const payer = await stage.payer(500n);
    const offer = createOffer();
    const elsewhere = await signFor(payer, { ...offer, payTo: newAddress() }, { nonce });
    const other = await signFor(payer, offer, { nonce: toHex(6n, { size: 32 }) });
    const unpaid = await signFor(payer, offer, { nonce });
    await stage.frontRunBoth(elsewhere, other);
    expect(await stage.chain.balanceOf(payer.address)).toBe(500n - 2n * AMOUNT);

    expect(await scheme.settle(unpaid)).toMatchObject(NEVER);
    expect(await scheme.settle(other)).toMatchObject({ success: false, errorReason: "payment_already_settled" });
  });

  test("another authorization under the same nonce is refused during the settlement of the first", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer() });
    const payer = await stage.payer(500n);
    const offer = createOffer();
    const first = await signFor(payer, offer, { nonce });
    const second = await signFor(payer, { ...offer, payTo: newAddress() }, { nonce });
    const responses = await Promise.all([scheme.settle(first), scheme.settle(second)]);
    expect(responses).toMatchObject([{ success: true }, NEVER]);
    expect(await stage.chain.balanceOf(payer.address)).toBe(400n);
  });

  test("the same nonce of another payer is another payment", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer() });
    const offer = createOffer();
    const payers = [await stage.payer(), await stage.payer()];
    const payments = await Promise.all(payers.map((payer) => signFor(payer, offer, { nonce })));
    const responses = await Promise.all(payments.map((payment) => scheme.settle(payment)));
    expect(responses).toMatchObject([{ success: true }, { success: true }]);
    expect(await stage.chain.balanceOf(offer.payTo as Hex)).toBe(2n * AMOUNT);
  });

  test("a settled authorization with a wrong signature does not get its transaction", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer() });
    const payment = await stage.payment();
    await scheme.settle(payment);
    expect(await scheme.settle(withSignature(payment, `0x${"11".repeat(65)}`))).toMatchObject(NEVER);
  });
});

describe("a token that does not move", () => {
  async function role(functionName: "pauser" | "blacklister"): Promise<Hex> {
    return stage.client.readContract({ address: stage.chain.asset, abi: TOKEN, functionName });
  }

  test("a transfer of a blacklisted payer is refused before anything is sent", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer() });
    const payment = await stage.payment();
    const payer = payloadOf(payment).authorization.from as Hex;
    await stage.command(
      await role("blacklister"),
      encodeFunctionData({ abi: TOKEN, functionName: "blacklist", args: [payer] }),
    );
    expect(await scheme.verify(payment)).toMatchObject({
      isValid: false,
      invalidReason: "invalid_transaction_state",
      invalidMessage: expect.stringContaining("account is blacklisted"),
      payer,
    });
    expect(await scheme.settle(payment)).toMatchObject(NEVER);
    expect(await stage.chain.balanceOf(payer)).toBe(AMOUNT);
  });

  test("a payment in a paused token is settled when the token is no longer paused", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer() });
    const payment = await stage.payment();
    const pauser = await role("pauser");
    await stage.command(pauser, encodeFunctionData({ abi: TOKEN, functionName: "pause" }));
    expect(await scheme.settle(payment)).toMatchObject(NEVER);
    await stage.command(pauser, encodeFunctionData({ abi: TOKEN, functionName: "unpause" }));
    expect(await scheme.settle(payment)).toMatchObject({ success: true, network: NETWORK });
  });

  test("a payment whose payer spent the money meanwhile fails on chain, and that is final", async () => {
    const privateKey = await stage.signer();
    const scheme = stage.scheme({ privateKey, receiptTimeoutMs: 100 });
    const payment = await stage.payment();
    const payer = payloadOf(payment).authorization.from as Hex;
    await stage.rpc("anvil_setBalance", payer, "0xde0b6b3a7640000");
    await stage.rpc("anvil_impersonateAccount", payer);
    await stage.chain.pauseMining();
    const { transaction } = await scheme.settle(payment);
    const data = encodeFunctionData({ abi: TOKEN, functionName: "transfer", args: [newAddress(), 1n] });
    const gasPrice = toHex(10n ** 12n);
    await stage.rpc("eth_sendTransaction", { from: payer, to: stage.chain.asset, data, gas: "0x30d40", gasPrice });
    await stage.chain.resumeMining();

    const failed = { success: false, errorReason: "invalid_transaction_state", transaction };
    expect(await scheme.settle(payment)).toMatchObject(failed);
    await stage.chain.fund(payer, { usdc: AMOUNT });
    // The seller was told that this payment failed. To settle it now would charge for nothing.
    expect(await scheme.settle(payment)).toMatchObject(failed);
    expect(await scheme.verify(payment)).toMatchObject({ isValid: false, invalidReason: failed.errorReason });
    expect(await stage.chain.balanceOf(payer)).toBe(2n * AMOUNT - 1n);
  });
});
