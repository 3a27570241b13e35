/**
 * The chain as the scheme sees it: a port. `createAlgodChain` implements it over a node's REST API.
 *
 * A method may reject when the chain cannot be reached. The message is for a log, and contains no key and no URL. Everything
 * that a client's payment can cause is a value, never an error.
 *
 * @module
 */
import type { SchemeHealth } from "@farebox/core";
import type { FeePaidChain, Simulation } from "@farebox/core/facilitator";
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
  /** 64 bytes, checked; `undefined` if the fee payer is to sign. */
  readonly signature: Uint8Array | undefined;
}

/** A group that all but the fee payer have signed. The transaction in it that pays identifies it. */
export interface PayerSigned {
  readonly members: readonly GroupMember[];
  readonly transfer: TransactionName;
  /** What the fee payer pays if the group gets on chain. */
  readonly feeMicroAlgos: bigint;
}

/** A transaction, and its first and last valid round. */
export interface TransactionName {
  /** In base32. */
  readonly id: string;
  readonly firstValid: bigint;
  readonly lastValid: bigint;
}

/**
 * The outcome of a transaction, as far as it is known. A transaction on chain has moved the money, because blocks contain no
 * failed ones.
 * - `confirmed`: on chain, for good.
 * - `pending`: not known to be on chain. It may still get there.
 * - `dropped`: its rounds are over and none of them contains it, so it never gets on chain.
 * - `forgotten`: its rounds are over, and the node no longer knows their transactions.
 */
export type TransactionOutcome = "confirmed" | "pending" | "dropped" | "forgotten";

/** Books microAlgos: see {@link AvmChain.meterGas}. */
export type BookGas = (mostMicroAlgos: bigint) => ((costMicroAlgos: bigint) => void) | undefined;

/** The health of a chain, with the balance that its fee payer can spend. */
export interface ChainHealth extends SchemeHealth {
  /** MicroAlgos, in digits. Absent if the node did not say. */
  readonly balance?: string;
}

/** One chain, with an account that pays for groups of transactions on it. */
export interface AvmChain extends FeePaidChain {
  readonly network: AvmNetwork;
  /**
   * Sets whom it asks before it signs a group: with the microAlgos of its fee. `undefined` means no; otherwise the result is
   * told that the fee was not paid, if that gets known. The last one set is asked.
   */
  meterGas?(book: BookGas): void;
  /** An account's holding of an asset; `undefined` when the account has not opted in. */
  holdingOf(address: string, asset: bigint): Promise<AvmHolding | undefined>;
  /** Tries the group without the fee payer's signature, so that the node cannot send it. */
  simulate(group: PayerSigned): Promise<Simulation>;
  /** The outcome of a transaction, asked once. */
  statusOf(transaction: TransactionName): Promise<TransactionOutcome>;
  /** Signs and sends the group. When it resolves, it is out, or may be. Rejects only if provably nothing was broadcast. */
  submit(group: PayerSigned): Promise<void>;
  /** Waits, for a bounded time, until the transaction is on chain, or can no longer get there. */
  outcomeOf(transaction: TransactionName): Promise<TransactionOutcome>;
}
