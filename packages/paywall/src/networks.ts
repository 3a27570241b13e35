/**
 * Networks for people and wallets: whether money there is real, where transactions are looked at, and how a wallet gets to know the
 * network.
 *
 * @module
 */
import type { ChainData, ExplorerData } from "./page-data.js";

/** A network. */
export interface NetworkFacts {
  readonly isTest: boolean;
  readonly explorer: ExplorerData;
  /** Only EVM networks are added to wallets. */
  readonly chain: ChainData | undefined;
}

type Row = readonly [
  network: string,
  kind: "real" | "test",
  explorer: string,
  url: string,
  rpcUrl?: string,
  currency?: string,
];

// biome-ignore format: a table reads best with one row a line
const ROWS: readonly Row[] = [
  ["eip155:1", "real", "Etherscan", "https://etherscan.io/tx/{tx}", "https://ethereum-rpc.publicnode.com", "ETH"],
  ["eip155:8453", "real", "BaseScan", "https://basescan.org/tx/{tx}", "https://mainnet.base.org", "ETH"],
  ["eip155:84532", "test", "BaseScan", "https://sepolia.basescan.org/tx/{tx}", "https://sepolia.base.org", "ETH"],
  ["eip155:43114", "real", "SnowTrace", "https://snowtrace.io/tx/{tx}", "https://api.avax.network/ext/bc/C/rpc", "AVAX"],
  ["eip155:43113", "test", "SnowTrace", "https://testnet.snowtrace.io/tx/{tx}", "https://api.avax-test.network/ext/bc/C/rpc", "AVAX"],
  ["eip155:137", "real", "PolygonScan", "https://polygonscan.com/tx/{tx}", "https://polygon-rpc.com", "POL"],
  ["eip155:42161", "real", "Arbiscan", "https://arbiscan.io/tx/{tx}", "https://arb1.arbitrum.io/rpc", "ETH"],
  ["eip155:421614", "test", "Arbiscan", "https://sepolia.arbiscan.io/tx/{tx}", "https://sepolia-rollup.arbitrum.io/rpc", "ETH"],
  ["eip155:10", "real", "Optimism Etherscan", "https://optimistic.etherscan.io/tx/{tx}", "https://mainnet.optimism.io", "ETH"],
  ["eip155:143", "real", "MonadVision", "https://monadvision.com/tx/{tx}", "https://rpc.monad.xyz", "MON"],
  ["eip155:42220", "real", "Celoscan", "https://celoscan.io/tx/{tx}", "https://forno.celo.org", "CELO"],
  ["eip155:1329", "real", "Seitrace", "https://seitrace.com/tx/{tx}", "https://evm-rpc.sei-apis.com", "SEI"],
  ["eip155:1328", "test", "Seitrace", "https://testnet.seitrace.com/tx/{tx}", "https://evm-rpc-testnet.sei-apis.com", "SEI"],
  ["eip155:14", "real", "Flare Explorer", "https://flare-explorer.flare.network/tx/{tx}", "https://flare-api.flare.network/ext/C/rpc", "FLR"],
  ["eip155:50", "real", "XDCScan", "https://xdcscan.com/tx/{tx}", "https://rpc.xinfin.network", "XDC"],
  ["eip155:51", "test", "XDCScan", "https://testnet.xdcscan.com/tx/{tx}", "https://rpc.apothem.network", "TXDC"],
  ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "real", "Solana Explorer", "https://explorer.solana.com/tx/{tx}"],
  ["solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "test", "Solana Explorer", "https://explorer.solana.com/tx/{tx}?cluster=devnet"],
  ["solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z", "test", "Solana Explorer", "https://explorer.solana.com/tx/{tx}?cluster=testnet"],
  ["algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "real", "Allo", "https://allo.info/tx/{tx}"],
  ["algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe", "test", "Lora", "https://lora.algokit.io/testnet/transaction/{tx}"],
];

const NETWORKS: ReadonlyMap<string, NetworkFacts> = /* @__PURE__ */ new Map(
  ROWS.map(([network, kind, name, url, rpcUrl, currency]) => [
    network,
    {
      isTest: kind === "test",
      explorer: { name, url },
      chain: rpcUrl === undefined || currency === undefined ? undefined : { rpcUrl, currency },
    },
  ]),
);

/** The facts about a network, by its CAIP-2 name; `undefined` for others. */
export function factsOf(network: string): NetworkFacts | undefined {
  return NETWORKS.get(network);
}
