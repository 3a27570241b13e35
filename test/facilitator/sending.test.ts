/**
 * Transactions of one signer: their order, their counts, and the next one after a refusal. Crowded-out transactions are in
 * `crowded-out.test.ts`.
 */
import type { FacilitatorRequest } from "@farebox/core";
import { createWalletClient, type Hex, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { expectPaid, openProxiedStage } from "./proxied-stage.js";
import { once, times } from "./rpc-proxy.js";
import { AMOUNT, createOffer, payloadOf, signFor } from "./stage.js";

const { stage, proxy } = await openProxiedStage();

const countOf = (privateKey: Hex) =>
  stage.client.getTransactionCount({ address: privateKeyToAccount(privateKey).address });

/** Sends a transaction of the signer outside of the facilitator, like another process with the same key. */
async function useElsewhere(privateKey: Hex) {
  const account = privateKeyToAccount(privateKey);
  const wallet = createWalletClient({ account, transport: http(stage.chain.rpcUrl) });
  return wallet.sendTransaction({ to: account.address, gas: 21_000n, gasPrice: 10n ** 10n, chain: null });
}

describe("one signer", () => {
  test("one signer settles sixteen payments at once, one transaction each, without a gap", async () => {
    const privateKey = await stage.signer();
    // Sixteen that ask often would keep the node busy with nothing else.
    const scheme = stage.scheme({ privateKey, pollingIntervalMs: 200 });
    const offer = createOffer();
    const payments: FacilitatorRequest[] = [];
    for (let at = 0; at < 16; at += 1) payments.push(await signFor(await stage.payer(), offer));

    const responses = await Promise.all(payments.map((payment) => scheme.settle(payment)));
    for (const response of responses) expectPaid(response);
    expect(responses.map(({ payer }) => payer)).toEqual(
      payments.map((payment) => payloadOf(payment).authorization.from),
    );
    expect(new Set(responses.map(({ transaction }) => transaction)).size).toBe(16);
    expect(await countOf(privateKey)).toBe(16);
    expect(await stage.chain.balanceOf(offer.payTo as Hex)).toBe(16n * AMOUNT);
  });

  test("a signer that another process uses too continues with the next free count", async () => {
    const privateKey = await stage.signer();
    const scheme = stage.scheme({ privateKey });
    expectPaid(await scheme.settle(await stage.payment()));
    await useElsewhere(privateKey);
    await useElsewhere(privateKey);
    expectPaid(await scheme.settle(await stage.payment()));
    expectPaid(await scheme.settle(await stage.payment()));
    expect(await countOf(privateKey)).toBe(5);
  });

  test("one signer settles for two facilitators at once", async () => {
    const privateKey = await stage.signer();
    const schemes = [stage.scheme({ privateKey }), stage.scheme({ privateKey })];
    const payments = await Promise.all(Array.from({ length: 8 }, () => stage.payment()));
    const responses = await Promise.all(payments.map((payment, at) => schemes[at % 2]?.settle(payment)));
    for (const response of responses) expectPaid(response);
    expect(await countOf(privateKey)).toBe(8);
  });

  test("a signer gives up after several taken counts, and leaves no gap", async () => {
    const privateKey = await stage.signer();
    const scheme = stage.scheme({ privateKey, rpcUrl: proxy.url });
    proxy.decide(times(16, "eth_sendRawTransaction", { code: -32_003, message: "nonce too low" }));
    const payment = await stage.payment();
    expect(await scheme.settle(payment)).toMatchObject({
      success: false,
      errorReason: "unexpected_settle_error",
      errorMessage: expect.stringContaining("other users of the account"),
      transaction: "",
    });
    expectPaid(await scheme.settle(payment));
    expect(await countOf(privateKey)).toBe(1);
  });
});

describe("a transaction that the node refuses", () => {
  const REFUSALS = [
    { why: "the price is too low", code: -32_000, message: "transaction underpriced" },
    { why: "the base fee rose", code: -32_000, message: "max fee per gas less than block base fee" },
    { why: "the signer has no money", code: -32_003, message: "insufficient funds for gas * price + value" },
    { why: "the node limits the rate", code: -32_005, message: "limit exceeded" },
  ];

  test.each(REFUSALS)(
    "a transaction that the node refuses because $why leaves no gap, and can be sent later",
    async ({ code, message }) => {
      const privateKey = await stage.signer();
      const scheme = stage.scheme({ privateKey, rpcUrl: proxy.url });
      expectPaid(await scheme.settle(await stage.payment()));
      proxy.decide(once("eth_sendRawTransaction", { code, message }));
      const [refused, next] = [await stage.payment(), await stage.payment()];
      const [first, second] = await Promise.all([scheme.settle(refused), scheme.settle(next)]);
      const responses = [first, second];
      expect(responses.filter(({ success }) => success)).toHaveLength(1);
      expect(responses.filter(({ success }) => !success)).toMatchObject([
        {
          errorReason: "unexpected_settle_error",
          errorMessage: `the transaction was not sent: the node said: ${message}`,
          transaction: "",
        },
      ]);
      expectPaid(await scheme.settle(first.success ? next : refused));
      expect(await countOf(privateKey)).toBe(3);
    },
  );

  test("a payment is settled once the signer has ETH", async () => {
    const privateKey = generatePrivateKey();
    const scheme = stage.scheme({ privateKey });
    const payment = await stage.payment();
    expect(await scheme.verify(payment)).toMatchObject({ isValid: true });
    expect(await scheme.health()).toMatchObject({ ok: false, problem: expect.stringContaining("nothing to pay") });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "unexpected_settle_error", transaction: "" });
    await stage.chain.fund(privateKeyToAccount(privateKey).address, { eth: 10n ** 18n });
    expect(await scheme.health()).toEqual({ ok: true, balance: expect.stringMatching(/^\d+$/) });
    expectPaid(await scheme.settle(payment));
    expect(await countOf(privateKey)).toBe(1);
  });

  test("a transaction is not made if the token takes more gas than maxGas", async () => {
    const privateKey = await stage.signer();
    const payment = await stage.payment();
    const frugal = stage.scheme({ privateKey, maxGas: 50_000 });
    expect(await frugal.settle(payment)).toMatchObject({
      errorReason: "unexpected_settle_error",
      errorMessage: expect.stringContaining("maxGas is 50000"),
      transaction: "",
    });
    expectPaid(await stage.scheme({ privateKey }).settle(payment));
  });
});

test("a node without a base fee gets legacy transactions", async () => {
  const scheme = stage.scheme({ privateKey: await stage.signer(), rpcUrl: proxy.url });
  const block = await stage.rpc("eth_getBlockByNumber", "latest", false);
  const legacy = { ...(block as object), baseFeePerGas: undefined };
  proxy.decide(({ method }) => (method === "eth_getBlockByNumber" ? { result: legacy } : "pass"));
  const { success, transaction } = await scheme.settle(await stage.payment());
  expect(success).toBe(true);
  const { type, gasPrice } = await stage.client.getTransaction({ hash: transaction as Hex });
  expect({ type, hasPrice: (gasPrice ?? 0n) > 0n }).toEqual({ type: "legacy", hasPrice: true });
});
