/**
 * Pays for a service once, finds it in the catalog by a description, and calls it from its entry alone.
 *
 * @module
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { affordable, createDiscoveryClient } from "@farebox/bazaar";
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { createExactEvmScheme, createRpcChain } from "@farebox/evm/facilitator";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { anvilAccounts, createPayer, pay, startLocalChain } from "@farebox/testing";
import express, { type Express } from "express";
import { createApp } from "./server.js";

const [signer, seller] = anvilAccounts;
assert.ok(signer !== undefined && seller !== undefined);
const { privateKey } = signer;

const chain = await startLocalChain();
const payer = createPayer();
await chain.fund(payer.address, { usdc: 10_000n });

const catalog = createCatalog({ store: createSqliteCatalogStore(), allowLocal: true });
const rpc = createRpcChain({ network: chain.network, rpcUrl: chain.rpcUrl, privateKey, pollingIntervalMs: 50 });
const facilitator = createFacilitator({ schemes: [createExactEvmScheme({ chain: rpc })], catalog });
const facilitatorServer = await listen(express().use(facilitatorRouter(facilitator, { open: true })));
const { app, payments } = createApp(facilitatorServer.url, seller.address);
const shop = await listen(app);

try {
  // A first payment lists the service.
  const first = await pay(`${shop.url}/weather/lisbon?units=metric`, { payer });
  assert.equal(first.status, 200);
  assert.equal(payments.listing("GET /weather/:city")?.status, "success");

  // Another client searches for such a service, in other words.
  const discovery = createDiscoveryClient({ url: facilitatorServer.url });
  const { entries } = await discovery.search({ query: "is it raining outside in my town?", type: "http" });
  const [entry] = affordable(entries, { asset: first.payment?.accepted.asset ?? "", maxAmount: "1000" });
  assert.equal(entry?.resource, `${shop.url}/weather/:city`);
  assert.deepEqual(
    (await discovery.findMine(seller.address)).map(({ resource }) => resource),
    [entry.resource],
  );

  // The entry says how to call the service: a template, and an example of the query.
  const input = entry.discoveryInfo?.["input"] as { method: "GET"; queryParams: Record<string, string> };
  const url = `${entry.resource.replace(":city", "porto")}?${new URLSearchParams(input.queryParams)}`;
  const called = await pay(url, { payer, method: input.method });
  assert.deepEqual(called.json(), { city: "porto", temperature: 22 });
  assert.equal(await chain.balanceOf(seller.address), 2_000n);
  console.log("found by its description, and called from the entry alone");
} finally {
  payments.close();
  await Promise.all([shop.close(), facilitatorServer.close(), catalog.close(), chain.close()]);
}

async function listen(served: Express): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(served).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
