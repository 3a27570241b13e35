/**
 * The stage for the page in a browser: Chromium, a local chain with the real USDC, a local Solana VM, a facilitator for both, and sellers.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createPayments, type Payments, type PaymentsOptions, type RoutesConfig } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { anvilAccounts, type LocalChain, type LocalSvm, startLocalChain, startLocalSvm } from "@farebox/testing";
import express, { type Express } from "express";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { FEE_PAYER, keypair } from "../../packages/svm/src/payments.fixture.js";

/** The usual path of Chromium; `CHROMIUM` overrides it. */
const PLACES = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** `undefined`: there is none, and nothing is tested in a browser. */
export const CHROMIUM: string | undefined = PLACES.find((place) => place !== undefined && existsSync(place));
if (CHROMIUM === undefined) {
  console.warn("No Chromium was found: the page is NOT tested in a browser. CHROMIUM=/path/to/it says where.");
}

type Hex = `0x${string}`;

/** Who is paid on Solana. */
export const SOLANA_PAYEE: string = keypair(60).publicKey.toBase58();

/** A seller, and who is paid. */
export interface Shop {
  readonly url: string;
  readonly payee: Hex;
  readonly payments: Payments;
}

/** A payer on EVM. */
export interface EvmPayer {
  readonly privateKey: Hex;
  readonly address: Hex;
}

/** Everything that runs. */
export class Stage {
  readonly chain: LocalChain;
  readonly svm: LocalSvm;
  readonly browser: Browser;
  readonly #servers: Server[] = [];
  readonly #payments: Payments[] = [];
  readonly facilitator;

  private constructor(chain: LocalChain, svm: LocalSvm, browser: Browser) {
    this.chain = chain;
    this.svm = svm;
    this.browser = browser;
    const evm = createRpcChain({
      network: chain.network,
      rpcUrl: chain.rpcUrl,
      privateKey: anvilAccounts[0]?.privateKey ?? "0x",
      pollingIntervalMs: 25,
    });
    const solana = createRpcSvmChain({
      network: svm.network,
      rpcUrl: svm.rpcUrl,
      privateKey: FEE_PAYER.secretKey,
      pollingIntervalMs: 10,
    });
    this.facilitator = createFacilitator({
      schemes: [
        createExactEvmScheme({ chain: evm }),
        createUptoEvmScheme({ chain: evm }),
        createExactSvmScheme({ chain: solana }),
      ],
    });
  }

  static async start(): Promise<Stage> {
    const [chain, svm, browser] = await Promise.all([
      startLocalChain(),
      startLocalSvm(),
      chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox"] }),
    ]);
    svm.airdrop(FEE_PAYER.publicKey.toBase58(), 10_000_000_000n);
    svm.setBalance(SOLANA_PAYEE, 0n);
    return new Stage(chain, svm, browser);
  }

  /** A new payer with USDC. Without a coin for gas, unless it is asked for. */
  async payer(usdc = 1_000_000n, eth = 0n): Promise<EvmPayer> {
    const privateKey = generatePrivateKey();
    const { address } = privateKeyToAccount(privateKey);
    await this.chain.fund(address, { usdc, eth });
    return { privateKey, address };
  }

  /** Sells routes on both networks. */
  async sell(
    routes: RoutesConfig,
    addHandlers: (app: Express) => void,
    { before = () => {}, ...options }: Partial<PaymentsOptions> & { readonly before?: (app: Express) => void } = {},
  ): Promise<Shop> {
    const { address: payee } = privateKeyToAccount(generatePrivateKey());
    const { chain, svm } = this;
    const payments = createPayments({
      facilitator: this.facilitator,
      payTo: { "eip155:*": payee, "solana:*": SOLANA_PAYEE },
      networks: [chain.network],
      rpc: { [chain.network]: chain.rpcUrl, [svm.network]: svm.rpcUrl },
      logger: { info() {}, warn() {}, error: (event: string, fields: object) => console.error(event, fields) },
      ...options,
    });
    this.#payments.push(payments);
    const app = express();
    app.get("/favicon.ico", (_req, res) => void res.status(204).end());
    before(app);
    app.use(payments.routes(routes));
    addHandlers(app);
    return { url: await this.serve(app), payee, payments };
  }

  async serve(app: Express): Promise<string> {
    const server = createServer(app).listen(0, "127.0.0.1");
    this.#servers.push(server);
    await new Promise((listening) => server.once("listening", listening));
    return `http://localhost:${(server.address() as AddressInfo).port}`;
  }

  context(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    return this.browser.newContext(options);
  }

  async close(): Promise<void> {
    await this.browser.close();
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
    for (const payments of this.#payments) await payments.close();
    await Promise.all([this.chain.close(), this.svm.close()]);
  }
}

/** A page whose script errors and policy violations fail the test: they are in the list. */
export async function openPage(context: BrowserContext, url: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => void complaints.push(error.message));
  page.on("console", (message) => {
    // The browser notes each 4xx and 5xx.
    const isUsual = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isUsual) complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints };
}
