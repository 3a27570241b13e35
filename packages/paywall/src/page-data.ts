/**
 * What the server tells the page besides the challenge. Both sides read this file.
 *
 * @module
 */

/** One way to pay. The list is as long as the challenge's `accepts`, and in its order. */
export interface OptionData {
  readonly family: "evm" | "svm" | "other";
  /** `Base Sepolia`, or the CAIP-2 name. */
  readonly networkName: string;
  readonly symbol: string;
  readonly decimals: number | null;
  /** `0.01 USDC`; in atomic units if the decimals are not known. */
  readonly amount: string;
  /** `$0.01`, if the token is worth a dollar. */
  readonly dollars: string | null;
  readonly isUpTo: boolean;
  /** For `wallet_addEthereumChain`. `null`: the person adds the network to the wallet. */
  readonly chain: ChainData | null;
  readonly explorer: ExplorerData | null;
  /** What the seller's node said about Solana. `null`: it was not asked, or did not say. */
  readonly solana: SolanaData | null;
}

/** An EVM network for a wallet that does not know it. */
export interface ChainData {
  readonly rpcUrl: string;
  /** `ETH`, … */
  readonly currency: string;
}

/** Where people look at transactions. */
export interface ExplorerData {
  readonly name: string;
  /** With `{tx}` in it. */
  readonly url: string;
}

/** What a transaction on Solana is built on. */
export interface SolanaData {
  readonly blockhash: string;
  readonly program: string;
  readonly decimals: number;
}

/** The data of a page. */
export interface PageData {
  readonly method: string;
  readonly url: string;
  /** The body of the form that was sent; `"lost"`: it is not known. `null`: there was none. */
  readonly form: { readonly body: string } | "lost" | null;
  readonly options: readonly OptionData[];
  readonly texts: Readonly<Record<string, string>>;
  /** The server's clock, in Unix milliseconds. */
  readonly nowMs: number;
}

/** What a page gets when it asks for its data again. */
export interface FreshData {
  readonly challenge: unknown;
  readonly page: PageData;
}
