/**
 * Requests texts of several lengths, and checks on a local chain what each has cost.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createFacilitator } from "@farebox/facilitator";
import { anvilAccounts, createPayer, pay, startLocalChain } from "@farebox/testing";
import { createApp } from "./server.js";

const [signer, seller] = anvilAccounts;
assert.ok(signer !== undefined && seller !== undefined);

const chain = await startLocalChain();
try {
  const payer = createPayer();
  await chain.fund(payer.address, { usdc: 10_000n });
  // `upto` moves money by Permit2, which each payer approves once.
  await chain.approvePermit2(payer.address);
  const { network, rpcUrl } = chain;
  const rpcChain = createRpcChain({ network, rpcUrl, privateKey: signer.privateKey, pollingIntervalMs: 50 });
  const facilitator = createFacilitator({ schemes: [createUptoEvmScheme({ chain: rpcChain })] });
  const app = createApp(facilitator, seller.address);
  const ask = (body: unknown) => pay(app, { path: "/generate", body, payer });
  const income = () => chain.balanceOf(seller.address);

  // The challenge names the maximum.
  const unpaid = await pay(app, { path: "/generate", body: { prompt: "a b c" } });
  assert.deepEqual([unpaid.status, unpaid.challenge?.accepts[0]?.amount], [402, "1000"]);

  // Three tokens cost three times the price of a token.
  const three = await ask({ prompt: "sunny is it" });
  assert.deepEqual(three.json(), { text: "it is sunny", tokens: 3 });
  assert.equal(three.receipt?.amount, "300");
  assert.equal(await income(), 300n);

  // A long prompt costs no more than the signed maximum.
  const long = await ask({ prompt: "word ".repeat(1_000) });
  assert.deepEqual([(long.json() as { tokens: number }).tokens, long.receipt?.amount], [10, "1000"]);
  assert.equal(await income(), 1_300n);

  // An empty text is not charged, and needs no transaction.
  const nothing = await ask({ prompt: "" });
  assert.deepEqual([nothing.status, nothing.receipt?.amount, nothing.receipt?.transaction], [200, "0", ""]);

  // An error response is not charged.
  const wrong = await ask({ words: 5 });
  assert.deepEqual([wrong.status, wrong.receipt?.errorReason], [422, "not_charged"]);

  assert.equal(await income(), 1_300n);
  assert.equal(await chain.balanceOf(payer.address), 8_700n);
  console.log("each text was charged by its tokens");
} finally {
  await chain.close();
}
