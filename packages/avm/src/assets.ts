/**
 * The assets that a `$` price means on each network: the stablecoins that payers hold there.
 *
 * @module
 */
import { type AvmNetwork, isSameNetwork } from "./networks.js";

/** A known Algorand Standard Asset. */
export interface AvmAsset {
  /** In the spelling with 32 characters. */
  readonly network: AvmNetwork;
  /** For people, e.g. `Algorand testnet`. */
  readonly networkName: string;
  /** The asset's id, in decimal. */
  readonly asset: string;
  readonly decimals: number;
  readonly symbol: string;
}

type Row = readonly [network: AvmNetwork, networkName: string, asset: string, decimals: number, symbol: string];

/** The first row of a network is what a `$` price means there. */
const ROWS: readonly Row[] = [
  ["algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "Algorand", "31566704", 6, "USDC"],
  ["algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe", "Algorand testnet", "10458941", 6, "USDC"],
];

/** Every known asset, the default of each network first. */
export const ASSETS: readonly AvmAsset[] = ROWS.map(([network, networkName, asset, decimals, symbol]) =>
  Object.freeze({ network, networkName, asset, decimals, symbol }),
);

/** The known assets of a network in either spelling, its default first. Empty for an unknown network. */
export function assetsOn(network: string): readonly AvmAsset[] {
  return ASSETS.filter((asset) => isSameNetwork(asset.network, network));
}
