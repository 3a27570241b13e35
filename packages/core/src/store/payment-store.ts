/**
 * The payment store: one record per payment, so that a payment runs the handler once and settles once.
 *
 * @see `docs/reference/lifecycle.md` for the state table
 * @module
 */
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { SettlementResponse } from "../protocol/documents.js";
import type { SettleTime } from "../scheme/offer.js";
import type { MaybePromise, NewLedgerEntry, SharedLedger } from "./shared-ledger.js";

/**
 * Keeps one record per payment. Every method is atomic: if processes share the store, calls from all of them take effect one after
 * another.
 */
export interface PaymentStore {
  /**
   * Creates the record of a payment, in state `claimed`. Of any number of claims for one `identity`, or for one `identifier`, exactly
   * one succeeds. If it throws or rejects, the client gets 503 and is not charged.
   */
  claim(request: ClaimRequest): MaybePromise<Claim>;
  /** The record of a payment, or `undefined`. */
  find(identity: string): MaybePromise<PaymentRecord | undefined>;
  /**
   * Changes a record whose `state` is `from` and whose `owner` is `owner`, if `TRANSITIONS` allows the step to `to`. Otherwise returns
   * `false` and changes nothing.
   */
  transition(change: Transition): MaybePromise<boolean>;
  /**
   * Deletes a record that is in one of the `RELEASABLE` states, so that the payment can be used again. Does nothing if there is no such
   * record, or if it has another owner.
   */
  release(identity: string, owner: string): MaybePromise<void>;
  /** Every record in one of the `UNFINISHED` states, each once, in any order. Records may change during the walk. */
  unfinished(): AsyncIterable<PaymentRecord>;
  /** Closes what the store has opened by itself. A client that the seller has opened stays open. Default: nothing. */
  close?(): void | Promise<void>;
  /**
   * Sets `leaseUntilMs` of each record that has the given owner and is in a state other than those of `UNLEASED`. Leaves all other records
   * as they are. Default: leases are as long as the work may take, so that a death is noticed late.
   */
  renew?(owned: readonly Owned[], leaseUntilMs: number): MaybePromise<void>;
  /**
   * Calls `onChange` soon after a transition or the release of the record by any process, until the returned function is called. It may
   * call too often; `onChange` must not throw. Default: processes look at the record from time to time.
   */
  watch?(identity: string, onChange: () => void): MaybePromise<() => void>;
  /** Runs that nothing has been charged for so far, seen by all processes. Default: each process counts its own. */
  readonly runs?: SharedRuns;
  /** Money for what was streamed before it was paid, seen by all processes. Default: each process counts its own. */
  readonly exposure?: SharedExposure;
  /** Settled payments, seen by all processes. Default: `payments.ledger` is in the memory of each process, and lost with it. */
  readonly ledger?: SharedLedger;
  /**
   * Keeps a value under a name for good, if the name has none, and returns the value that it has then. Of any number of calls at once, all
   * return the same value.
   */
  keep?(name: string, value: string): MaybePromise<string>;
  /**
   * Called before the first payment, by `ready()`, and once a minute while payments come. Returns what may lose records later, as text for the seller.
   *
   * @throws StoreError if the store cannot be used: no such table, a server that is too old, no connection
   */
  ready?(): MaybePromise<readonly StoreProblem[]>;
}

/** A record, and the run that owns it. */
export type Owned = Pick<ClaimRequest, "identity" | "owner">;

/** The runs of each payer. */
export interface SharedRuns {
  /**
   * Adds a run, or replaces the one with its id, and returns every run of its payer that ends in the future, this one included. Atomic.
   *
   * @param nowMs - Runs that end at this time or before are removed.
   */
  put(run: SharedRun, nowMs: number): MaybePromise<readonly SharedRun[]>;
  /** Removes a run. Does nothing if there is none. */
  remove(run: Pick<SharedRun, "id" | "payer">): MaybePromise<void>;
}

/** One run of a handler, for which nothing has been charged so far. */
export interface SharedRun {
  readonly id: string;
  readonly payer: string;
  /** The payment. */
  readonly identity: string;
  /** Network and asset. */
  readonly asset: string;
  /** What the payment may still move, in atomic units, as digits. */
  readonly amount: string;
  /** Until then it counts at most, in Unix milliseconds. */
  readonly untilMs: number;
  readonly isAbandoned: boolean;
}

