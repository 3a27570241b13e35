/**
 * What this facilitator has done about each payment: so that a success is said once.
 *
 * @module
 */

/**
 * - `sent`: broadcast; nobody has been told yet how it ended.
 * - `settled`: it is on chain, and somebody has been told so.
 * - `failed`: it failed on chain.
 * - `dropped`: it never got there, and no longer can.
 */
export type AttemptState = "sent" | "settled" | "failed" | "dropped";

/** A transaction that was broadcast. */
export interface Attempt {
  /** Its signature. */
  readonly transaction: string;
  readonly state: AttemptState;
}

/** Remembers attempts by the digest of their message, and lets only one caller at a time work on a payment. */
export interface Attempts {
  find(digest: string): Attempt | undefined;
  remember(digest: string, attempt: Attempt): void;
  /** Runs `work` when nobody else works on this payment any more. */
  exclusively<T>(digest: string, work: () => Promise<T>): Promise<T>;
  /** How many attempts are remembered. */
  readonly size: number;
}

/** After this an attempt is forgotten; its blockhash has long run out, and the chain still knows it. */
const REMEMBERED_MS = 60 * 60 * 1000;

/**
 * Creates an empty memory.
 *
 * @param now - Unix milliseconds.
 */
export function createAttempts(now: () => number): Attempts {
  const attempts = new Map<string, Attempt & { readonly sinceMs: number }>();
  const working = new Map<string, Promise<unknown>>();

  return {
    get size() {
      return attempts.size;
    },
    find: (digest) => attempts.get(digest),
    remember(digest, attempt) {
      // Kept in the order of their age, so that the oldest come first when they are forgotten.
      attempts.delete(digest);
      attempts.set(digest, { ...attempt, sinceMs: now() });
      for (const [key, { sinceMs }] of attempts) {
        if (sinceMs + REMEMBERED_MS > now()) break;
        attempts.delete(key);
      }
    },
    async exclusively(digest, work) {
      const previous = working.get(digest) ?? Promise.resolve();
      const turn = previous.then(work, work);
      working.set(digest, turn);
      try {
        return await turn;
      } finally {
        if (working.get(digest) === turn) working.delete(digest);
      }
    },
  };
}
