/**
 * Prices for people: the names of known networks, and the dollar stablecoins on them. Other tokens have no price in dollars.
 *
 * The packages of the networks name the same tokens to sellers; a test compares the tables.
 *
 * @module
 */
import { canonicalNetwork } from "@farebox/core/protocol";

/** A stablecoin that is worth a dollar. */
export interface Stablecoin {
  /** CAIP-2. */
  readonly network: string;
  /** `Base`, `Solana devnet`, … */
  readonly networkName: string;
  readonly asset: string;
  /** `USDC`, … */
  readonly symbol: string;
  readonly decimals: number;
}

type Row = readonly [network: string, networkName: string, asset: string, symbol: string, decimals: number];

// biome-ignore format: a table reads best with one row a line
const ROWS: readonly Row[] = [
  ["eip155:8453", "Base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USDC", 6],
  ["eip155:84532", "Base Sepolia", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", 6],
  ["eip155:1", "Ethereum", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USDC", 6],
  ["eip155:43114", "Avalanche", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", "USDC", 6],
  ["eip155:137", "Polygon", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USDC", 6],
  ["eip155:42161", "Arbitrum", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "USDC", 6],
  ["eip155:421614", "Arbitrum Sepolia", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", "USDC", 6],
  ["eip155:143", "Monad", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC", 6],
  ["eip155:988", "Stable", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", "USDT0", 6],
  ["eip155:2201", "Stable testnet", "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9", "USDT0", 6],
  ["eip155:4326", "MegaETH", "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7", "MegaUSD", 18],
  ["eip155:31612", "Mezo", "0xdD468A1DDc392dcdbEf6db6e34E89AA338F9F186", "mUSD", 18],
  ["eip155:31611", "Mezo testnet", "0x118917a40FAF1CD7a13dB0Ef56C86De7973Ac503", "mUSD", 18],
  ["eip155:723487", "Radius", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "SBC", 6],
  ["eip155:72344", "Radius testnet", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "SBC", 6],
  ["eip155:36900", "ADI", "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2", "USDC.e", 6],
  ["eip155:190415", "HPP", "0x401eCb1D350407f13ba348573E5630B83638E30D", "USDC.e", 6],
  ["eip155:181228", "HPP Sepolia", "0x401eCb1D350407f13ba348573E5630B83638E30D", "USDC.e", 6],
  ["eip155:50", "XDC", "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC", 6],
  ["eip155:51", "XDC Apothem", "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC", 6],
  ["eip155:38833", "Igra", "0xA5b8BF902b2844dA17d4506cc827F7F1681735E7", "USDC", 6],
  ["eip155:14", "Flare", "0xe7cd86e13AC4309349F30B3435a9d337750fC82D", "USDT0", 6],
  ["eip155:42220", "Celo", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC", 6],
  ["eip155:42220", "Celo", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e", "USDT", 6],
  ["eip155:42220", "Celo", "0xD2ab3C9A02DBBAB236BfEC45D1d755DF4267F771", "USAT", 6],
  ["eip155:11142220", "Celo Sepolia", "0x01C5C0122039549AD1493B8220cABEdD739BC44E", "USDC", 6],
  ["eip155:1329", "Sei", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC", 6],
  ["eip155:1328", "Sei testnet", "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC", 6],
  ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "Solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "USDC", 6],
  ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "Solana", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "USDT", 6],
  ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "Solana", "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH", "USDG", 6],
  ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "Solana", "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", "PYUSD", 6],
  ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "Solana", "CASHx9KJUStyftLFWGvEVf59SGeG9sh5FfcnZMVPCASH", "CASH", 6],
  ["solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "Solana devnet", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", "USDC", 6],
  ["solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "Solana devnet", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "USDG", 6],
  ["solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "Solana devnet", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "PYUSD", 6],
  ["solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z", "Solana testnet", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", "USDC", 6],
  ["solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z", "Solana testnet", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "USDG", 6],
  ["solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z", "Solana testnet", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "PYUSD", 6],
  ["algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "Algorand", "31566704", "USDC", 6],
  ["algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe", "Algorand testnet", "10458941", "USDC", 6],
];

/** Every known stablecoin. */
export const STABLECOINS: readonly Stablecoin[] = ROWS.map(([network, networkName, asset, symbol, decimals]) =>
  Object.freeze({ network, networkName, asset, symbol, decimals }),
);

const NETWORK_NAMES = new Map(STABLECOINS.map(({ network, networkName }) => [network, networkName]));
const BY_ASSET = new Map(STABLECOINS.map((coin) => [keyOf(coin), coin]));

/** The networks with a name. */
export const NAMED_NETWORKS: readonly string[] = [...NETWORK_NAMES.keys()];

/** The name of a network for people; `undefined` for an unknown one. */
export function networkName(network: string): string | undefined {
  return NETWORK_NAMES.get(canonicalNetwork(network));
}

/** The stablecoin of an offer; `undefined` for any other token. */
export function stablecoinOf(offer: { readonly network: string; readonly asset: string }): Stablecoin | undefined {
  return BY_ASSET.get(keyOf(offer));
}

/** Case is ignored in an EVM address. */
function keyOf({ network, asset }: { readonly network: string; readonly asset: string }): string {
  return `${canonicalNetwork(network)} ${/^0x/i.test(asset) ? asset.toLowerCase() : asset}`;
}

/** The prices by which a catalog can be filtered, in dollars: the most that a call may cost. */
export const PRICE_LIMITS = ["0.001", "0.01", "0.1", "1", "10"] as const;

/** One of `PRICE_LIMITS`. */
export type PriceLimit = (typeof PRICE_LIMITS)[number];

/** Prices are compared in units of 10⁻¹⁸ dollars. No known stablecoin is finer. */
const DECIMALS = 18;

/** The terms of an offer that make its price. */
export interface PricedTerms {
  readonly network: string;
  readonly asset: string;
  /** Atomic units. */
  readonly amount: string;
}

/** The price of an offer in units of 10⁻¹⁸ dollars; `undefined` for a token that is no known stablecoin. */
export function dollarsOf(offer: PricedTerms): bigint | undefined {
  const coin = stablecoinOf(offer);
  return coin === undefined ? undefined : BigInt(offer.amount) * 10n ** BigInt(DECIMALS - coin.decimals);
}

/** Whether an offer costs at most so many dollars, a decimal such as `"0.01"`. */
export function isWithinPrice(offer: PricedTerms, limit: string): boolean {
  const dollars = dollarsOf(offer);
  const [whole = "", fraction = ""] = limit.split(".");
  return dollars !== undefined && dollars <= BigInt(whole + fraction.padEnd(DECIMALS, "0"));
}
