/**
 * CAIP-2 network identifiers, e.g. `eip155:84532`, and patterns of them, e.g. `eip155:*`.
 *
 * @see CAIP-2, "Syntax"
 * @module
 */

/** A concrete network: namespace and reference, e.g. `eip155:84532`. */
export type Network = `${string}:${string}`;

/** A network, or all networks of a namespace: `eip155:*`. */
export type NetworkPattern = Network | `${string}:*`;

/** Networks by the names that people, wallets and x402 v1 use. */
const NETWORKS_BY_NAME = {
  base: "eip155:8453",
  "base-sepolia": "eip155:84532",
  ethereum: "eip155:1",
  sepolia: "eip155:11155111",
  polygon: "eip155:137",
  "polygon-amoy": "eip155:80002",
  arbitrum: "eip155:42161",
  "arbitrum-sepolia": "eip155:421614",
  optimism: "eip155:10",
  "optimism-sepolia": "eip155:11155420",
  avalanche: "eip155:43114",
  "avalanche-fuji": "eip155:43113",
  bsc: "eip155:56",
  celo: "eip155:42220",
  sei: "eip155:1329",
  "sei-testnet": "eip155:1328",
  iotex: "eip155:4689",
  peaq: "eip155:3338",
  story: "eip155:1514",
  educhain: "eip155:41923",
  abstract: "eip155:2741",
  "abstract-testnet": "eip155:11124",
  "skale-base-sepolia": "eip155:324705682",
  monad: "eip155:143",
  solana: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  "solana-devnet": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
  "solana-testnet": "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z",
  algorand: "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
  "algorand-testnet": "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
} as const;

/** A network that an editor completes. Others work too. */
export type KnownNetwork = (typeof NETWORKS_BY_NAME)[keyof typeof NETWORKS_BY_NAME];

/** Other names of networks above. */
const OTHER_NAMES: Readonly<Record<string, keyof typeof NETWORKS_BY_NAME>> = {
  mainnet: "ethereum",
  matic: "polygon",
  amoy: "polygon-amoy",
  fuji: "avalanche-fuji",
  bnb: "bsc",
};

/** The CAIP-2 identifier of a network that is written in another way: `base-sepolia`, `"8453"`, `8453`; `undefined`: unknown. */
export function networkByName(written: unknown): string | undefined {
  if (typeof written !== "string" && typeof written !== "number") return undefined;
  const text = String(written);
  if (text.length > 40) return undefined;
  if (/^[1-9]\d{0,15}$/.test(text)) return `eip155:${text}`;
  // `Base Sepolia`, `ethereum-mainnet`, `eip155:base` and `solana:devnet` are meant in the same way.
  const name = text
    .toLowerCase()
    .replace(/^eip155:/, "")
    .replaceAll(/[:\s_]/g, "-")
    .replace(/-v1\.0$/, "")
    .replace(/(?<=[a-z])-(?:mainnet(?:-beta)?|one)$/, "");
  const networks: Readonly<Record<string, string>> = NETWORKS_BY_NAME;
  const known = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : name;
  return known !== undefined && Object.hasOwn(networks, known) ? networks[known] : undefined;
}

/**
 * CAIP-2 allows references of 32 characters. Algorand's older spelling is a whole genesis hash in base64, which is longer and has
 * further characters.
 */
const NETWORK = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9+/=]{1,64}$/;

/** Whether a text is a concrete CAIP-2 identifier. */
export function isNetwork(text: unknown): text is Network {
  return typeof text === "string" && NETWORK.test(text);
}

/** Algorand's older spelling, whose first 32 characters are the newer one. */
const WHOLE_HASH = /^algorand:[A-Za-z0-9+/]{43}=$/;
const SHORT_LENGTH = "algorand:".length + 32;

/** The newer spelling of a network with two; other texts unchanged. For comparisons only: a peer may know only the other spelling. */
export function canonicalNetwork(network: string): string {
  return WHOLE_HASH.test(network) ? network.slice(0, SHORT_LENGTH) : network;
}

/** Whether two texts name the same network, in either spelling. */
export function sameNetwork(a: string, b: string): boolean {
  if (a === b) return true;
  return a.length !== b.length && canonicalNetwork(a) === canonicalNetwork(b);
}

/** Whether a network matches a pattern: the same network in either spelling, or one of its namespace. */
export function matchesNetwork(pattern: string, network: string): boolean {
  if (sameNetwork(pattern, network)) return true;
  return pattern.endsWith(":*") && network.startsWith(pattern.slice(0, -1));
}

/** Describes valid networks for an error message. If the seller wrote another name of a network, it says how to write it. */
export function expectedNetwork(written: unknown, expected: string): string {
  const network = networkByName(written);
  return network === undefined ? expected : `"${network}", as CAIP-2 writes ${JSON.stringify(written)}`;
}
