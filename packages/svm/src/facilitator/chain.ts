/**
 * The chain as the scheme sees it: a port. `createRpcSvmChain` implements it over JSON-RPC; an in-process virtual machine can
 * implement it too.
 *
 * A method may reject when the chain cannot be reached. The message is for a log, and contains no key and no URL. Everything
 * that a client's payment can cause is a value, never an error.
 *
 * @module
 */
import type { SchemeHealth } from "@farebox/core";
import type { FeePaidChain, Simulation } from "@farebox/core/facilitator";
import type { SvmNetwork } from "../networks.js";

/** An account on chain. */
export interface SvmAccount {
  /** The program it belongs to, in base58. */
  readonly owner: string;
  readonly data: Uint8Array;
}

/** A transaction that the payer has signed, but not the fee payer. */
export interface PayerSigned {
  /** The bytes that are signed. */
  readonly message: Uint8Array;
  /** 64 bytes, checked. */
  readonly payerSignature: Uint8Array;
  /** In base58; also part of the message. */
  readonly blockhash: string;
  /** The whole fee, which the fee payer pays if it gets on chain. */
  readonly feeLamports: bigint;
}

/**
 * The outcome of a transaction, as far as it is known.
 *
 * - `confirmed`: on chain, deep enough, and successful.
 * - `failed`: on chain, deep enough, and failed; it cost only its fee.
 * - `pending`: not known to be on chain, or not deep enough. It may still get there.
 * - `dropped`: its blockhash expired first, so it never gets on chain.
 */
export type TransactionOutcome = "confirmed" | "failed" | "pending" | "dropped";

/** Books lamports: see {@link SvmChain.meterGas}. */
export type BookGas = (mostLamports: bigint) => ((costLamports: bigint) => void) | undefined;

/** The health of a chain, with its fee payer's balance. */
export interface ChainHealth extends SchemeHealth {
  /** Lamports, in digits. Absent if the node did not say. */
  readonly balance?: string;
}

/** One chain, with an account that pays for transactions on it. */
export interface SvmChain extends FeePaidChain {
  readonly network: SvmNetwork;
  /**
   * Sets whom it asks before it signs a transaction: with the lamports of its fee. `undefined` means no; otherwise the result
   * is told that the fee was not paid, if that gets known. The last one set is asked.
   */
  meterGas?(book: BookGas): void;
  /** The accounts at these addresses, in order; `undefined` for an account that does not exist. */
  readAccounts(addresses: readonly string[]): Promise<readonly (SvmAccount | undefined)[]>;
  /** Tries the transaction without the fee payer's signature, so that the node cannot send it. */
  simulate(transaction: PayerSigned): Promise<Simulation>;
  /**
   * The id of the transaction on chain: the fee payer's signature, in base58, the same each time. Nothing is sent.
   */
  signatureOf(transaction: PayerSigned): Promise<string>;
  /** The outcome of a transaction, asked once; `pending` if the node does not know it. */
  statusOf(signature: string): Promise<Exclude<TransactionOutcome, "dropped">>;
  /**
   * Signs and sends the transaction. When it resolves, the transaction is out, or may be. Rejects only if provably nothing
   * was broadcast.
   */
  submit(transaction: PayerSigned): Promise<string>;
  /** Waits, for a bounded time, until the transaction is deep enough. */
  outcomeOf(signature: string): Promise<TransactionOutcome>;
}
