/**
 * The stage for the page in a browser: Chromium, a local chain with the real USDC, a local Solana VM, a facilitator for both, and sellers.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createPayments, type Payments, type PaymentsOptions, type RoutesConfig } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { anvilAccounts, type LocalChain, type LocalSvm, startLocalChain, startLocalSvm } from "@farebox/testing";
import express, { type Express } from "express";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { FEE_PAYER, keypair } from "../../packages/svm/src/payments.fixture.js";
import { type EvmAccount, type EvmWallet, injectEvmWallet, injectSolanaWallet, type WalletControl } from "./wallets.js";

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

/** Who pays there. */
export const SOLANA_PAYER = keypair(61);

/** A seller, and who is paid. */
export interface Shop {
  readonly url: string;
  readonly payee: Hex;
  readonly payments: Payments;
  /** The names of errors that it logged. */
  readonly errors: readonly string[];
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
    const errors: string[] = [];
    const payments = createPayments({
      facilitator: this.facilitator,
      payTo: { "eip155:*": payee, "solana:*": SOLANA_PAYEE },
      networks: [chain.network],
      rpc: { [chain.network]: chain.rpcUrl, [svm.network]: svm.rpcUrl },
      logger: { info() {}, warn() {}, error: (event: string) => void errors.push(event) },
      ...options,
    });
    this.#payments.push(payments);
    const app = express();
    app.get("/favicon.ico", (_req, res) => void res.status(204).end());
    before(app);
    app.use(payments.routes(routes));
    addHandlers(app);
    return { url: await this.serve(app), payee, payments, errors };
  }

  async serve(app: Express): Promise<string> {
    const server = createServer(app).listen(0, "127.0.0.1");
    this.#servers.push(server);
    await new Promise((listening) => server.once("listening", listening));
    return `http://localhost:${(server.address() as AddressInfo).port}`;
  }

  /** A new profile of the browser. The test's own time limit is the only one. */
  async context(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext(options);
    context.setDefaultTimeout(0);
    return context;
  }

  /** A window whose profile has a wallet, for one case after another. */
  async window(options: BrowserContextOptions = {}): Promise<Window> {
    const context = await this.context(options);
    const wallet = await injectEvmWallet(context, { ...(await this.payer()), rpcUrl: this.chain.rpcUrl });
    const sun = await injectSolanaWallet(context, { keypair: SOLANA_PAYER });
    return new Window(this, context, await context.newPage(), { wallet, sun });
  }

  async close(): Promise<void> {
    await this.browser.close();
    for (const server of this.#servers) {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    }
    for (const payments of this.#payments) await payments.close();
    await Promise.all([this.chain.close(), this.svm.close()]);
  }
}

/** What cases get: they run when the stage has started. */
export type Scene = () => { readonly stage: Stage; readonly window: Window };

/** A window of one person after another. A new one costs more than all that a case does in it. */
export class Window {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly wallet: EvmWallet;
  /** The wallet of {@link SOLANA_PAYER}. */
  readonly sun: WalletControl;
  /** Script errors and violations of policies since the last visit. */
  readonly complaints: string[];
  readonly #stage: Stage;

  constructor(stage: Stage, context: BrowserContext, page: Page, { wallet, sun }: Pick<Window, "wallet" | "sun">) {
    this.#stage = stage;
    this.context = context;
    this.page = page;
    this.wallet = wallet;
    this.sun = sun;
    this.complaints = listenToComplaints(page);
  }

  /** Somebody new sits down: the wallet has another account. */
  async arrive({
    usdc,
    eth,
    ...where
  }: Omit<Partial<EvmAccount>, "privateKey"> & {
    readonly usdc?: bigint;
    readonly eth?: bigint;
  } = {}): Promise<EvmPayer> {
    const payer = await this.#stage.payer(usdc, eth);
    this.wallet.become({ ...payer, rpcUrl: this.#stage.chain.rpcUrl, ...where });
    this.sun.reset();
    await this.page.unrouteAll({ behavior: "wait" });
    return payer;
  }

  async visit(url: string): Promise<Page> {
    this.complaints.length = 0;
    await this.page.goto(url);
    return this.page;
  }
}

/** Opens a page in a tab of its own. */
export async function openPage(context: BrowserContext, url: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints = listenToComplaints(page);
  await page.goto(url);
  return { page, complaints };
}

function listenToComplaints(page: Page): string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => void complaints.push(error.message));
  page.on("console", (message) => {
    // The browser notes each 4xx and 5xx.
    const isUsual = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isUsual) complaints.push(message.text());
  });
  return complaints;
}

/** Presses the button that pays. */
export function pay(page: Page): Promise<void> {
  return page.getByRole("button", { name: "Pay" }).click();
}

/** Waits until the page says that it is paid. */
export function paid(page: Page): Promise<void> {
  return page.getByRole("heading", { name: "Paid" }).waitFor();
}

/** Waits until the page tells this problem. */
export function told(page: Page, problem: string | RegExp): Promise<void> {
  const text =
    typeof problem === "string" ? new RegExp(`^${problem.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`) : problem;
  return page.locator("#problem .problem", { hasText: text }).waitFor();
}
