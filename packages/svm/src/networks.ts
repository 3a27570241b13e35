/**
 * Solana's networks in CAIP-2: the first 32 characters of the hash of the network's first block, in base58.
 *
 * @module
 */
import { isAddress } from "./address.js";

/** A network. */
export type SvmNetwork = `solana:${string}`;

export const MAINNET: SvmNetwork = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
export const DEVNET: SvmNetwork = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
export const TESTNET: SvmNetwork = "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z";

const NETWORK = /^solana:[1-9A-HJ-NP-Za-km-z]{32}$/;

/** Whether a value has the form of a network. */
export function isSvmNetwork(value: unknown): value is SvmNetwork {
  return typeof value === "string" && NETWORK.test(value);
}

/** The network whose first block has this hash, as a node writes it; `undefined` when it is not a hash. */
export function networkOf(genesisHash: unknown): SvmNetwork | undefined {
  // A hash has as many bytes as an address.
  return isAddress(genesisHash) ? `solana:${genesisHash.slice(0, 32)}` : undefined;
}
