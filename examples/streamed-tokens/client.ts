/**
 * Reads tokens as they are made, and checks on a local chain that exactly these were paid for.
 *
 * @module
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createFacilitator } from "@farebox/facilitator";
import { anvilAccounts, startLocalChain } from "@farebox/testing";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";
import { readEvents } from "./events.js";
import { createApp } from "./server.js";

/** Atomic units of USDC. */
const PER_TOKEN = 20n;

/** What may be on its way when a client leaves: a tenth of a second of tokens. */
const IN_FLIGHT = 10;

const [signer, buyer, seller] = anvilAccounts;
assert.ok(signer !== undefined && buyer !== undefined && seller !== undefined);

const chain = await startLocalChain();
await chain.fund(buyer.address, { usdc: 10_000n });
// `upto` moves money by Permit2, which each payer approves once.
await chain.approvePermit2(buyer.address);
const { network, rpcUrl } = chain;
const rpcChain = createRpcChain({ network, rpcUrl, privateKey: signer.privateKey, pollingIntervalMs: 50 });
const facilitator = createFacilitator({ schemes: [createUptoEvmScheme({ chain: rpcChain })] });
const app = createApp({ facilitator, rpc: { [network]: rpcUrl } }, seller.address);
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/generate`;

const scheme = new UptoEvmScheme(privateKeyToAccount(buyer.privateKey));
const payingFetch = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network, client: scheme }] });
const income = () => chain.balanceOf(seller.address);

try {
  // The first token is here before anything is settled. The last event is the receipt.
  const first = await payingFetch(`${url}?tokens=30`);
  assert.equal(first.status, 200);
  const tokens: string[] = [];
  let receipt: { success?: boolean; amount?: string } = {};
  for await (const { event, data } of readEvents(first)) {
    if (tokens.length === 0) assert.equal(await income(), 0n);
    assert.deepEqual(receipt, {}, "the receipt is the last event");
    if (event === "message") tokens.push(data);
    else receipt = JSON.parse(data);
  }
  assert.equal(tokens.length, 30);
  assert.deepEqual([receipt.success, receipt.amount], [true, "600"]);
  assert.equal(await income(), 30n * PER_TOKEN);
  console.log(tokens.map((token) => JSON.parse(token)).join(" "));

  // A text without an end stops at the maximum that the payer has signed.
  const second = await payingFetch(url);
  const names: string[] = [];
  for await (const { event } of readEvents(second)) names.push(event);
  assert.equal(names.filter((name) => name === "message").length, 50);
  assert.deepEqual(names.slice(50), ["payment-limit", "payment-receipt"]);
  assert.equal(await income(), 80n * PER_TOKEN);

  // A client that has read enough leaves. It pays for what went out.
  const leaving = new AbortController();
  const third = await payingFetch(url, { signal: leaving.signal });
  let received = 0;
  try {
    for await (const { event } of readEvents(third)) {
      assert.equal(event, "message");
      received += 1;
      if (received === 15) leaving.abort();
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
  }
  const settled = await fetchReceipt(third.headers.get("PAYMENT-RECEIPT-URL"));
  const paidFor = BigInt(settled.amount) / PER_TOKEN;
  assert.ok(paidFor >= received && paidFor <= received + IN_FLIGHT, `received ${received}, paid for ${paidFor}`);
  assert.equal(await income(), (80n + paidFor) * PER_TOKEN);

  assert.equal(await chain.balanceOf(buyer.address), 10_000n - (await income()));
  console.log(`30 tokens, then 50 of an endless text, then ${paidFor} until the client left: each was paid for once`);
} finally {
  server.closeAllConnections();
  server.close();
  await chain.close();
}

/** Asks for a receipt until its payment has settled. */
async function fetchReceipt(from: string | null): Promise<{ readonly amount: string }> {
  assert.ok(from !== null);
  for (;;) {
    const response = await fetch(from);
    if (response.status !== 202) {
      assert.equal(response.status, 200);
      return (await response.json()) as { readonly amount: string };
    }
    await setTimeout(100);
  }
}
