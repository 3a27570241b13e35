/**
 * The servers of the demo, on this machine: a chain, a facilitator and a seller. Also a payer with money.
 *
 * @module
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { anvilAccounts, type LocalChain, startLocalChain } from "@farebox/testing";
import express, { type Express } from "express";
import { DemoError } from "./demo-error.js";
import { type Shop, startProcesses } from "./processes.js";
import { createSeller } from "./seller.js";

/** The accounts of the demo. Their keys come with anvil, and are public. */
const [signer, payer, seller] = anvilAccounts;

/** Ports to listen on; 0 takes a free one. */
export interface Ports {
  readonly seller: number;
  readonly facilitator: number;
  readonly chain: number;
}

/** What to start. */
export interface StageOptions {
  readonly ports: Ports;
  /** Processes of the seller. With several, each has a port of its own, and they share an SQLite file. */
  readonly processes: number;
}

/** The running servers and the accounts. */
export interface Stage {
  readonly chain: LocalChain;
  readonly facilitatorUrl: string;
  readonly sellerUrl: string;
  /** All processes of the seller. */
  readonly shop: Shop;
  readonly payer: { readonly address: `0x${string}`; readonly privateKey: `0x${string}` };
  readonly seller: { readonly address: `0x${string}` };
  close(): Promise<void>;
}

/** Starts all servers. Calls `progress` before each slow step. */
export async function setStage({ ports, processes }: StageOptions, progress: (step: string) => void): Promise<Stage> {
  if (signer === undefined || payer === undefined || seller === undefined) throw new DemoError("no accounts");
  const opened: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const end of opened.splice(0).reverse()) await end();
  };
  await requireFree(ports);
  try {
    progress("starting a local EVM chain with USDC on it");
    const chain = await startLocalChain({ port: ports.chain });
    opened.push(() => chain.close());
    await chain.fund(payer.address, { usdc: 10_000_000n });
    // `upto` moves money by Permit2, which each payer approves once.
    await chain.approvePermit2(payer.address);

    progress("starting a facilitator");
    const facilitator = await listen(createFacilitatorApp(chain, signer.privateKey), ports.facilitator);
    opened.push(facilitator.close);

    progress(processes === 1 ? "starting the seller" : `starting ${processes} processes of the seller`);
    const shop =
      processes === 1
        ? await startSeller(seller.address, facilitator.url, ports.seller)
        : await startProcesses(seller.address, facilitator.url, processes);
    opened.push(shop.close);
    return { chain, facilitatorUrl: facilitator.url, sellerUrl: shop.urls[0], shop, payer, seller, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** It serves any seller on this machine, so it is opened by word. Its gas costs nothing. */
function createFacilitatorApp({ network, rpcUrl }: LocalChain, privateKey: `0x${string}`): Express {
  const chain = createRpcChain({ network, rpcUrl, privateKey, pollingIntervalMs: 50 });
  const schemes = [createExactEvmScheme({ chain }), createUptoEvmScheme({ chain })];
  const catalog = createCatalog({ store: createSqliteCatalogStore(), allowLocal: true });
  const app = express();
  app.use(facilitatorRouter(createFacilitator({ schemes, catalog }), { open: true }));
  return app;
}

async function startSeller(payTo: `0x${string}`, facilitatorUrl: string, port: number): Promise<Shop> {
  const { url, close } = await listen(createSeller(payTo, facilitatorUrl), port);
  return { urls: [url], runs: [], close };
}

async function listen(
  app: Express,
  port: number,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = app.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: actual } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${actual}`, close };
}

/** Checks that the ports are free before a server starts. */
async function requireFree(ports: Ports): Promise<void> {
  for (const port of Object.values(ports)) {
    const probe = createServer().listen(port, "127.0.0.1");
    try {
      await once(probe, "listening");
    } catch {
      throw new DemoError(
        `port ${port} is in use: stop the process that listens there, or choose other ports with --port N`,
      );
    } finally {
      probe.close();
    }
  }
}
