/**
 * The payment store: one record per payment, so that a payment runs the handler once and settles once. The state table is drawn in
 * `docs/reference/lifecycle.md`.
 *
 * @module
 */
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { MaybePromise } from "../maybe-promise.js";
import type { SettlementResponse } from "../protocol/documents.js";

/**
 * Where a payment stands.
 *
 * - `claimed`: one request owns it; the facilitator is being asked.
 * - `serving`: verified; the handler runs.
 * - `settling`: written down before the facilitator is told to move the money.
 * - `settled`: the money moved.
 * - `owed`: the money moved and there is no answer for it; the same payment sent again runs the handler.
 * - `rejected`: the money did not move and never will on this record.
 * - `unsent`: the facilitator was never reached, so the money did not move; the answer waits for another attempt.
 * - `unknown`: the money may have moved. Neither a new challenge nor the answer goes out until it is known.
 */
export type PaymentState = "claimed" | "serving" | "settling" | "settled" | "owed" | "rejected" | "unsent" | "unknown";

/** Which state may follow which. */
export const TRANSITIONS: Readonly<Record<PaymentState, readonly PaymentState[]>> = Object.freeze({
  // A route that settles first goes to `settling` at once.
  claimed: ["serving", "settling"],
  serving: ["settling"],
  // Another run takes over from one that is gone.
  settling: ["settling", "settled", "owed", "rejected", "unsent", "unknown"],
  // The answer to a settled payment is kept when its delivery breaks off, and taken when it is asked for again.
  settled: ["settled", "owed"],
  owed: ["settled"],
  rejected: [],
  unsent: ["settling"],
  unknown: ["settling"],
});

/** In which states a record may be released, that is forgotten, so that the payment can be used again: no money moved. */
export const RELEASABLE: readonly PaymentState[] = Object.freeze(["claimed", "serving", "rejected"]);

/** In which states a record waits for the outcome of a settlement. */
export const UNFINISHED: readonly PaymentState[] = Object.freeze(["settling", "unknown"]);

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
  /** SHA-256 of the id that the client gave this payment, in base64url. Of records that are there, one has it. */
  readonly identifier?: string;
  /** What the facilitator was asked to settle, signature included; kept until it is settled or refused. */
  readonly request?: FacilitatorRequest;
  /** Of a record that is `settling`: until then, in Unix milliseconds, its owner is at work; afterwards it is gone. */
  readonly leaseUntilMs?: number;
  /** Kept for a payer who may have paid without receiving it. A store that is short of room may forget it. */
  readonly answer?: StoredAnswer;
  /** How settlement ended, once it did. */
  readonly receipt?: SettlementResponse;
}

/** What a claim asks for. */
export interface ClaimRequest {
  readonly identity: string;
  readonly binding: string;
  readonly owner: string;
  readonly expiresAtMs: number;
  /** Digest of the id that the client gave the payment, if it gave one. */
  readonly identifier?: string;
}

/**
 * The claim was given; or the record of this payment stands in its way; or, if there is none, the record of another
 * payment that has the same identifier.
 */
export type Claim =
  | { readonly kind: "claimed" }
  | { readonly kind: "taken"; readonly record: PaymentRecord }
  | { readonly kind: "identifier_taken" };

/** A change of state, carried out only if the record still is in `from` and still is `owner`'s. */
export interface Transition {
  readonly identity: string;
  readonly from: PaymentState;
  readonly to: PaymentState;
  /** The owner the record must have. */
  readonly owner: string;
  /** The owner it gets, when another run takes over; of several that try, one succeeds. */
  readonly newOwner?: string;
  /** Who is told to settle; `null`: nobody was, after all. */
  readonly facilitator?: string | null;
  /** `null` forgets a stored answer. */
  readonly answer?: StoredAnswer | null;
  readonly receipt?: SettlementResponse;
  /** `null` forgets it. */
  readonly request?: FacilitatorRequest | null;
  /** `null` forgets it. */
  readonly leaseUntilMs?: number | null;
  /** `null` frees it for another payment. */
  readonly identifier?: null;
}

/**
 * Keeps payments. Every method is atomic with regard to every other, across processes where the store is shared. One that is
 * in this process may answer at once.
 */
export interface PaymentStore {
  /** Gives the payment to exactly one of any number of claimants. */
  claim(request: ClaimRequest): MaybePromise<Claim>;
  /** The record of a payment, if there is one. */
  find(identity: string): MaybePromise<PaymentRecord | undefined>;
  /** Changes the state; `false` when the record is not what the caller thinks it is, and then nothing changed. */
  transition(change: Transition): MaybePromise<boolean>;
  /** Forgets a payment in one of the states of `RELEASABLE`, so that it can be used again. Only its owner may. */
  release(identity: string, owner: string): MaybePromise<void>;
  /** Every record in one of the states of `UNFINISHED`, once, in any order. Records may change meanwhile. */
  unfinished(): AsyncIterable<PaymentRecord>;
}
