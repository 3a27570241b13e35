/**
 * Payments by the client classes of `@x402`, which know nothing of Farebox, on a local EVM chain and a Solana network.
 *
 * {@link payAsReference} does what the reference's own MCP client does: it reads the PaymentRequired of an error result from
 * `structuredContent` or else from the first text, and calls the tool again with the payment in `_meta`.
 */
import type { PaymentsOptions } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { startLocalSvm } from "@farebox/testing";
import { generateKeyPairSigner } from "@solana/kit";
import { x402Client } from "@x402/core/client";
import { isPaymentRequired } from "@x402/core/schemas";
import { ExactEvmScheme } from "@x402/evm";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import express from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { FEE_PAYER, PAY_TO } from "../../packages/svm/src/payments.fixture.js";
import { type Bank, openChain } from "../faults/bank.js";
import { listen } from "../interop/servers.js";
import { challengeOf, openShop, PRICE, receiptOf, type Shop, type ShopPlan, textOf } from "./shop.js";

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** Calls, pays the challenge, and calls again. */
async function payAsReference(shop: Shop, wallet: x402Client, name: string) {
  const asked = await shop.ask({ name });
  const found = [asked.structuredContent, challengeOf(asked)].find((value) => isPaymentRequired(value));
  expect(asked.isError).toBe(true);
  const payment = await wallet.createPaymentPayload(found as Parameters<x402Client["createPaymentPayload"]>[0]);
  return shop.ask({ name, payment });
}

describe("on an EVM chain", () => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openChain();
  });
  afterAll(() => bank.close());

  const SELL: ShopPlan["sell"] = (tools, { count }) => {
    tools.tool("goods", { price: "$0.01", description: "Goods" }, () => text(`run ${count()}`));
    const outputSchema = { runs: z.number() };
    tools.tool("typed", { price: "$0.01", outputSchema }, () => ({
      content: [],
      structuredContent: { runs: count() },
    }));
  };

  test.each(["goods", "typed"])("the reference client pays for %s by EIP-3009", async (name) => {
    const shop = await openShop({ bank, sell: SELL });
    // Listing the tools makes the SDK's client validate their results.
    await shop.client.listTools();
    const account = privateKeyToAccount(generatePrivateKey());
    await bank.fund(account.address, PRICE);
    const wallet = new x402Client().register("eip155:*", new ExactEvmScheme(account));
    const bought = await payAsReference(shop, wallet, name);
    expect(bought.isError).toBeUndefined();
    expect(receiptOf(bought)).toMatchObject({ success: true, payer: account.address });
    expect([await shop.income(), await bank.balanceOf(account.address)]).toEqual([PRICE, 0n]);
  });
});

describe("on Solana", () => {
  test("the reference client pays for a tool on Solana", async () => {
    const network = await startLocalSvm();
    const running: { close(): Promise<void> }[] = [network];
    try {
      network.airdrop(FEE_PAYER.publicKey.toBase58(), 10_000_000_000n);
      const payer = await generateKeyPairSigner();
      network.setBalance(payer.address, PRICE);
      network.setBalance(PAY_TO.toBase58(), 0n);
      const chain = createRpcSvmChain({
        network: network.network,
        rpcUrl: network.rpcUrl,
        privateKey: FEE_PAYER.secretKey,
        pollingIntervalMs: 10,
      });
      const facilitator = createFacilitator({ schemes: [createExactSvmScheme({ chain })] });
      const server = await listen(express().use(facilitatorRouter(facilitator, { open: true })));
      running.push(server);
      const accepts = { price: "$0.01", network: network.network, payTo: PAY_TO.toBase58() } as const;
      const options: Partial<PaymentsOptions> = { facilitator: server.url };
      const shop = await openShop({
        options,
        sell: (tools, { count }) => tools.tool("goods", { accepts }, () => text(`run ${count()}`)),
      });
      const wallet = new x402Client().register("solana:*", new ExactSvmScheme(payer, { rpcUrl: network.rpcUrl }));
      const bought = await payAsReference(shop, wallet, "goods");
      expect(textOf(bought)).toBe("run 1");
      expect(receiptOf(bought)).toMatchObject({ success: true, payer: payer.address, network: network.network });
      expect([network.balanceOf(PAY_TO.toBase58()), network.balanceOf(payer.address)]).toEqual([PRICE, 0n]);
    } finally {
      for (const one of running.reverse()) await one.close();
    }
  });
});
