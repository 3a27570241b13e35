/**
 * The assets that a `$` price means on each network: the stablecoins that payers hold there.
 *
 * @module
 */

/** How a payer's signature can move a token. */
export type TransferMethod = "eip3009" | "permit2" | "permit2+eip2612";

/** A token. */
export interface EvmAsset {
  readonly network: `eip155:${number}`;
  /** For people, e.g. `Base`. */
  readonly networkName: string;
  readonly address: `0x${string}`;
  /** Name in the token's EIP-712 domain. It can differ from the token's usual name. */
  readonly name: string;
  /** Version in the token's EIP-712 domain. */
  readonly version: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly transfer: TransferMethod;
}

type Row = readonly [
  network: `eip155:${number}`,
  networkName: string,
  address: `0x${string}`,
  name: string,
  version: string,
  decimals: number,
  symbol: string,
  transfer: TransferMethod,
];

/** The first row of a network is what a `$` price means there. */
// biome-ignore format: a table reads best with one row a line
const ROWS: readonly Row[] = [
  ["eip155:8453", "Base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2", 6, "USDC", "eip3009"],
  ["eip155:84532", "Base Sepolia", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2", 6, "USDC", "eip3009"],
  ["eip155:1", "Ethereum", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USD Coin", "2", 6, "USDC", "eip3009"],
  ["eip155:43114", "Avalanche", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", "USD Coin", "2", 6, "USDC", "eip3009"],
  ["eip155:137", "Polygon", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USD Coin", "2", 6, "USDC", "eip3009"],
  ["eip155:42161", "Arbitrum", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "USD Coin", "2", 6, "USDC", "eip3009"],
  ["eip155:421614", "Arbitrum Sepolia", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", "USD Coin", "2", 6, "USDC", "eip3009"],
  ["eip155:143", "Monad", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC", "2", 6, "USDC", "eip3009"],
  ["eip155:988", "Stable", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", "USDT0", "1", 6, "USDT0", "eip3009"],
  ["eip155:2201", "Stable testnet", "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9", "USDT0", "1", 6, "USDT0", "eip3009"],
  ["eip155:4326", "MegaETH", "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7", "MegaUSD", "1", 18, "MegaUSD", "permit2+eip2612"],
  ["eip155:31612", "Mezo", "0xdD468A1DDc392dcdbEf6db6e34E89AA338F9F186", "Mezo USD", "1", 18, "mUSD", "permit2+eip2612"],
  ["eip155:31611", "Mezo testnet", "0x118917a40FAF1CD7a13dB0Ef56C86De7973Ac503", "Mezo USD", "1", 18, "mUSD", "permit2+eip2612"],
  ["eip155:723487", "Radius", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "Stable Coin", "1", 6, "SBC", "permit2+eip2612"],
  ["eip155:72344", "Radius testnet", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "Stable Coin", "1", 6, "SBC", "permit2+eip2612"],
  ["eip155:36900", "ADI", "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2", "USDC.e", "2", 6, "USDC.e", "eip3009"],
  ["eip155:190415", "HPP", "0x401eCb1D350407f13ba348573E5630B83638E30D", "Bridged USDC", "2", 6, "USDC.e", "eip3009"],
  ["eip155:181228", "HPP Sepolia", "0x401eCb1D350407f13ba348573E5630B83638E30D", "Bridged USDC", "2", 6, "USDC.e", "eip3009"],
  ["eip155:50", "XDC", "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC", "2", 6, "USDC", "eip3009"],
  ["eip155:51", "XDC Apothem", "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC", "2", 6, "USDC", "eip3009"],
  ["eip155:38833", "Igra", "0xA5b8BF902b2844dA17d4506cc827F7F1681735E7", "USDC", "1", 6, "USDC", "permit2"],
  ["eip155:14", "Flare", "0xe7cd86e13AC4309349F30B3435a9d337750fC82D", "USD₮0", "1", 6, "USDT0", "eip3009"],
  ["eip155:42220", "Celo", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC", "2", 6, "USDC", "eip3009"],
  ["eip155:42220", "Celo", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e", "Tether USD", "1", 6, "USDT", "eip3009"],
  ["eip155:42220", "Celo", "0xD2ab3C9A02DBBAB236BfEC45D1d755DF4267F771", "Tether America USD", "1", 6, "USAT", "eip3009"],
  ["eip155:11142220", "Celo Sepolia", "0x01C5C0122039549AD1493B8220cABEdD739BC44E", "USDC", "2", 6, "USDC", "eip3009"],
  ["eip155:1329", "Sei", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC", "2", 6, "USDC", "eip3009"],
  ["eip155:1328", "Sei testnet", "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC", "2", 6, "USDC", "eip3009"],
];

/** Every known asset, the default of each network first. */
export const ASSETS: readonly EvmAsset[] = ROWS.map(
  ([network, networkName, address, name, version, decimals, symbol, transfer]) =>
    Object.freeze({ network, networkName, address, name, version, decimals, symbol, transfer }),
);

/** The known assets of a network, its default first. Empty for an unknown network. */
export function assetsOn(network: string): readonly EvmAsset[] {
  return ASSETS.filter((asset) => asset.network === network);
}

/** Finds a known asset by its address, in any case. */
export function findAsset(network: string, address: string): EvmAsset | undefined {
  return ASSETS.find((asset) => asset.network === network && asset.address.toLowerCase() === address.toLowerCase());
}
