/**
 * The payment store of one process. What it holds is gone with the process; chains still refuse a second settlement.
 *
 * @module
 */
import { createAnswerRoom } from "./answer-room.js";
import { type PaymentRecord, RELEASABLE, TRANSITIONS, UNFINISHED } from "./payment-record.js";
import type { Claim, ClaimRequest, PaymentStore, Transition } from "./payment-store.js";
import { createRecordExpiries } from "./record-expiries.js";

/** How much room a memory store takes. */
export interface MemoryStoreOptions {
  /** For the bodies and headers of all kept answers together, in bytes; the oldest are forgotten. Default 64 MiB. */
  readonly maxAnswerBytes?: number;
}

const DEFAULT_MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Creates a store in memory. Its records are bounded by the lifetimes of the payments in it, which schemes bound in turn.
 *
 * @param now - Unix milliseconds.
 */
export function createMemoryStore(
  now: () => number = Date.now,
  { maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES }: MemoryStoreOptions = {},
): PaymentStore & { readonly size: number } {
  const records = new Map<string, PaymentRecord>();
  const identified = new Map<string, string>();
  const expiries = createRecordExpiries();
  const room = createAnswerRoom(maxAnswerBytes);

  const put = (record: PaymentRecord) => {
    records.set(record.identity, Object.freeze(record));
    for (const crowdedOut of room.keep(record.identity, record.answer)) {
      const other = records.get(crowdedOut);
      if (other !== undefined) records.set(crowdedOut, Object.freeze(withoutAnswer(other)));
    }
  };
  const forget = (identity: string) => {
    const { identifier } = records.get(identity) ?? {};
    if (identifier !== undefined) identified.delete(identifier);
    records.delete(identity);
    room.keep(identity, undefined);
  };

  const store: PaymentStore & { readonly size: number } = {
    get size() {
      return records.size;
    },
    async claim(request: ClaimRequest): Promise<Claim> {
      for (const identity of expiries.passed(now())) forget(identity);
      const { identity, identifier } = request;
      const record = records.get(identity);
      if (record !== undefined) return { kind: "taken", record };
      if (identifier !== undefined && identified.has(identifier)) return { kind: "identifier_taken" };
      put({ ...request, state: "claimed" });
      if (identifier !== undefined) identified.set(identifier, identity);
      expiries.add(request);
      return { kind: "claimed" };
    },
    async find(identity: string): Promise<PaymentRecord | undefined> {
      return records.get(identity);
    },
    async transition(change: Transition): Promise<boolean> {
      const record = records.get(change.identity);
      if (record === undefined || !allows(record, change)) return false;
      if (change.identifier === null && record.identifier !== undefined) identified.delete(record.identifier);
      put(applied(record, change));
      return true;
    },
    async release(identity: string, owner: string): Promise<void> {
      const record = records.get(identity);
      if (record?.owner !== owner || !RELEASABLE.includes(record.state)) return;
      forget(identity);
      expiries.remove(record);
    },
    async *unfinished(): AsyncIterable<PaymentRecord> {
      for (const record of records.values()) if (UNFINISHED.includes(record.state)) yield record;
    },
  };
  memoryStores.add(store);
  return store;
}

const memoryStores = new WeakSet<PaymentStore>();

/** Whether what a store holds is known to this process alone. */
export function isMemoryStore(store: PaymentStore): boolean {
  return memoryStores.has(store);
}

function allows(record: PaymentRecord, change: Transition): boolean {
  if (record.state !== change.from || record.owner !== change.owner) return false;
  return TRANSITIONS[change.from].includes(change.to);
}

/** What a transition may forget. */
const OPTIONAL = ["facilitator", "answer", "request", "leaseUntilMs", "identifier", "receipt"] as const;

function applied(record: PaymentRecord, change: Transition): PaymentRecord {
  const { identity, binding, expiresAtMs } = record;
  const kept = OPTIONAL.flatMap((name) => {
    const value = changed(record[name], change[name]);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    identity,
    binding,
    expiresAtMs,
    state: change.to,
    owner: change.newOwner ?? record.owner,
    ...Object.fromEntries(kept),
  };
}

/** `undefined` leaves a field as it is, `null` forgets it. */
function changed<T>(before: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? before : (change ?? undefined);
}

function withoutAnswer({ answer: _, ...rest }: PaymentRecord): PaymentRecord {
  return rest;
}
