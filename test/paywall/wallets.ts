/**
 * Wallets in a real browser: one that announces itself by EIP-6963 and signs for a local chain, and one of the Wallet Standard. They are
 * injected as extensions do it, into every page, and sign in this process.
 *
 * @module
 */
import type { BrowserContext } from "playwright-core";
import { createWalletClient, type Hex, http, type TypedDataDefinition } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";
import { type Keypair, VersionedTransaction } from "../../packages/svm/src/payments.fixture.js";

/** What a wallet was asked, and how a test makes it misbehave. */
export class WalletControl {
  readonly calls: { readonly method: string; readonly params: unknown }[] = [];
  /** Methods that the person declines. */
  readonly declines = new Set<string>();
  /** Methods that fail with this error. */
  readonly fails = new Map<string, { readonly code: number; readonly message: string }>();
  /** Methods that return something else than they should. */
  readonly returns = new Map<string, unknown>();
  /** What methods wait for. */
  readonly waits = new Map<string, Promise<unknown>>();

  /** Forgets what it was asked, and behaves again. */
  reset(): void {
    this.calls.length = 0;
    for (const each of [this.declines, this.fails, this.returns, this.waits]) each.clear();
  }

  count(method: string): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  /** Notes a call, and says how it has to fail. */
  async ask(method: string, params: unknown): Promise<{ readonly code: number; readonly message: string } | undefined> {
    this.calls.push({ method, params });
    await this.waits.get(method);
    if (this.declines.has(method)) return { code: 4001, message: "User rejected the request." };
    return this.fails.get(method);
  }
}

/** Whose wallet it is, and where. */
export interface EvmAccount {
  readonly privateKey: Hex;
  readonly rpcUrl: string;
  /** Where it is at the start. Default 84532. */
  readonly chainId?: number;
  /** The chains that it knows. Default: 1 and 84532. */
  readonly knows?: readonly number[];
}

/** A wallet of EVM, which may get another account, and forgets what it was asked then. */
export interface EvmWallet extends WalletControl {
  become(account: EvmAccount): void;
}

const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 10'><rect width='10' height='10' rx='2' fill='%23f6851b'/></svg>";

/** The window of the page, in scripts that run there. */
interface PageWindow {
  addEventListener(name: string, listener: (event: { readonly detail: never }) => void): void;
  dispatchEvent(event: unknown): void;
}

type Reply = { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } };

/** Injects an EVM wallet into every page. */
export async function injectEvmWallet(
  context: BrowserContext,
  { name = "Test Fox", ...first }: EvmAccount & { readonly name?: string },
): Promise<EvmWallet> {
  const { rpcUrl } = first;
  const open = ({ privateKey, chainId = 84532, knows = [1, 84532] }: EvmAccount) => {
    const account = privateKeyToAccount(privateKey);
    const client = createWalletClient({ account, chain: baseSepolia, transport: http(rpcUrl) });
    return { account, client, known: new Set(knows), chainId };
  };
  let own = open(first);
  const control: EvmWallet = Object.assign(new WalletControl(), {
    become(account: EvmAccount) {
      control.reset();
      own = open(account);
    },
  });

  const forward = async (method: string, params: unknown): Promise<unknown> => {
    const call = { jsonrpc: "2.0", id: 1, method, params };
    const headers = { "content-type": "application/json" };
    const response = await fetch(rpcUrl, { method: "POST", headers, body: JSON.stringify(call) });
    return ((await response.json()) as { readonly result: unknown }).result;
  };
  const act = async (method: string, params: readonly unknown[]): Promise<Reply> => {
    switch (method) {
      case "eth_requestAccounts":
      case "eth_accounts":
        return { result: [own.account.address] };
      case "eth_chainId":
        return { result: `0x${own.chainId.toString(16)}` };
      case "wallet_switchEthereumChain": {
        const asked = Number((params[0] as { readonly chainId: string }).chainId);
        if (!own.known.has(asked)) return { error: { code: 4902, message: "Unrecognized chain ID" } };
        own.chainId = asked;
        return { result: null };
      }
      case "wallet_addEthereumChain":
        own.known.add(Number((params[0] as { readonly chainId: string }).chainId));
        return { result: null };
      case "eth_signTypedData_v4": {
        const typed = JSON.parse(String(params[1])) as TypedDataDefinition;
        // As MetaMask does.
        if (Number(typed.domain?.chainId) !== own.chainId) return { error: { code: -32603, message: "wrong chain" } };
        const { EIP712Domain: _, ...types } = typed.types as Record<string, never>;
        return { result: await own.account.signTypedData({ ...typed, types } as TypedDataDefinition) };
      }
      case "eth_sendTransaction": {
        const { to, data } = params[0] as { readonly to: Hex; readonly data: Hex };
        return { result: await own.client.sendTransaction({ to, data }) };
      }
      default:
        return { result: await forward(method, params) };
    }
  };

  const hook = `__evm_${name.replace(/\W/g, "_")}`;
  await context.exposeFunction(hook, async (method: string, params: readonly unknown[]) => {
    const error = await control.ask(method, params);
    if (error !== undefined) return { error };
    return control.returns.has(method) ? { result: control.returns.get(method) } : act(method, params);
  });
  await context.addInitScript(
    ({ hook, name, icon }) => {
      const page = globalThis as unknown as PageWindow;
      const provider = {
        async request({ method, params }: { method: string; params?: unknown }) {
          const reply = await Reflect.get(globalThis, hook)(method, params ?? []);
          if (reply.error) throw Object.assign(new Error(reply.error.message), { code: reply.error.code });
          return reply.result;
        },
        on() {},
        removeListener() {},
      };
      const info = Object.freeze({ uuid: `uuid ${name}`, name, icon, rdns: "test.wallet" });
      const announce = () => {
        const detail = Object.freeze({ info, provider });
        page.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
      };
      page.addEventListener("eip6963:requestProvider", announce);
      announce();
    },
    { hook, name, icon: ICON },
  );
  return control;
}

