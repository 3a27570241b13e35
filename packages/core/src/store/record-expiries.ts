/**
 * When which record may be forgotten. Time is counted by the minute, so that forgetting costs nothing per record.
 *
 * @module
 */

/** What is to be forgotten, and when the payment it is about expires. */
export interface Expiring {
  readonly identity: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** Remembers when to forget. */
export interface RecordExpiries {
  add(record: Expiring): void;
  /** Else whoever sends payments that are refused could fill the memory with what is left of them. */
  remove(record: Expiring): void;
  /** What may be forgotten by now, and was not named before. */
  passed(nowMs: number): readonly string[];
}

/** Records are kept this long past their expiry: an outcome that is still unknown then may yet be asked for. */
const GRACE_MS = 10 * 60 * 1000;

const BUCKET_MS = 60 * 1000;

/** Creates an empty calendar. */
export function createRecordExpiries(): RecordExpiries {
  const buckets = new Map<number, Set<string>>();
  let passedUntil = 0;
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
    passed(nowMs) {
      const current = Math.floor(nowMs / BUCKET_MS);
      if (current === passedUntil) return [];
      passedUntil = current;
      const due = [...buckets].filter(([bucket]) => bucket <= current);
      for (const [bucket] of due) buckets.delete(bucket);
      return due.flatMap(([, identities]) => [...identities]);
    },
  };
}

function bucketOf(expiresAtMs: number): number {
  return Math.ceil((expiresAtMs + GRACE_MS) / BUCKET_MS);
}
