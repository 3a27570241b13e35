/**
 * A movement of money that a payer has signed for, by whatever method, on a chain that can carry it out.
 *
 * @module
 */
import type { Refusal } from "@farebox/core/scheme";
import type { Hash } from "./chain.js";

/** What tells one authorization from another. */
export interface MovementKey {
  /** What is used up by it, e.g. token, payer and nonce; in lower case. */
  readonly identity: string;
  /** Everything that was signed, and the signature; in lower case. */
  readonly fingerprint: string;
}

/** A transfer that was made. */
export interface Moved {
  /** Empty where nothing was to be moved. */
  readonly transaction: Hash | "";
  /** Atomic units. */
  readonly amount: bigint;
}

/** A signed payment whose parts agree with each other. Made for one request. */
export interface Movement extends MovementKey {
  /** As the client wrote it. */
  readonly payer: string;
  /** Atomic units to move. Zero is moved without a transaction. */
  readonly amount: bigint;
  /**
   * Whether it would be carried out now; `undefined` when all is well. Never rejects: trouble with the chain is
   * `unexpected_verify_error`.
   *
   * @param nowSeconds - Unix seconds.
   */
  verify(nowSeconds: number): Promise<Refusal | undefined>;
  /** Sends it. Rejects only when provably nothing was broadcast. */
  submit(): Promise<Hash>;
  /** Finds the transaction that made this very payment, whoever sent it. Rejects when the chain does not tell. */
  findEarlier(): Promise<Moved | undefined>;
}