interface SolanaWalletOptions {
  readonly name?: string;
  readonly keypair: Keypair;
  /** Default: devnet. */
  readonly chains?: readonly string[];
}

/** Injects a Solana wallet into every page. */
export async function injectSolanaWallet(
  context: BrowserContext,
  { name = "Test Sun", keypair, chains = ["solana:devnet"] }: SolanaWalletOptions,
): Promise<WalletControl> {
  const control = new WalletControl();
  const hook = `__svm_${name.replace(/\W/g, "_")}`;
  await context.exposeFunction(hook, async (method: string, bytes: readonly number[]) => {
    const error = await control.ask(method, bytes);
    if (error !== undefined) return { error };
    if (control.returns.has(method)) return { result: control.returns.get(method) };
    if (method === "connect") return { result: [] };
    const transaction = VersionedTransaction.deserialize(Uint8Array.from(bytes));
    transaction.sign([keypair]);
    return { result: [...transaction.serialize()] };
  });
  const address = keypair.publicKey.toBase58();
  await context.addInitScript(
    ({ hook, name, icon, address, publicKey, chains }) => {
      const page = globalThis as unknown as PageWindow;
      const ask = async (method: string, bytes: readonly number[]) => {
        const reply = await Reflect.get(globalThis, hook)(method, bytes);
        if (reply.error) throw Object.assign(new Error(reply.error.message), { code: reply.error.code });
        return reply.result;
      };
      const account = { address, publicKey: Uint8Array.from(publicKey), chains, features: ["solana:signTransaction"] };
      const wallet = {
        version: "1.0.0",
        name,
        icon,
        chains,
        accounts: [] as unknown[],
        features: {
          "standard:connect": {
            version: "1.0.0",
            async connect() {
              await ask("connect", []);
              wallet.accounts = [account];
              return { accounts: [account] };
            },
          },
          "standard:events": { version: "1.0.0", on: () => () => {} },
          "solana:signTransaction": {
            version: "1.0.0",
            supportedTransactionVersions: ["legacy", 0],
            async signTransaction(input: { transaction: Uint8Array }) {
              const signed = await ask("signTransaction", [...input.transaction]);
              return [{ signedTransaction: Uint8Array.from(signed) }];
            },
          },
        },
      };
      const callback = ({ register }: { register(...wallets: unknown[]): void }) => register(wallet);
      page.addEventListener("wallet-standard:app-ready", ({ detail }) => callback(detail));
      page.dispatchEvent(new CustomEvent("wallet-standard:register-wallet", { detail: callback }));
    },
    { hook, name, icon: ICON, address, publicKey: [...keypair.publicKey.toBytes()], chains },
  );
  return control;
}
