/**
 * The assets that a `$` price means on each network: the stablecoins that payers hold there.
 *
 * @module
 */
import type { TokenProgram } from "./address.js";
import { DEVNET, MAINNET, type SvmNetwork, TESTNET } from "./networks.js";

/** A known token. */
export interface SvmAsset {
  readonly network: SvmNetwork;
  /** For people, e.g. `Solana devnet`. */
  readonly networkName: string;
  readonly mint: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly program: TokenProgram;
}

type Row = readonly [network: SvmNetwork, networkName: string, mint: string, symbol: string, TokenProgram];

/** The same for every asset below. */
const DECIMALS = 6;

/** The first row of a network is what a `$` price means there. */
// biome-ignore format: a table reads best with one row a line
const ROWS: readonly Row[] = [
  [MAINNET, "Solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "USDC", "token"],
  [MAINNET, "Solana", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "USDT", "token"],
  [MAINNET, "Solana", "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH", "USDG", "token-2022"],
  [MAINNET, "Solana", "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", "PYUSD", "token-2022"],
  [MAINNET, "Solana", "CASHx9KJUStyftLFWGvEVf59SGeG9sh5FfcnZMVPCASH", "CASH", "token-2022"],
  [DEVNET, "Solana devnet", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", "USDC", "token"],
  [DEVNET, "Solana devnet", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "USDG", "token-2022"],
  [DEVNET, "Solana devnet", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "PYUSD", "token-2022"],
  [TESTNET, "Solana testnet", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", "USDC", "token"],
  [TESTNET, "Solana testnet", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "USDG", "token-2022"],
  [TESTNET, "Solana testnet", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "PYUSD", "token-2022"],
];

/** Every known asset, the default of each network first. */
export const ASSETS: readonly SvmAsset[] = ROWS.map(([network, networkName, mint, symbol, program]) =>
  Object.freeze({ network, networkName, mint, decimals: DECIMALS, symbol, program }),
);

/** The known assets of a network, its default first. Empty for an unknown network. */
export function assetsOn(network: string): readonly SvmAsset[] {
  return ASSETS.filter((asset) => asset.network === network);
}

/** Finds a known asset by its mint. */
export function findAsset(network: string, mint: string): SvmAsset | undefined {
  return ASSETS.find((asset) => asset.network === network && asset.mint === mint);
}
