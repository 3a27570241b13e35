/**
 * What this facilitator has done about each payment: so that a success is said once.
 *
 * @module
 */

/**
 * - `sent`: broadcast; nobody has been told yet how it ended.
 * - `settled`: it is on chain, and somebody has been told so.
 * - `dropped`: it never got there, and no longer can.
 */
export type AttemptState = "sent" | "settled" | "dropped";

/** Remembers attempts by the name of the transaction that pays, and lets only one caller at a time work on a payment. */
export interface Attempts {
  find(id: string): AttemptState | undefined;
  remember(id: string, state: AttemptState): void;
  /** Runs `work` when nobody else works on this payment any more. */
  exclusively<T>(id: string, work: () => Promise<T>): Promise<T>;
  /** How many attempts are remembered. */
  readonly size: number;
}

/** After this an attempt is forgotten; its rounds are over, for there are 1001 at most. */
const REMEMBERED_MS = 2 * 60 * 60 * 1000;

/**
 * Creates an empty memory.
 *
 * @param now - Unix milliseconds.
 */
export function createAttempts(now: () => number): Attempts {
  const attempts = new Map<string, { readonly state: AttemptState; readonly sinceMs: number }>();
  const working = new Map<string, Promise<unknown>>();

  return {
    get size() {
      return attempts.size;
    },
    find: (id) => attempts.get(id)?.state,
    remember(id, state) {
      // Kept in the order of their age, so that the oldest come first when they are forgotten.
      attempts.delete(id);
      attempts.set(id, { state, sinceMs: now() });
      for (const [key, { sinceMs }] of attempts) {
        if (sinceMs + REMEMBERED_MS > now()) break;
        attempts.delete(key);
      }
    },
    async exclusively(id, work) {
      const previous = working.get(id) ?? Promise.resolve();
      const turn = previous.then(work, work);
      working.set(id, turn);
      try {
        return await turn;
      } finally {
        if (working.get(id) === turn) working.delete(id);
      }
    },
  };
}
