/**
 * The chain as the exact scheme sees it: a port. `createRpcSvmChain` is the implementation over JSON-RPC; a virtual machine
 * in this process can stand in for it.
 *
 * Every method may reject when the chain cannot be reached; an error's message is for a log and holds no key and no URL.
 * What a stranger's payment can cause is always a value.
 *
 * @module
 */
import type { SchemeHealth } from "@farebox/core";

/** An account as it is on chain. */
export interface SvmAccount {
  /** The program it belongs to, in base58. */
  readonly owner: string;
  readonly data: Uint8Array;
}

/** A transaction that the payer has signed, and the fee payer has not. */
export interface PayerSigned {
  /** What is signed. */
  readonly message: Uint8Array;
  /** 64 bytes; checked. */
  readonly payerSignature: Uint8Array;
  /** In base58; stands in the message too. */
  readonly blockhash: string;
}

/** What a transaction would do if it were carried out now. */
export type Simulation = { readonly ok: true } | { readonly ok: false; readonly problem: string };

/**
 * What is known about a transaction.
 *
 * - `confirmed`: on chain, deep enough, and it did what it was sent for.
 * - `failed`: on chain, deep enough, and it did nothing but cost its fee.
 * - `pending`: not on chain as far as anyone knows, or not deep enough; it may still come.
 * - `dropped`: provably never to come, because its blockhash ran out before.
 */
export type TransactionOutcome = "confirmed" | "failed" | "pending" | "dropped";

/** One chain, with an account that pays for transactions on it. */
export interface SvmChain {
  readonly network: `solana:${string}`;
  /** Pays for transactions, in base58. */
  readonly feePayer: string;
  /** The accounts at some addresses, in their order; `undefined` where there is none. */
  readAccounts(addresses: readonly string[]): Promise<readonly (SvmAccount | undefined)[]>;
  /** Tries the transaction without the fee payer's signature, so that nobody who sees it can send it. */
  simulate(transaction: PayerSigned): Promise<Simulation>;
  /**
   * The name that the transaction has on chain: the fee payer's signature, in base58, the same each time. Nothing is sent.
   */
  signatureOf(transaction: PayerSigned): Promise<string>;
  /** What has become of a transaction, asked once; `pending` where nothing is known of it. */
  statusOf(signature: string): Promise<Exclude<TransactionOutcome, "dropped">>;
  /**
   * Signs and sends the transaction. Once it resolves, the transaction is out, or may be. Rejects only when provably
   * nothing was broadcast.
   */
  submit(transaction: PayerSigned): Promise<string>;
  /** Waits, for a bounded time, until the transaction is as deep as this chain is asked to wait for. */
  outcomeOf(signature: string): Promise<TransactionOutcome>;
  /** Whether the network answers and the fee payer can pay for transactions. Never rejects. */
  health(): Promise<SchemeHealth>;
}
