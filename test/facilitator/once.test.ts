import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startRpcProxy } from "./rpc-proxy.js";
import { AMOUNT, createOffer, openStage, payloadOf, receiptOf, type Stage, signFor } from "./stage.js";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterEach(() => stage.chain.resumeMining());
afterAll(() => stage.close());

async function transactionsOf(privateKey: `0x${string}`): Promise<number> {
  const [address] = stage.scheme({ privateKey }).signers;
  return stage.client.getTransactionCount({ address: address as `0x${string}` });
}

describe("repeated settlement", () => {
  test("a payment succeeds for one of twenty callers, by one transaction, which all of them get", async () => {
    const privateKey = await stage.signer();
    const scheme = stage.scheme({ privateKey });
    const payment = await stage.payment();
    const responses = await Promise.all(Array.from({ length: 20 }, () => scheme.settle(payment)));

    const [won, ...others] = responses.toSorted((a, b) => Number(b.success) - Number(a.success));
    expect(won).toEqual({
      success: true,
      payer: payloadOf(payment).authorization.from,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: "eip155:84532",
      amount: "100",
    });
    for (const response of others) {
      expect(response).toMatchObject({
        success: false,
        errorReason: "payment_already_settled",
        transaction: won?.transaction,
      });
    }
    expect(await transactionsOf(privateKey)).toBe(1);
    expect(await stage.chain.balanceOf(payment.paymentRequirements.payTo as `0x${string}`)).toBe(AMOUNT);
  });

  test("a settled payment is reported with its transaction later, after expiry, and by a new process", async () => {
    const privateKey = await stage.signer();
    let now = Date.now();
    const scheme = stage.scheme({ privateKey }, () => now);
    const payment = await stage.payment();
    const { transaction } = await scheme.settle(payment);
    const repeat = { success: false, errorReason: "payment_already_settled", transaction };

    expect(await scheme.settle(payment)).toMatchObject(repeat);
    expect(await scheme.verify(payment)).toMatchObject({ isValid: false, invalidReason: "payment_already_settled" });
    expect(await stage.scheme({ privateKey }).settle(payment)).toMatchObject(repeat);
    now += 3_600_000;
    expect(await scheme.settle(payment)).toMatchObject(repeat);
    expect(await stage.scheme({ privateKey }, () => now).settle(payment)).toMatchObject(repeat);
    // A day later the facilitator has forgotten the payment, but the chain has not.
    now += 26 * 3_600_000;
    await scheme.settle(await stage.payment({ now: () => now }));
    expect(await scheme.settle(payment)).toMatchObject(repeat);
    expect(await transactionsOf(privateKey)).toBe(2);
  });

  test("a remembered payment is not looked up on chain again", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer() });
    const payment = await stage.payment();
    const { transaction } = await scheme.settle(payment);
    await stage.chain.pauseMining();
    const before = await stage.client.getBlockNumber({ cacheTime: 0 });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
    expect(await stage.client.getBlockNumber({ cacheTime: 0 })).toBe(before);
    await stage.chain.resumeMining();
  });

  test("a new process finds a payment as far back as lookbackBlocks, and never pays it again", async () => {
    const privateKey = await stage.signer();
    const payment = await stage.payment();
    const { transaction } = await stage.scheme({ privateKey }).settle(payment);
    for (let block = 0; block < 5; block += 1) await stage.chain.mine();

    const near = await stage.scheme({ privateKey, lookbackBlocks: 4 }).settle(payment);
    expect(near).toMatchObject({ success: false, errorReason: "invalid_transaction_state", transaction: "" });
    const far = await stage.scheme({ privateKey, lookbackBlocks: 5 }).settle(payment);
    expect(far).toMatchObject({ success: false, errorReason: "payment_already_settled", transaction });
    expect(await transactionsOf(privateKey)).toBe(1);
  });

  test("a payment is looked for in all blocks, in ranges that nodes accept", async () => {
    const privateKey = await stage.signer();
    const payment = await stage.payment();
    const { transaction } = await stage.scheme({ privateKey }).settle(payment);
    const proxy = await startRpcProxy(stage.chain.rpcUrl);
    const head = Number(await stage.client.getBlockNumber({ cacheTime: 0 })) + 20_000;
    const ranges: (readonly [number, number])[] = [];
    proxy.decide(({ method, params: [filter] }) => {
      if (method === "eth_blockNumber") return { result: `0x${head.toString(16)}` };
      const { fromBlock, toBlock } = (filter ?? {}) as Record<string, string>;
      if (method !== "eth_getLogs" || fromBlock === undefined) return "pass";
      ranges.push([Number(fromBlock), Number(toBlock)]);
      return Number(fromBlock) > head - 20_000 ? { result: [] } : "pass";
    });
    const again = await stage.scheme({ privateKey, rpcUrl: proxy.url, lookbackBlocks: 30_000 }).settle(payment);
    await proxy.close();

    expect(again).toMatchObject({ errorReason: "payment_already_settled", transaction });
    expect(ranges).toEqual([
      [head - 8_999, head],
      [head - 17_999, head - 9_000],
      [0, head - 18_000],
    ]);
  });
});

