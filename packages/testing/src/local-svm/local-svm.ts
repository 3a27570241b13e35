/**
 * A Solana network on this machine that equals devnet for a payment: its name, USDC at its address, the real token programs,
 * and a node with JSON-RPC over HTTP.
 *
 * @module
 */
import { tokenAccountOf } from "@farebox/svm";
import type { Listening } from "../http/listening.js";
import { Bank, loadLibraries } from "./bank.js";
import { type Handling, LocalNode } from "./node.js";
import { heldIn, holdingBytes, mintBytes } from "./token-bytes.js";

/** Options of `startLocalSvm`. */
export interface LocalSvmOptions {
  /** Port on 127.0.0.1. Default 0: a free port. */
  readonly port?: number;
}

/** A token with six decimals. */
export interface LocalToken {
  readonly mint: string;
  /** Default `token`. */
  readonly program?: "token" | "token-2022";
}

/** A running local Solana network. Addresses are in base58. Methods throw for text that is not an address. */
export interface LocalSvm {
  readonly rpcUrl: string;
  readonly network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
  /** USDC, a mint of the program Token. */
  readonly asset: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
  /**
   * How the node handles transactions. `carry-out` (the default): at once. `keep`: when {@link LocalSvm.land} is called.
   * `forget`: never, but it responds normally. `lose-answer`: at once, and the connection breaks.
   */
  handling: Handling;
  /** The method of each request that the node received. */
  readonly asked: readonly string[];
  /** Creates a token. `extensions`: those of Token-2022, as the bytes that follow the mint. */
  createToken(token: LocalToken, extensions?: Uint8Array): void;
  /** Sets the balance of an owner's token account, and creates the account if it does not exist. Default token USDC. */
  setBalance(owner: string, amount: bigint, token?: LocalToken): void;
  /** An owner's balance in atomic units; `undefined` if there is no account. Default token USDC. */
  balanceOf(owner: string, token?: LocalToken): bigint | undefined;
  /** Gives SOL, in lamports. */
  airdrop(address: string, lamports: bigint): void;
  lamportsOf(address: string): bigint;
  /** The only blockhash that transactions may have now. */
  latestBlockhash(): string;
  /** Expires the blockhash of all transactions that were not executed. */
  expireBlockhash(): void;
  /** Sets the clock of the chain, which does not run. Unix seconds. */
  setTime(seconds: number): void;
  /** Advances the clock by whole seconds, and one block for each 0.4 of them. A blockhash expires when it is older than 150 blocks. */
  passTime(seconds: number): void;
  /** Executes the kept transactions. */
  land(): void;
  /** Ends the node. Further calls do nothing. */
  close(): Promise<void>;
}

const NETWORK = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const USDC = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";

const PROGRAMS = {
  token: "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
  "token-2022": "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
} as const;

/**
 * Starts a local Solana network with USDC on it.
 *
 * @throws LocalChainError when `litesvm` or `@solana/kit` is not installed
 */
export async function startLocalSvm({ port = 0 }: LocalSvmOptions = {}): Promise<LocalSvm> {
  const libraries = await loadLibraries();
  const bank = new Bank(libraries);
  const node = new LocalNode(bank);
  const toBytes = (address: string) => Uint8Array.from(libraries.kit.getBase58Encoder().encode(address));
  const network = new LocalNetwork({ bank, node, toBytes, listening: await node.listen(port) });
  network.createToken({ mint: USDC });
  return network;
}

interface Parts {
  readonly bank: Bank;
  readonly node: LocalNode;
  readonly toBytes: (address: string) => Uint8Array;
  readonly listening: Listening;
}

class LocalNetwork implements LocalSvm {
  readonly network = NETWORK;
  readonly asset = USDC;
  readonly rpcUrl: string;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.rpcUrl = parts.listening.origin.href;
    this.#parts = parts;
  }

  get handling(): Handling {
    return this.#parts.node.handling;
  }

  set handling(handling: Handling) {
    this.#parts.node.handling = handling;
  }

  get asked(): readonly string[] {
    return this.#parts.node.asked;
  }

  createToken({ mint, program = "token" }: LocalToken, extensions: Uint8Array = Buffer.alloc(0)): void {
    this.#parts.bank.setAccount(mint, PROGRAMS[program], mintBytes(extensions));
  }

  setBalance(owner: string, amount: bigint, { mint, program = "token" }: LocalToken = { mint: USDC }): void {
    const { bank, toBytes } = this.#parts;
    const data = holdingBytes(toBytes(mint), toBytes(owner), amount);
    bank.setAccount(tokenAccountOf(owner, mint, program), PROGRAMS[program], data);
  }

  balanceOf(owner: string, { mint, program = "token" }: LocalToken = { mint: USDC }): bigint | undefined {
    const account = this.#parts.bank.account(tokenAccountOf(owner, mint, program));
    return account === undefined ? undefined : heldIn(account.data);
  }

  airdrop(address: string, lamports: bigint): void {
    this.#parts.bank.airdrop(address, lamports);
  }

  lamportsOf(address: string): bigint {
    return this.#parts.bank.lamportsOf(address);
  }

  latestBlockhash(): string {
    return this.#parts.bank.svm.latestBlockhash();
  }

  expireBlockhash(): void {
    this.#parts.bank.expireBlockhash();
  }

  setTime(seconds: number): void {
    const { svm } = this.#parts.bank;
    const clock = svm.getClock();
    clock.unixTimestamp = BigInt(seconds);
    svm.setClock(clock);
  }

  passTime(seconds: number): void {
    this.#parts.bank.passTime(seconds);
  }

  land(): void {
    this.#parts.node.land();
  }

  close(): Promise<void> {
    return this.#parts.listening.close();
  }
}
