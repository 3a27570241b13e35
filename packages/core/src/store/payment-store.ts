/**
 * The payment store: one record per payment, so that a payment runs the handler once and settles once.
 *
 * @module
 */
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { MaybePromise } from "../maybe-promise.js";
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { PaymentRecord, PaymentState, StoredAnswer } from "./payment-record.js";

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
