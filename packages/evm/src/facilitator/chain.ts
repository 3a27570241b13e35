/**
 * The chain as the exact scheme sees it: a port. `createRpcChain` is the implementation over JSON-RPC; a ledger in memory
 * can stand in for it.
 *
 * Every method may reject when the chain cannot be reached; an error's message is for a log and holds no key and no URL
 * with credentials. What a stranger's payment can cause is always a value.
 *
 * @see EIP-3009, `transferWithAuthorization`
 * @module
 */
import type { SchemeHealth } from "@farebox/core";

/** `0x` and 40 hexadecimal digits, in any case; compare without regard to case. */
export type Address = `0x${string}`;

/** `0x` and an even number of hexadecimal digits. */
export type Hex = `0x${string}`;

/** `0x` and 64 hexadecimal digits: a transaction's hash. */
export type Hash = `0x${string}`;

/** The message that a payer signs: one transfer, valid once, within a window of time. */
export interface TransferAuthorization {
  /** The payer. */
  readonly from: Address;
  readonly to: Address;
  /** Atomic units. */
  readonly value: bigint;
  /** Unix time in seconds; the transfer is valid strictly after it. */
  readonly validAfter: bigint;
  /** Unix time in seconds; the transfer is valid strictly before it. */
  readonly validBefore: bigint;
  /** 32 bytes, chosen by the payer; usable once per payer and asset. */
  readonly nonce: Hex;
}

/** An authorization, the token it is for, and the payer's signature over both. */
export interface SignedAuthorization {
  /** The token's contract; also the `verifyingContract` of the EIP-712 domain. */
  readonly asset: Address;
  /** The rest of the token's EIP-712 domain. */
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number };
  readonly authorization: TransferAuthorization;
  /** 65 bytes from a key; of any length from a contract wallet (ERC-1271). Not yet known to be valid. */
  readonly signature: Hex;
}

/** What a transfer would do if it were mined now. */
export type Simulation = { readonly ok: true } | { readonly ok: false; readonly problem: string };

/**
 * What is known about a transaction.
 *
 * - `confirmed`: on chain, deep enough, and it did what it was sent for.
 * - `reverted`: on chain, deep enough, and it failed.
 * - `pending`: not on chain as far as anyone knows, or not deep enough; it may still come.
 * - `dropped`: provably never to come, because another transaction of the sender took its place.
 */
export type TransactionOutcome = "confirmed" | "reverted" | "pending" | "dropped";

/** One chain, with an account that can send transactions on it. */
export interface EvmChain {
  readonly network: `eip155:${number}`;
  /** The accounts that send transactions. */
  readonly signers: readonly Address[];
  /** Whether the payer signed this: with the key of `from`, or as the contract at `from` says (ERC-1271). */
  verifySignature(signed: SignedAuthorization): Promise<boolean>;
  /** Atomic units of `asset` that `owner` has. */
  balanceOf(asset: Address, owner: Address): Promise<bigint>;
  /** Whether the nonce is used up: by a transfer, or because the payer cancelled it. */
  isAuthorizationUsed(asset: Address, authorizer: Address, nonce: Hex): Promise<boolean>;
  /** Tries the transfer without sending it. `problem` is for a log. */
  simulate(signed: SignedAuthorization): Promise<Simulation>;
  /**
   * Sends the transfer. Once it resolves, the transaction is out, or may be. Rejects only when provably nothing was
   * broadcast, so that it may be called again.
   */
  submit(signed: SignedAuthorization): Promise<Hash>;
  /** Waits, for a bounded time, until the transaction is as deep as this chain is asked to wait for. */
  outcomeOf(transaction: Hash): Promise<TransactionOutcome>;
  /**
   * Finds the transaction that used the nonce for exactly this transfer: asset, from, to and value. A cancelled
   * authorization, and one used for another transfer, has none.
   */
  findTransfer(signed: SignedAuthorization): Promise<Hash | undefined>;
  /** Whether the network answers and the signer can pay for transactions. Never rejects. */
  health(): Promise<SchemeHealth>;
}
