/**
 * The seller's side looks for payments on a chain with Circle's token. No facilitator is asked.
 */
import { type ChainFinding, createRpcNode, type FacilitatorRequest } from "@farebox/core";
import { exactEvm } from "@farebox/evm";
import { createPayer } from "@farebox/testing";
import { encodeFunctionData, type Hex, parseSignature, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { openProxiedStage } from "../facilitator/proxied-stage.js";
import { once } from "../facilitator/rpc-proxy.js";
import { AMOUNT, createOffer, newAddress, payloadOf, receiptOf, signFor, TOKEN } from "../facilitator/stage.js";

const { stage, proxy } = await openProxiedStage();

async function find({ paymentPayload, paymentRequirements }: FacilitatorRequest): Promise<ChainFinding | undefined> {
  const rpc = createRpcNode(proxy.url, { deadlineMs: 120_000 });
  return exactEvm().findPayment?.({ payload: paymentPayload.payload, requirements: paymentRequirements, rpc });
}

/** A test may have moved the chain's clock ahead of this machine's. */
async function chainTime() {
  const seconds = await stage.chain.now();
  return { now: () => seconds * 1000 };
}

async function pay(): Promise<FacilitatorRequest> {
  return stage.payment(await chainTime());
}

describe("a payment that was carried out", () => {
  test("a payment has moved, in its transaction, once it is in a block", async () => {
    const payment = await pay();
    expect(await find(payment)).toEqual({ kind: "open" });
    await stage.chain.pauseMining();
    const transaction = await stage.sendAhead(payment);
    expect(await find(payment)).toEqual({ kind: "open" });
    await stage.chain.resumeMining();
    expect(await find(payment)).toEqual({ kind: "moved", transaction });
  });

  test("a payment has moved even after its expiry and many blocks later", async () => {
    const payment = await pay();
    const transaction = await stage.frontRun(payment);
    await stage.rpc("anvil_mine", toHex(100), toHex(60));
    expect(await find(payment)).toEqual({ kind: "moved", transaction });
  });

  test("a payment of a contract wallet has moved", async () => {
    const privateKey = generatePrivateKey();
    const wallet = await stage.chain.deployWallet(privateKeyToAccount(privateKey).address);
    await stage.chain.fund(wallet, { usdc: AMOUNT });
    const payer = createPayer({ privateKey, wallet });
    const payment = await signFor(payer, createOffer(), await chainTime());
    const { success, transaction } = await stage
      .scheme({ privateKey: await stage.signer() }, (await chainTime()).now)
      .settle(payment);
    expect(success).toBe(true);
    expect(await find(payment)).toEqual({ kind: "moved", transaction });
  });

  test("a payment is unclear while the node does not tell", async () => {
    const payment = await pay();
    const transaction = await stage.frontRun(payment);
    for (const method of [
      "eth_chainId",
      "eth_getBlockByNumber",
      "eth_call",
      "eth_getLogs",
      "eth_getTransactionReceipt",
    ]) {
      proxy.decide(once(method, "lose-response"));
      expect(await find(payment)).toMatchObject({ kind: "unclear", problem: expect.stringContaining(method) });
    }
    expect(await find(payment)).toEqual({ kind: "moved", transaction });
  });
});

describe("a payment that was not carried out", () => {
  test("an unused payment is open until it expires by the chain's clock", async () => {
    const payment = await pay();
    const left = Number(payloadOf(payment).authorization.validBefore) - (await stage.chain.now());
    await stage.chain.increaseTime(left - 30);
    expect(await find(payment)).toEqual({ kind: "open" });
    await stage.chain.increaseTime(31);
    expect(await find(payment)).toEqual({ kind: "never" });
  });

  test("a payment whose transaction failed is open", async () => {
    const payment = await pay();
    const payer = payloadOf(payment).authorization.from as Hex;
    const data = encodeFunctionData({ abi: TOKEN, functionName: "transfer", args: [newAddress(), 1n] });
    await stage.command(payer, data);
    const { status } = await receiptOf(stage.client, await stage.sendAhead(payment));
    expect(status).toBe("reverted");
    expect(await find(payment)).toEqual({ kind: "open" });
  });

  test("a cancelled payment never moves, although its nonce counts as used", async () => {
    const privateKey = generatePrivateKey();
    const account = privateKeyToAccount(privateKey);
    await stage.chain.fund(account.address, { usdc: AMOUNT });
    const payment = await signFor(createPayer({ privateKey }), createOffer(), await chainTime());
    const nonce = payloadOf(payment).authorization.nonce as Hex;
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
        message: { authorizer: account.address, nonce },
      }),
    );
    const args = [account.address, nonce, 27 + yParity, r, s] as const;
    await stage.command(newAddress(), encodeFunctionData({ abi: TOKEN, functionName: "cancelAuthorization", args }));
    expect(await find(payment)).toEqual({ kind: "never" });
  });

  test.each([
    { what: "to another recipient", change: { payTo: newAddress() } },
    { what: "of another amount", change: { amount: String(AMOUNT - 1n) } },
  ])("a payment never moves if the payer used its nonce for a payment $what", async ({ change }) => {
    const payer = await stage.payer(2n * AMOUNT);
    const offer = createOffer();
    const options = { ...(await chainTime()), nonce: toHex(7n, { size: 32 }) };
    const payment = await signFor(payer, offer, options);
    const other = await signFor(payer, { ...offer, ...change }, options);
    const transaction = await stage.frontRun(other);
    expect(await find(payment)).toEqual({ kind: "never" });
    expect(await find(other)).toEqual({ kind: "moved", transaction });
  });
});

test("a node of another chain decides nothing", async () => {
  const payment = await pay();
  proxy.decide(({ method }) => (method === "eth_chainId" ? { result: "0x2105" } : "pass"));
  expect(await find(payment)).toEqual({ kind: "unclear", problem: "the node is not of eip155:84532" });
});