/** Money that metered streams may still cost the seller: what they have delivered, or may yet deliver, and nobody has paid. */
export interface SharedExposure {
  /**
   * Adds an entry, or replaces the one of its payment, and returns what all entries come to that end in the future, this one included.
   * Atomic. A payment has one entry: its identity decides, also if the payer differs.
   *
   * @param nowMs - Entries that end at this time or before are removed, or are not added.
   */
  put(entry: ExposureEntry, nowMs: number): MaybePromise<ExposureSums>;
  /** Removes the entry of a payment. Does nothing if there is none. */
  remove(entry: Pick<ExposureEntry, "identity" | "payer">): MaybePromise<void>;
}

/** The exposure of one payment. */
export interface ExposureEntry {
  readonly identity: string;
  readonly payer: string;
  /** Millionths of a dollar, as digits, below 10^15. */
  readonly micros: string;
  /** Until then it counts at most, in Unix milliseconds. */
  readonly untilMs: number;
  /** Its settlement failed: the payer owes it. */
  readonly isDue: boolean;
}

/** Sums of exposure. */
export interface ExposureSums {
  /** Of the payer of the entry that was put, in millionths of a dollar, as digits. */
  readonly payer: string;
  /** Of all payers, in the same form. */
  readonly total: string;
  /** The payments that the payer owes, by their identities, at most {@link MOST_DUE} of them. */
  readonly due: readonly string[];
}

/** How many of the payments that a payer owes a store names at most. */
export const MOST_DUE = 16;

/** Something about a store's server that may lose records. */
export interface StoreProblem {
  /** Ends the code of the finding: `EVICTION` for `FAREBOX_STORE_EVICTION`. */
  readonly kind: "EVICTION" | "NOT_DURABLE" | "REPLICA";
  /** What was seen, and what to set, e.g. `maxmemory-policy is allkeys-lru; set it to noeviction`. */
  readonly detail: string;
}

/**
 * The state of a payment.
 *
 * - `claimed`: one request owns the payment: the facilitator verifies it, and the handler runs.
 * - `metering`: its response goes out while the handler counts what it costs. `request` has the amount that was counted last.
 * - `settling`: written before the facilitator is told to settle.
 * - `settled`: the money moved.
 * - `owed`: the money moved and no response is kept; the same payment sent again runs the handler.
 * - `rejected`: the money did not move and will not move for this record.
 * - `unsent`: the facilitator was not reached, so the money did not move; the response is kept for another attempt.
 * - `due`: a metered response was delivered, and its settlement was refused or not sent. It may be settled until the payment expires.
 * - `unknown`: the money may have moved. The client gets neither a new challenge nor the response until the outcome is known.
 */
export type PaymentState =
  | "claimed"
  | "metering"
  | "settling"
  | "settled"
  | "owed"
  | "rejected"
  | "unsent"
  | "due"
  | "unknown";

/** Which state may follow which. */
export const TRANSITIONS: Readonly<Record<PaymentState, readonly PaymentState[]>> = Object.freeze({
  claimed: ["metering", "settling"],
  // `metering` again: another amount was counted.
  metering: ["metering", "settling"],
  // `settling` again: another owner takes over from one whose lease has run out.
  settling: ["settling", "settled", "owed", "rejected", "unsent", "due", "unknown"],
  // `settled` again: its response is stored or delivered, or the handler runs once more for the payer. `owed`: there is no response to give.
  settled: ["settled", "owed"],
  owed: ["settled"],
  rejected: [],
  unsent: ["settling"],
  // `rejected`: its time is over.
  due: ["settling", "rejected"],
  unknown: ["settling"],
});

/** The states in which a record may be released: no money moved. A `metering` one only if nothing was charged. */
export const RELEASABLE: readonly PaymentState[] = Object.freeze(["claimed", "metering", "rejected"]);

/** The states in which a record waits for the outcome of a settlement, or for the settlement. */
export const UNFINISHED: readonly PaymentState[] = Object.freeze(["metering", "settling", "due", "unknown"]);

/** The states in which nobody works on a record: its lease is not renewed. */
export const UNLEASED: readonly PaymentState[] = Object.freeze(["rejected", "unsent", "due", "unknown"]);

/**
 * What became of the response of a settled payment. Without a mark it was delivered, or its run is at work.
 *
 * - `undelivered`: nobody got it. If the store has dropped it, its payment is owed another run.
 * - `for_payer`: it was sent, perhaps in vain. Only the payer's proof gets it once more.
 * - `unproven`: its run was for a request without proof. The payer's proof is still owed one.
 */
export type DeliveryMark = "undelivered" | "for_payer" | "unproven";

