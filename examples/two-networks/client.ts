/**
 * Two independent clients pay for the same route, each on its own local network.
 *
 * @module
 */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createExactEvmScheme, createRpcChain } from "@farebox/evm/facilitator";
import { createFacilitator } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { anvilAccounts, pay, startLocalChain, startLocalSvm } from "@farebox/testing";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm";
import { privateKeyToAccount } from "viem/accounts";
import { createApp } from "./server.js";

const [sponsor, buyer, seller] = anvilAccounts;
assert.ok(sponsor !== undefined && buyer !== undefined && seller !== undefined);
const [feePayerKey, solanaBuyerKey] = [createSolanaKey(), createSolanaKey()];
const feePayer = (await createKeyPairSignerFromBytes(feePayerKey)).address;
const solanaBuyer = await createKeyPairSignerFromBytes(solanaBuyerKey);
const solanaSeller = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";

const [chain, solana] = await Promise.all([startLocalChain(), startLocalSvm()]);
await chain.fund(buyer.address, { usdc: 5_000n });
solana.airdrop(feePayer, 1_000_000_000n);
solana.setBalance(solanaBuyer.address, 5_000n);
solana.setBalance(solanaSeller, 0n);

// One facilitator for both networks. A deployed seller would name the URL of a public one.
const { network, rpcUrl } = chain;
const evmChain = createRpcChain({ network, rpcUrl, privateKey: sponsor.privateKey, pollingIntervalMs: 50 });
const svmChain = createRpcSvmChain({
  network: solana.network,
  rpcUrl: solana.rpcUrl,
  privateKey: feePayerKey,
  pollingIntervalMs: 50,
});
const facilitator = createFacilitator({
  schemes: [createExactEvmScheme({ chain: evmChain }), createExactSvmScheme({ chain: svmChain })],
});
const app = createApp(facilitator, { evm: seller.address, solana: solanaSeller });
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`;

try {
  // The challenge offers both networks, at one price.
  const { challenge } = await pay(url);
  assert.deepEqual(
    challenge?.accepts.map(({ network: where, amount }) => [where, amount]),
    [
      ["eip155:84532", "1000"],
      ["solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "1000"],
    ],
  );

  // The first client has USDC only on the EVM network.
  const evmScheme = new ExactEvmScheme(privateKeyToAccount(buyer.privateKey));
  const onEvm = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "eip155:*", client: evmScheme }] });
  const first = await onEvm(url);
  assert.deepEqual([first.status, await first.json()], [200, sunny("eip155:84532", buyer.address)]);
  assert.equal(await chain.balanceOf(buyer.address), 4_000n);
  assert.equal(await chain.balanceOf(seller.address), 1_000n);

  // The second client has USDC only on Solana. It needs no SOL: the facilitator pays the fee.
  const svmScheme = new ExactSvmScheme(solanaBuyer, { rpcUrl: solana.rpcUrl });
  const onSolana = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "solana:*", client: svmScheme }] });
  const second = await onSolana(url);
  assert.deepEqual([second.status, await second.json()], [200, sunny(solana.network, solanaBuyer.address)]);
  assert.equal(solana.balanceOf(solanaBuyer.address), 4_000n);
  assert.equal(solana.balanceOf(solanaSeller), 1_000n);

  // Each payment moved money on one network only.
  assert.equal(await chain.balanceOf(seller.address), 1_000n);
  console.log("one route, paid once on each network");
} finally {
  server.closeAllConnections();
  server.close();
  await Promise.all([chain.close(), solana.close()]);
}

function sunny(paidOn: string, paidBy: string) {
  return { weather: "sunny", paidOn, paidBy };
}

/** The private and the public key, 32 bytes each: the format of Solana wallets. */
function createSolanaKey(): Uint8Array {
  const { d = "", x = "" } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  return Buffer.concat([Buffer.from(d, "base64url"), Buffer.from(x, "base64url")]);
}