describe("a waiting transaction", () => {
  test("a waiting transaction is pending with its hash in each call, then succeeds once", async () => {
    const privateKey = await stage.signer();
    const scheme = stage.scheme({ privateKey, receiptTimeoutMs: 100 });
    const payment = await stage.payment();
    await stage.chain.pauseMining();
    const pending = await scheme.settle(payment);
    expect(pending).toMatchObject({
      success: false,
      errorReason: "settlement_pending",
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    expect(await Promise.all([scheme.settle(payment), scheme.settle(payment)])).toEqual([pending, pending]);
    expect(await scheme.verify(payment)).toMatchObject({ isValid: false, invalidReason: "settlement_pending" });

    await stage.chain.resumeMining();
    const { transaction } = pending;
    const both = await Promise.all([scheme.settle(payment), scheme.settle(payment)]);
    expect(both.filter(({ success }) => success)).toMatchObject([{ transaction }]);
    expect(both.filter(({ success }) => !success)).toMatchObject([
      { errorReason: "payment_already_settled", transaction },
    ]);
    expect(await transactionsOf(privateKey)).toBe(1);
  });

  test("a waiting payment is paid once if another process settles it too", async () => {
    const payment = await stage.payment();
    const before = stage.scheme({ privateKey: await stage.signer(), receiptTimeoutMs: 100 });
    const after = stage.scheme({ privateKey: await stage.signer(), receiptTimeoutMs: 100 });
    await stage.chain.pauseMining();
    expect(await before.settle(payment)).toMatchObject({ errorReason: "settlement_pending" });
    // The trial of a second transaction fails. That does not mean that the payment was not made.
    expect(await after.settle(payment)).toMatchObject({ success: false, errorReason: "unexpected_settle_error" });
    await stage.chain.resumeMining();

    const { success, transaction } = await before.settle(payment);
    expect(success).toBe(true);
    expect(await after.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
    expect(await stage.chain.balanceOf(payment.paymentRequirements.payTo as `0x${string}`)).toBe(AMOUNT);
  });

  test("a transaction counts once it is as deep as confirmations says", async () => {
    const scheme = stage.scheme({ privateKey: await stage.signer(), confirmations: 3, receiptTimeoutMs: 100 });
    const payment = await signFor(await stage.payer(), createOffer());
    const { errorReason, transaction } = await scheme.settle(payment);
    expect(errorReason).toBe("settlement_pending");
    // It is in the block before the two that are mined now.
    await receiptOf(stage.client, transaction as `0x${string}`);
    await stage.chain.mine();
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "settlement_pending" });
    await stage.chain.mine();
    expect(await scheme.settle(payment)).toMatchObject({ success: true });
  });
});
