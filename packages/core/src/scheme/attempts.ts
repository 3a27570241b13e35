/**
 * What a facilitator has done about each payment: so that a success is said once.
 *
 * @module
 */

/** Remembers attempts by the identity of their payment, and lets only one caller at a time work on a payment. */
export interface Attempts<A> {
  find(identity: string): A | undefined;
  remember(identity: string, attempt: A): void;
  forget(identity: string): void;
  /** Runs `work` when nobody else works on this payment any more. */
  exclusively<T>(identity: string, work: () => Promise<T>): Promise<T>;
  /** How many attempts are remembered. */
  readonly size: number;
}

/** How long attempts are remembered. */
export interface AttemptsOptions {
  /** From when it was last heard of. For as long as a payment can live, or longer. */
  readonly rememberedMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Creates an empty memory. It lies in this process: what was done before a restart only the network knows. */
export function createAttempts<A>({ rememberedMs, now }: AttemptsOptions): Attempts<A> {
  const attempts = new Map<string, { readonly attempt: A; readonly sinceMs: number }>();
  const working = new Map<string, Promise<unknown>>();

  return {
    get size() {
      return attempts.size;
    },
    find: (identity) => attempts.get(identity)?.attempt,
    remember(identity, attempt) {
      // Kept in the order of their age, so that the oldest come first when they are forgotten.
      attempts.delete(identity);
      attempts.set(identity, { attempt, sinceMs: now() });
      for (const [oldest, { sinceMs }] of attempts) {
        if (sinceMs + rememberedMs > now()) break;
        attempts.delete(oldest);
      }
    },
    forget(identity) {
      attempts.delete(identity);
    },
    async exclusively(identity, work) {
      const previous = working.get(identity) ?? Promise.resolve();
      const turn = previous.then(work, work);
      working.set(identity, turn);
      try {
        return await turn;
      } finally {
        if (working.get(identity) === turn) working.delete(identity);
      }
    },
  };
}
