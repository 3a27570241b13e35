/**
 * The interface between the `exact` scheme and a chain. `createRpcSvmChain` implements it over JSON-RPC; a virtual machine
 * in this process can implement it as well.
 *
 * Every method may reject when the chain cannot be reached; an error's message is for a log and holds no key and no URL.
 * Anything that a stranger's payment can cause is a value.
 *
 * @module
 */
import type { FeePaidChain, Simulation } from "@farebox/core/scheme";
import type { SvmNetwork } from "../networks.js";

/** An account as it is on chain. */
export interface SvmAccount {
  /** The program it belongs to, in base58. */
  readonly owner: string;
  readonly data: Uint8Array;
}

/** A transaction that the payer has signed, and the fee payer has not. */
export interface PayerSigned {
  /** The bytes that are signed. */
  readonly message: Uint8Array;
  /** 64 bytes; checked. */
  readonly payerSignature: Uint8Array;
  /** In base58; stands in the message too. */
  readonly blockhash: string;
}

/**
 * The state of a transaction.
 *
 * - `confirmed`: on chain, deep enough, and it moved the money.
 * - `failed`: on chain, deep enough, and it only cost its fee.
 * - `pending`: not on chain as far as is known, or not deep enough; it may still come.
 * - `dropped`: provably never to come, because its blockhash ran out before.
 */
export type TransactionOutcome = "confirmed" | "failed" | "pending" | "dropped";

/** One chain, with an account that pays for transactions on it. */
export interface SvmChain extends FeePaidChain {
  readonly network: SvmNetwork;
  /** The accounts at some addresses, in their order; `undefined` where no account exists. */
  readAccounts(addresses: readonly string[]): Promise<readonly (SvmAccount | undefined)[]>;
  /** Tries the transaction without the fee payer's signature, so that a node cannot send it. */
  simulate(transaction: PayerSigned): Promise<Simulation>;
  /**
   * The name that the transaction has on chain: the fee payer's signature, in base58, the same each time. Nothing is sent.
   */
  signatureOf(transaction: PayerSigned): Promise<string>;
  /** The state of a transaction, asked once; `pending` where the node knows nothing of it. */
  statusOf(signature: string): Promise<Exclude<TransactionOutcome, "dropped">>;
  /**
   * Signs and sends the transaction. Once it resolves, the transaction is out, or may be. Rejects only when provably
   * nothing was broadcast.
   */
  submit(transaction: PayerSigned): Promise<string>;
  /** Waits, for a bounded time, until the transaction is as deep as this chain is asked to wait for. */
  outcomeOf(signature: string): Promise<TransactionOutcome>;
}
