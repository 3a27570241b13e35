/**
 * Pays the seller on a local chain, and checks the balances.
 *
 * @module
 */
import assert from "node:assert/strict";
import { anvilAccounts, createPayer, pay, startLocalChain } from "@farebox/testing";
import { createApp } from "./server.js";

const [signer, seller] = anvilAccounts;
assert.ok(signer !== undefined && seller !== undefined);

const chain = await startLocalChain();
try {
  const payer = createPayer();
  await chain.fund(payer.address, { usdc: 10_000n });
  const { network, rpcUrl } = chain;
  const app = createApp({ network, rpcUrl, privateKey: signer.privateKey, payTo: seller.address });

  const paid = await pay(app, { path: "/weather", payer });
  assert.equal(paid.status, 200);
  assert.deepEqual(paid.json(), { weather: "sunny", paidBy: payer.address });
  assert.match(paid.receipt?.transaction ?? "", /^0x[0-9a-f]{64}$/);
  assert.equal(await chain.balanceOf(payer.address), 9_000n);
  assert.equal(await chain.balanceOf(seller.address), 1_000n);
  console.log("paid on chain, without a third party");
} finally {
  await chain.close();
}
