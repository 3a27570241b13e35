/**
 * The payment store of one process. What it holds is gone with the process; chains still refuse a second settlement.
 *
 * @module
 */
import { ConfigError, describeValue } from "../errors.js";
import type { HeldRecord } from "./held-record.js";
import {
  type Claim,
  type ClaimRequest,
  type PaymentRecord,
  type PaymentStore,
  RELEASABLE,
  TRANSITIONS,
  type Transition,
  UNFINISHED,
} from "./payment-store.js";
import { createRecordTable } from "./record-table.js";

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
 * @throws {@link ConfigError} when `maxAnswerBytes` is not a number from 0
 */
export function createMemoryStore(
  now: () => number = Date.now,
  { maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES }: MemoryStoreOptions = {},
): PaymentStore & { readonly size: number } {
  const records = createRecordTable(checkedSize(maxAnswerBytes));
  const store: PaymentStore & { readonly size: number } = {
    get size() {
      return records.size;
    },
    claim(request: ClaimRequest): Claim {
      records.removeExpired(now());
      const { identity, identifier } = request;
      const record = records.get(identity);
      if (record !== undefined) return { kind: "taken", record: record.toRecord() };
      if (identifier !== undefined && records.hasIdentifier(identifier)) return { kind: "identifier_taken" };
      records.add(request);
      return { kind: "claimed" };
    },
    find(identity: string): PaymentRecord | undefined {
      return records.get(identity)?.toRecord();
    },
    transition(change: Transition): boolean {
      const record = records.get(change.identity);
      if (record === undefined || !allows(record, change)) return false;
      records.change(record, change);
      return true;
    },
    release(identity: string, owner: string): void {
      const record = records.get(identity);
      if (record?.owner === owner && RELEASABLE.includes(record.state)) records.remove(record);
    },
    async *unfinished(): AsyncIterable<PaymentRecord> {
      // Listed beforehand: a payment that is released and claimed again meanwhile would be met twice, or without end.
      const identities = [...records.values()].filter(isUnfinished).map(({ identity }) => identity);
      for (const identity of identities) {
        const record = records.get(identity);
        if (record !== undefined && isUnfinished(record)) yield record.toRecord();
      }
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

function checkedSize(bytes: number): number {
  // Said the other way round, it would let NaN pass.
  if (typeof bytes === "number" && bytes >= 0) return bytes;
  const received = describeValue(bytes);
  throw new ConfigError([{ path: "maxAnswerBytes", expected: "a number of bytes, from 0", received }]);
}

function isUnfinished({ state }: HeldRecord): boolean {
  return UNFINISHED.includes(state);
}

function allows(record: HeldRecord, change: Transition): boolean {
  if (record.state !== change.from || record.owner !== change.owner) return false;
  return TRANSITIONS[change.from].includes(change.to);
}
