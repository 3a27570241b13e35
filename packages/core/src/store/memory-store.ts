/**
 * The payment store of one process. What it holds is gone with the process; chains still refuse a second settlement.
 *
 * @module
 */
import { type PaymentRecord, TRANSITIONS } from "./payment-record.js";
import type { Claim, ClaimRequest, PaymentStore, Transition } from "./payment-store.js";

/** Records are kept this long past their expiry: an outcome that is still unknown then may yet be asked for. */
const GRACE_MS = 10 * 60 * 1000;

/** Expiry is tracked by the minute, so that forgetting costs nothing per record. */
const BUCKET_MS = 60 * 1000;

/**
 * Creates a store in memory. Its size is bounded by the lifetimes of the payments in it, which schemes bound in turn.
 *
 * @param now - Unix milliseconds.
 */
export function createMemoryStore(now: () => number = Date.now): PaymentStore & { readonly size: number } {
  const records = new Map<string, PaymentRecord>();
  const expiries = createExpiries(records);

  const store: PaymentStore & { readonly size: number } = {
    get size() {
      return records.size;
    },
    async claim(request: ClaimRequest): Promise<Claim> {
      expiries.forgetUntil(now());
      const record = records.get(request.identity);
      if (record !== undefined) return { kind: "taken", record };
      records.set(request.identity, Object.freeze({ ...request, state: "claimed" }));
      expiries.add(request);
      return { kind: "claimed" };
    },
    async find(identity: string): Promise<PaymentRecord | undefined> {
      return records.get(identity);
    },
    async transition(change: Transition): Promise<boolean> {
      const record = records.get(change.identity);
      if (record === undefined || !allows(record, change)) return false;
      records.set(change.identity, Object.freeze(applied(record, change)));
      return true;
    },
    async release(identity: string, owner: string): Promise<void> {
      const record = records.get(identity);
      if (record?.owner !== owner || (record.state !== "claimed" && record.state !== "serving")) return;
      records.delete(identity);
      expiries.remove(record);
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

function applied(record: PaymentRecord, change: Transition): PaymentRecord {
  const { answer: answerBefore, facilitator: facilitatorBefore, ...rest } = record;
  const answer = changed(answerBefore, change.answer);
  const facilitator = changed(facilitatorBefore, change.facilitator);
  return {
    ...rest,
    state: change.to,
    owner: change.newOwner ?? record.owner,
    ...(facilitator === undefined ? {} : { facilitator }),
    ...(answer === undefined ? {} : { answer }),
    ...(change.receipt === undefined ? {} : { receipt: change.receipt }),
  };
}

/** `undefined` leaves a field as it is, `null` forgets it. */
function changed<T>(before: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? before : (change ?? undefined);
}

interface Expiries {
  add(request: ClaimRequest): void;
  /** Else whoever sends payments that are refused could fill the memory with what is left of them. */
  remove(record: PaymentRecord): void;
  forgetUntil(nowMs: number): void;
}

function createExpiries(records: Map<string, PaymentRecord>): Expiries {
  const buckets = new Map<number, Set<string>>();
  let forgottenUntil = 0;
  return {
    add({ identity, expiresAtMs }) {
      const bucket = bucketOf(expiresAtMs);
      const identities = buckets.get(bucket) ?? new Set();
      identities.add(identity);
      buckets.set(bucket, identities);
    },
    remove({ identity, expiresAtMs }) {
      const bucket = bucketOf(expiresAtMs);
      const identities = buckets.get(bucket);
      identities?.delete(identity);
      if (identities?.size === 0) buckets.delete(bucket);
    },
    forgetUntil(nowMs) {
      const current = Math.floor(nowMs / BUCKET_MS);
      if (current === forgottenUntil) return;
      forgottenUntil = current;
      for (const [bucket, identities] of buckets) {
        if (bucket > current) continue;
        for (const identity of identities) records.delete(identity);
        buckets.delete(bucket);
      }
    },
  };
}

function bucketOf(expiresAtMs: number): number {
  return Math.ceil((expiresAtMs + GRACE_MS) / BUCKET_MS);
}