/** The fields of a new record. Texts are well-formed Unicode without NUL. */
export interface ClaimRequest {
  /** Identifies the payment, by network, asset, payer and nonce, or by other parts that the scheme chooses: 1 to 2000 characters. */
  readonly identity: string;
  /**
   * SHA-256 of the route, method, path with query, body digest and offer, in base64url. The same payment with another binding is refused.
   */
  readonly binding: string;
  /** A unique id of the run that owns the record, of which nothing is read. Another run may not change the record. */
  readonly owner: string;
  /**
   * When the payment expires, in Unix milliseconds. Afterwards it cannot settle. Ten minutes later the record is forgotten; a durable
   * store keeps it as long as its state is one of `UNFINISHED`.
   */
  readonly expiresAtMs: number;
  /** When the money moves. Never changes. */
  readonly mode: SettleTime;
  /** The key of the route, e.g. `GET /weather/:city`. Never changes, as all fields of the request. */
  readonly route: string;
  /** Method of the request. */
  readonly method: string;
  /** Path with query of the request, e.g. `/weather/paris?unit=c`. */
  readonly target: string;
  /** Whether the request had a body. */
  readonly hasBody: boolean;
  /** SHA-256 of recipient, payer and the id that the client gave this payment, in base64url. No two records have the same one. */
  readonly identifier?: string;
  /** The owner works on it until then, in Unix milliseconds, and renews it. Afterwards another owner may take over. */
  readonly leaseUntilMs?: number;
}

/** One payment. */
export interface PaymentRecord extends ClaimRequest {
  readonly state: PaymentState;
  /** The name of the facilitator that was told to settle. Only this one may be asked again. */
  readonly facilitator?: string;
  /** The request to settle, with the signature. Kept until the payment is settled or rejected. */
  readonly request?: FacilitatorRequest;
  /** Kept for a payer who may have paid without receiving it. A store that runs out of space may drop it. */
  readonly answer?: StoredAnswer;
  /** See {@link DeliveryMark}. A later version may have more of them. */
  readonly mark?: DeliveryMark;
  /** The facilitator's response to the settlement. */
  readonly receipt?: SettlementResponse;
  /**
   * Network and id of the transaction that has paid it, e.g. `eip155:8453|0x5f1c…`: up to 400 characters of well-formed Unicode without
   * control characters. No two records have the same one.
   */
  readonly transaction?: string;
}

/** A kept response. */
export interface StoredAnswer {
  readonly status: number;
  /** Names in the handler's spelling, for example `[["Content-Type", "text/plain"], ["Set-Cookie", ["a=1", "b=2"]]]`. */
  readonly headers: readonly (readonly [name: string, value: string | readonly string[]])[];
  readonly body: Uint8Array;
}

/** Room for kept responses in every store of this project, in bytes: 64 MiB. */
export const MAX_ANSWER_BYTES: number = 64 * 1024 * 1024;

/**
 * The outcome of a claim.
 *
 * - `claimed`: the record was created.
 * - `taken`: this payment has a record already.
 * - `identifier_taken`: this payment has no record, and the record of another payment has the same identifier.
 */
export type Claim =
  | { readonly kind: "claimed" }
  | { readonly kind: "taken"; readonly record: PaymentRecord }
  | { readonly kind: "identifier_taken" };

/** A change of a record. Optional fields that are left out stay as they are in the record. */
export interface Transition {
  readonly identity: string;
  readonly from: PaymentState;
  readonly to: PaymentState;
  /** The owner that the record must have. */
  readonly owner: string;
  /** The next owner, when another run takes over. Of several runs that try, one succeeds. */
  readonly newOwner?: string;
  /** `null` removes it: the facilitator was not reached. */
  readonly facilitator?: string | null;
  /** `null` removes it. */
  readonly answer?: StoredAnswer | null;
  /**
   * The client gets the response now, or has it: a store that is short of room drops the kept one, `answer` too, before those that nobody
   * got. Default `false`.
   */
  readonly delivers?: boolean;
  /** `null` removes it. A new owner brings it or removes it: what it says is about the run before. */
  readonly mark?: DeliveryMark | null;
  readonly receipt?: SettlementResponse;
  /** See {@link PaymentRecord.transaction}. If another record has it, the change is refused. Of several changes that try, one succeeds. */
  readonly transaction?: string;
  /** `null` removes it. */
  readonly request?: FacilitatorRequest | null;
  /** `null` removes it. */
  readonly leaseUntilMs?: number | null;
  /** `null` frees it for another payment. */
  readonly identifier?: null;
  /**
   * Added to `ledger` with the change, both or neither. Nothing is added if the change is refused, or if there is an entry with that id.
   * Only stores with `ledger` get it.
   */
  readonly entry?: NewLedgerEntry;
}
