/**
 * What is remembered of one payment, and the states it goes through. The same table is drawn in `docs/lifecycle.md`.
 *
 * @module
 */
import type { SettlementResponse } from "../protocol/settlement-response.js";

/**
 * Where a payment stands.
 *
 * - `claimed`: one request owns it; the facilitator is being asked.
 * - `serving`: verified; the handler runs.
 * - `settling`: written down before the facilitator is told to move the money.
 * - `settled`: the money moved.
 * - `owed`: the money moved and the handler has not run; the same payment sent again runs it.
 * - `rejected`: the money did not move and never will on this record.
 * - `unsent`: the facilitator was never reached, so the money did not move; the answer waits for another attempt.
 * - `unknown`: the money may have moved. Neither a new challenge nor the answer goes out until it is known.
 */
export type PaymentState = "claimed" | "serving" | "settling" | "settled" | "owed" | "rejected" | "unsent" | "unknown";

/** Which state may follow which. A record may also be released, that is forgotten, from `claimed` and `serving`. */
export const TRANSITIONS: Readonly<Record<PaymentState, readonly PaymentState[]>> = Object.freeze({
  // A route that settles first goes to `settling` at once.
  claimed: ["serving", "settling"],
  serving: ["settling"],
  settling: ["settled", "rejected", "unsent", "unknown"],
  // The answer to a settled payment is kept when its delivery breaks off, and taken when it is asked for again.
  settled: ["settled", "owed"],
  owed: ["settled"],
  rejected: [],
  unsent: ["settling"],
  unknown: ["settling"],
});

/** An answer kept for a payer who has paid for it and not received it. */
export interface StoredAnswer {
  readonly status: number;
  /** Names as the handler wrote them. */
  readonly headers: readonly (readonly [name: string, value: string | readonly string[]])[];
  readonly body: Uint8Array;
}

/** One payment. */
export interface PaymentRecord {
  /** Network, asset, payer and nonce, or whatever the scheme says makes a payment one payment. */
  readonly identity: string;
  /** What it was sent for: route, method, path with query, and offer. The same payment for anything else is refused. */
  readonly binding: string;
  readonly state: PaymentState;
  /** Which run owns it; a run that lost it may not change it. */
  readonly owner: string;
  /** Unix milliseconds after which the payment can no longer settle and the record may be forgotten. */
  readonly expiresAtMs: number;
  /** Who was told to settle it, by its name among the seller's facilitators: the only one who may be asked again. */
  readonly facilitator?: string;
  /** Kept while the payer may have paid without receiving it. */
  readonly answer?: StoredAnswer;
  /** How settlement ended, once it did. */
  readonly receipt?: SettlementResponse;
}
