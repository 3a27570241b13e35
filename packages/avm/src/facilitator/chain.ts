/**
 * The interface between the `exact` scheme and a chain. `createAlgodChain` implements it over the REST interface of a node.
 *
 * Every method may reject when the chain cannot be reached; an error's message is for a log and holds no key and no URL.
 * Anything that a stranger's payment can cause is a value.
 *
 * @module
 */
import type { FeePaidChain, Simulation } from "@farebox/core/scheme";
import type { AvmNetwork } from "../networks.js";

/** An account's holding of an asset. */
export interface AvmHolding {
  /** Atomic units. */
  readonly amount: bigint;
}

/** A transaction of a group, without its envelope. */
export interface GroupMember {
  /** The bytes that are signed, without the prefix. */
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

/**
 * The state of a transaction. One that is on chain has moved the money, because a transaction that fails gets into no block.
 *
 * - `confirmed`: on chain, for good.
 * - `pending`: not on chain as far as is known; it may still come.
 * - `dropped`: provably never to come, because its rounds are over and it is in none of them.
 * - `forgotten`: its rounds are over, and the node does not remember what was in them.
 */
export type TransactionOutcome = "confirmed" | "pending" | "dropped" | "forgotten";

/** One chain, with an account that pays for groups of transactions on it. */
export interface AvmChain extends FeePaidChain {
  readonly network: AvmNetwork;
  /** An account's holding; `undefined` when it has not opted in to the asset. */
  holdingOf(address: string, asset: bigint): Promise<AvmHolding | undefined>;
  /** Tries the group without the fee payer's signature, so that a node cannot send it. */
  simulate(group: PayerSigned): Promise<Simulation>;
  /** The state of a transaction, asked once. */
  statusOf(transaction: TransactionName): Promise<TransactionOutcome>;
  /** Signs and sends the group. Once it resolves, it is out, or may be. Rejects only when provably nothing was sent. */
  submit(group: PayerSigned): Promise<void>;
  /** Waits, for a bounded time, until the transaction is on chain, or can be no more. */
  outcomeOf(transaction: TransactionName): Promise<TransactionOutcome>;
}
