/**
 * The chain as the exact scheme sees it: a port. `createAlgodChain` is the implementation over the REST interface of a
 * node.
 *
 * Every method may reject when the chain cannot be reached; an error's message is for a log and holds no key and no URL.
 * What a stranger's payment can cause is always a value.
 *
 * @module
 */
import type { SchemeHealth } from "@farebox/core";

/** What an account has of an asset. */
export interface AvmHolding {
  /** Atomic units; above 2^53 as near as a `number` comes to it. */
  readonly amount: bigint;
}

/** A transaction of a group, without its envelope. */
export interface GroupMember {
  /** What is signed, without the prefix. */
  readonly bytes: Uint8Array;
  /** 64 bytes, checked; `undefined` for the one that the fee payer is to sign. */
  readonly signature: Uint8Array | undefined;
}

/** A group that all but the fee payer have signed, known by the transaction in it that pays. */
export interface PayerSigned {
  readonly members: readonly GroupMember[];
  readonly transfer: TransactionName;
}

/** A transaction, and the rounds in which it can get on chain, both included. */
export interface TransactionName {
  /** In base32. */
  readonly id: string;
  readonly firstValid: bigint;
  readonly lastValid: bigint;
}

/** What a group would do if it were carried out now. */
export type Simulation = { readonly ok: true } | { readonly ok: false; readonly problem: string };

/**
 * What is known about a transaction. One that is on chain has done what it was sent for: none that fails gets there.
 *
 * - `confirmed`: on chain, for good.
 * - `pending`: not on chain as far as anyone knows; it may still come.
 * - `dropped`: provably never to come, because its rounds are over and it is in none of them.
 * - `forgotten`: its rounds are over, and the node does not remember what was in them.
 */
export type TransactionOutcome = "confirmed" | "pending" | "dropped" | "forgotten";

/** One chain, with an account that pays for groups of transactions on it. */
export interface AvmChain {
  readonly network: `algorand:${string}`;
  /** The address that pays. */
  readonly feePayer: string;
  /** What an account has; `undefined` when it has not opted in to the asset. */
  holdingOf(address: string, asset: bigint): Promise<AvmHolding | undefined>;
  /** Tries the group without the fee payer's signature, so that nobody who sees it can send it. */
  simulate(group: PayerSigned): Promise<Simulation>;
  /** What has become of a transaction, asked once. */
  statusOf(transaction: TransactionName): Promise<TransactionOutcome>;
  /** Signs and sends the group. Once it resolves, it is out, or may be. Rejects only when provably nothing was sent. */
  submit(group: PayerSigned): Promise<void>;
  /** Waits, for a bounded time, until the transaction is on chain, or can be no more. */
  outcomeOf(transaction: TransactionName): Promise<TransactionOutcome>;
  /** Whether the network answers and the fee payer can pay for transactions. Never rejects. */
  health(): Promise<SchemeHealth>;
}
