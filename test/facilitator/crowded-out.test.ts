/**
 * A crowded-out transaction: another one of the same account took its count. It moves no money, and the payment is sent again.
 */
import type { FacilitatorRequest } from "@farebox/core";
import { createWalletClient, encodeFunctionData, type Hex, http, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { openPatience } from "./patience.js";
import { expectPaid, openProxiedStage } from "./proxied-stage.js";
import { AMOUNT, newAddress, payloadOf, TOKEN } from "./stage.js";

const { stage, proxy } = await openProxiedStage();

const [SENDING, LOOK] = ["eth_sendRawTransaction", "eth_getTransactionReceipt"];
const HIGH_PRICE = 10n ** 11n;
const DROPPED = {
  success: false,
  errorReason: "unexpected_settle_error",
  errorMessage: "the transaction was crowded out, and can be sent again",
  transaction: "",
};

const countOf = (privateKey: Hex) =>
  stage.client.getTransactionCount({ address: privateKeyToAccount(privateKey).address });

const payerOf = (payment: FacilitatorRequest) => payloadOf(payment).authorization.from as Hex;
const paidTo = (payment: FacilitatorRequest) => stage.chain.balanceOf(payment.paymentRequirements.payTo as Hex);

/** Uses one of the signer's counts outside of the facilitator, even if a pending transaction has it. */
async function takeCount(privateKey: Hex, nonce: number): Promise<void> {
  const account = privateKeyToAccount(privateKey);
  const wallet = createWalletClient({ account, transport: http(stage.chain.rpcUrl) });
  // The node suggests the last price, so each transaction must pay more than the one before.
  const gasPrice = HIGH_PRICE * 4n ** BigInt(nonce);
  await wallet.sendTransaction({ to: account.address, gas: 21_000n, gasPrice, nonce, chain: null });
}

/** A payment with a pending transaction, and a scheme that does not wait for it. */
async function openWaiting() {
  const privateKey = await stage.signer();
  const patience = openPatience(stage, { privateKey, rpcUrl: proxy.url });
  const payment = await stage.payment();
  patience.hasTime = false;
  await stage.chain.pauseMining();
  const { transaction, errorReason } = await patience.scheme.settle(payment);
  expect(errorReason).toBe("settlement_pending");
  return { privateKey, patience, scheme: patience.scheme, payment, transaction };
}

describe("a transaction that is crowded out", () => {
  test("a crowded-out transaction is not a success, and the payment is sent again with another count", async () => {
    const { privateKey, patience, scheme, payment, transaction } = await openWaiting();
    await takeCount(privateKey, 0);
    // The other transaction is not on chain either, so it is undecided which one is crowded out.
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "settlement_pending", transaction });
    patience.hasTime = true;
    const sent = proxy.calls.length;
    const settling = scheme.settle(payment);
    await proxy.next(LOOK, 5);
    expect(proxy.calls.slice(sent)).not.toContain(SENDING);
    expect(await stage.chain.balanceOf(payerOf(payment))).toBe(AMOUNT);
    await stage.chain.resumeMining();

    const again = await settling;
    expectPaid(again);
    expect(again.transaction).not.toBe(transaction);
    expect(await paidTo(payment)).toBe(AMOUNT);
    expect(await countOf(privateKey)).toBe(2);
    const repeat = { errorReason: "payment_already_settled", transaction: again.transaction };
    expect(await scheme.settle(payment)).toMatchObject(repeat);
  });

  test("two facilitators of one account that crowd each other out both settle", async () => {
    const privateKey = await stage.signer();
    const rival = { privateKey, rpcUrl: proxy.url };
    const [first, second] = [openPatience(stage, { privateKey }), openPatience(stage, rival)];
    const payments = [await stage.payment(), await stage.payment()] as const;
    // The second has not heard of the first one's transaction, and takes the fees to be higher.
    const price = await stage.client.getGasPrice();
    const block = await stage.rpc("eth_getBlockByNumber", "latest", false);
    const dear = { ...(block as object), baseFeePerGas: toHex(price * 2n) };
    let counts = 0;
    proxy.decide(({ method }) => {
      if (method === "eth_getBlockByNumber") return { result: dear };
      return method === "eth_getTransactionCount" && counts++ === 0 ? { result: "0x0" } : "pass";
    });
    await stage.chain.pauseMining();
    first.hasTime = false;
    const { transaction, errorReason } = await first.scheme.settle(payments[0]);
    expect(errorReason).toBe("settlement_pending");
    first.hasTime = true;
    const looked = proxy.next(LOOK);
    const settling = second.scheme.settle(payments[1]);
    await looked;
    await stage.chain.resumeMining();
    const responses = [await settling, await first.scheme.settle(payments[0])];
    for (const response of responses) expectPaid(response);
    expect(responses[1]?.transaction).not.toBe(transaction);
    expect(await countOf(privateKey)).toBe(2);
  });

  test("a crowded-out transaction is replaced once for all callers, and succeeds for one of them", async () => {
    const { privateKey, patience, scheme, payment, transaction: crowdedOut } = await openWaiting();
    await takeCount(privateKey, 0);
    await stage.chain.resumeMining();
    patience.hasTime = true;
    const responses = await Promise.all(Array.from({ length: 5 }, () => scheme.settle(payment)));
    const later = await Promise.all(Array.from({ length: 5 }, () => scheme.settle(payment)));
    const [won, ...others] = [...responses, ...later].toSorted((a, b) => Number(b.success) - Number(a.success));
    expectPaid(won);
    expect(won?.transaction).not.toBe(crowdedOut);
    const { transaction } = won ?? {};
    const told = { success: false, errorReason: "payment_already_settled", transaction };
    for (const response of others) expect(response).toMatchObject(told);
    expect(await paidTo(payment)).toBe(AMOUNT);
    expect(await countOf(privateKey)).toBe(2);
  });

  test("a transaction crowded out at the end of the waiting time is refused, charges no payer, and is sent again by the next call", async () => {
    const { privateKey, patience, scheme, payment, transaction } = await openWaiting();
    await takeCount(privateKey, 0);
    await stage.chain.resumeMining();
    const sent = proxy.calls.filter((method) => method === SENDING).length;
    // Many callers may wait for it, and all get the same response.
    const responses = await Promise.all([scheme.settle(payment), scheme.settle(payment)]);
    expect(responses).toMatchObject([DROPPED, DROPPED]);
    // Each has handed it over again, and has sent nothing else.
    expect(proxy.calls.filter((method) => method === SENDING)).toHaveLength(sent + 2);
    expect(await stage.chain.balanceOf(payerOf(payment))).toBe(AMOUNT);
    patience.hasTime = true;
    const again = await scheme.settle(payment);
    expectPaid(again);
    expect(again.transaction).not.toBe(transaction);
    expect(await countOf(privateKey)).toBe(2);
  });

  test("a payment crowded out three times is refused, charges no payer, leaves no gap, and can be settled later", async () => {
    const privateKey = await stage.signer();
    const { scheme } = openPatience(stage, { privateKey, rpcUrl: proxy.url });
    const payment = await stage.payment();
    await stage.chain.pauseMining();
    let sending = proxy.next(SENDING);
    const settling = scheme.settle(payment);
    const transactions = new Set<unknown>();
    for (let nonce = 0; nonce < 3; nonce += 1) {
      await sending;
      const { params } = await proxy.next(LOOK);
      transactions.add(params[0]);
      await takeCount(privateKey, nonce);
      sending = proxy.next(SENDING);
      await stage.chain.mine();
    }
    expect(await settling).toMatchObject(DROPPED);
    expect(transactions.size).toBe(3);
    expect(await stage.chain.balanceOf(payerOf(payment))).toBe(AMOUNT);
    await stage.chain.resumeMining();
    expect(await countOf(privateKey)).toBe(3);

    const later = await scheme.settle(payment);
    expectPaid(later);
    expect(transactions).not.toContain(later.transaction);
    expect(await paidTo(payment)).toBe(AMOUNT);
    expect(await countOf(privateKey)).toBe(4);
  });

  test("a call that saw a transaction crowded out gives no final refusal, even if the payer has spent the money meanwhile", async () => {
    const { privateKey, patience, scheme, payment } = await openWaiting();
    await takeCount(privateKey, 0);
    const payer = payerOf(payment);
    await stage.rpc("anvil_setBalance", payer, "0xde0b6b3a7640000");
    await stage.rpc("anvil_impersonateAccount", payer);
    const data = encodeFunctionData({ abi: TOKEN, functionName: "transfer", args: [newAddress(), 1n] });
    const call = { from: payer, to: stage.chain.asset, data, gas: "0x30d40", gasPrice: toHex(HIGH_PRICE) };
    await stage.rpc("eth_sendTransaction", call);
    await stage.chain.resumeMining();
    patience.hasTime = true;
    const why = { errorMessage: "the payer has less than the amount", transaction: "" };
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "unexpected_settle_error", ...why });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "insufficient_funds", ...why });
    expect(await countOf(privateKey)).toBe(1);
  });

  test("a transaction that the node has lost is sent again", async () => {
    const { patience, scheme, payment, transaction } = await openWaiting();
    await stage.rpc("anvil_dropTransaction", transaction);
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "settlement_pending", transaction });
    await stage.chain.resumeMining();
    patience.hasTime = true;
    expect(await scheme.settle(payment)).toMatchObject({ success: true, transaction });
  });
});
