/**
 * Finds the wallets of this browser: EVM wallets by EIP-6963, Solana wallets by the Wallet Standard.
 *
 * @see EIP-1193; EIP-6963; Wallet Standard, `@wallet-standard/base`
 * @module
 */

/** EIP-1193. */
export interface EvmProvider {
  request(call: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
}

/** A Solana wallet, as far as it is used. Nothing is certain about it. */
export interface StandardWallet {
  readonly name: string;
  readonly icon?: string;
  readonly chains: readonly string[];
  readonly accounts: readonly StandardAccount[];
  readonly features: Readonly<Record<string, unknown>>;
}

/** An account of it. */
export interface StandardAccount {
  readonly address: string;
  readonly publicKey: Uint8Array;
  readonly chains: readonly string[];
}

/** A wallet that was found. */
export type Wallet = { readonly id: string; readonly name: string; readonly icon: string | undefined } & (
  | { readonly family: "evm"; readonly provider: EvmProvider }
  | { readonly family: "svm"; readonly wallet: StandardWallet }
);

/** Most wallets that are shown. */
const MOST = 30;

/** Finds wallets, also those that come later. */
export function findWallets(onFound: (wallet: Wallet) => void): void {
  const seen = new Set<string>();
  const add = (wallet: Wallet) => {
    if (seen.has(wallet.id) || seen.size >= MOST) return;
    seen.add(wallet.id);
    onFound(wallet);
  };
  listenToEvm(add);
  listenToStandard(add);
}

function listenToEvm(add: (wallet: Wallet) => void): void {
  addEventListener("eip6963:announceProvider", (event) => {
    const { info, provider } = (event as CustomEvent).detail ?? {};
    if (typeof info?.uuid !== "string" || typeof provider?.request !== "function") return;
    add({ family: "evm", id: `evm ${info.uuid}`, name: nameOf(info.name), icon: iconOf(info.icon), provider });
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
}

function listenToStandard(add: (wallet: Wallet) => void): void {
  const register = (...wallets: readonly StandardWallet[]) => {
    for (const wallet of wallets) {
      const { name, icon, features, chains } = wallet;
      if (!Array.isArray(chains) || !("solana:signTransaction" in features) || !("standard:connect" in features))
        continue;
      add({ family: "svm", id: `svm ${name}`, name: nameOf(name), icon: iconOf(icon), wallet });
    }
    return () => {};
  };
  const api = Object.freeze({ register });
  addEventListener("wallet-standard:register-wallet", (event) => {
    const { detail } = event as CustomEvent;
    if (typeof detail === "function") detail(api);
  });
  dispatchEvent(new CustomEvent("wallet-standard:app-ready", { detail: api }));
}

function nameOf(name: unknown): string {
  return typeof name === "string" && name.trim() !== "" ? name.trim().slice(0, 60) : "Wallet";
}

/** An image in the text itself: the policy of the page allows no other. */
function iconOf(icon: unknown): string | undefined {
  return typeof icon === "string" && /^\s*data:image\//.test(icon) ? icon.trim() : undefined;
}

/** The name of a Solana network in the Wallet Standard. */
export function standardChain(network: string): string | undefined {
  const names: Readonly<Record<string, string>> = {
    "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": "solana:mainnet",
    "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1": "solana:devnet",
    "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z": "solana:testnet",
  };
  return names[network];
}
