/**
 * A record as a process holds it: changed in place, and copied for whoever asks.
 *
 * @module
 */
import { type Draft, put } from "../draft.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { SettlementResponse } from "../protocol/documents.js";
import type { ClaimRequest, PaymentRecord, PaymentState, StoredAnswer, Transition } from "./payment-store.js";
import type { Expiring } from "./record-expiries.js";

/** All its fields are there from the start: objects that grow are slow. */
export class HeldRecord implements Expiring<HeldRecord> {
  readonly identity: string;
  readonly binding: string;
  readonly expiresAtMs: number;
  state: PaymentState = "claimed";
  owner: string;
  facilitator: string | undefined;
  identifier: string | undefined;
  request: FacilitatorRequest | undefined;
  leaseUntilMs: number | undefined;
  answer: StoredAnswer | undefined;
  receipt: SettlementResponse | undefined;
  before: HeldRecord | undefined;
  after: HeldRecord | undefined;
  /** For others, since the last change. */
  #shown: PaymentRecord | undefined;

  constructor({ identity, binding, owner, expiresAtMs, identifier }: ClaimRequest) {
    this.identity = identity;
    this.binding = binding;
    this.owner = owner;
    this.expiresAtMs = expiresAtMs;
    this.identifier = identifier;
  }

  /** Carries out a change that is allowed. */
  apply(change: Transition): void {
    this.#shown = undefined;
    this.state = change.to;
    this.owner = change.newOwner ?? this.owner;
    this.facilitator = changed(this.facilitator, change.facilitator);
    this.identifier = changed(this.identifier, change.identifier);
    this.request = changed(this.request, change.request);
    this.leaseUntilMs = changed(this.leaseUntilMs, change.leaseUntilMs);
    this.receipt = changed(this.receipt, change.receipt);
    this.answer = changed(this.answer, change.answer);
    // While it settles is not for long, and hardly any answer is kept for longer.
    if (this.answer !== undefined && change.to !== "settling") this.answer = withBodyOfItsOwn(this.answer);
  }

  /** Its room is another's. */
  forgetAnswer(): void {
    this.#shown = undefined;
    this.answer = undefined;
  }

  /** A record for others, without what is not there: the same one until something changes. */
  toRecord(): PaymentRecord {
    this.#shown ??= Object.freeze(this.#copy());
    return this.#shown;
  }

  #copy(): PaymentRecord {
    const { identity, binding, state, owner, expiresAtMs } = this;
    const record: Draft<PaymentRecord> = { identity, binding, state, owner, expiresAtMs };
    put(record, "facilitator", this.facilitator);
    put(record, "identifier", this.identifier);
    put(record, "request", this.request);
    put(record, "leaseUntilMs", this.leaseUntilMs);
    put(record, "answer", this.answer);
    put(record, "receipt", this.receipt);
    return record;
  }
}

/** `undefined` leaves a field as it is, `null` forgets it. */
function changed<T>(before: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? before : (change ?? undefined);
}

/** A short body may be a view into a buffer that many answers share: while it is kept, so would all of that buffer be. */
function withBodyOfItsOwn(answer: StoredAnswer): StoredAnswer {
  const { body } = answer;
  if (body.byteLength === body.buffer.byteLength) return answer;
  const own = new Uint8Array(body);
  return { ...answer, body: Buffer.isBuffer(body) ? Buffer.from(own.buffer) : own };
}
