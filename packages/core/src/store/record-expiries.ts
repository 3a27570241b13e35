/**
 * When which record may be forgotten. Time is counted by the minute, so that forgetting costs nothing per record.
 *
 * @module
 */
import { Chain, type Link } from "../chain.js";

/** What is to be forgotten, and when the payment it is about expires. */
export interface Expiring<T> extends Link<T> {
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** Remembers when to forget. */
export interface RecordExpiries<T> {
  add(record: T): void;
  /**
   * Takes out what was added and has not passed. Else whoever sends payments that are refused could fill the memory with what is
   * left of them.
   */
  remove(record: T): void;
  /** What may be forgotten by now, and was not named before. */
  passed(nowMs: number): readonly T[];
}

/** Records are kept this long past their expiry: an outcome that is still unknown then may yet be asked for. */
const GRACE_MS = 10 * 60 * 1000;

const BUCKET_MS = 60 * 1000;

/** Creates an empty calendar. */
export function createRecordExpiries<T extends Expiring<T>>(): RecordExpiries<T> {
  const buckets = new Map<number, Chain<T>>();
  let passedUntil = 0;
  return {
    add(record) {
      const at = bucketOf(record.expiresAtMs);
      const bucket = buckets.get(at) ?? new Chain<T>();
      if (bucket.size === 0) buckets.set(at, bucket);
      bucket.add(record);
    },
    remove(record) {
      const at = bucketOf(record.expiresAtMs);
      const bucket = buckets.get(at);
      bucket?.remove(record);
      if (bucket?.size === 0) buckets.delete(at);
    },
    passed(nowMs) {
      const current = Math.floor(nowMs / BUCKET_MS);
      if (current === passedUntil) return [];
      passedUntil = current;
      const due = [...buckets].filter(([bucket]) => bucket <= current);
      for (const [bucket] of due) buckets.delete(bucket);
      return due.flatMap(([, records]) => [...records]);
    },
  };
}

function bucketOf(expiresAtMs: number): number {
  return Math.ceil((expiresAtMs + GRACE_MS) / BUCKET_MS);
}
