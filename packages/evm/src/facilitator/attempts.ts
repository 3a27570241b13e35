/**
 * What this facilitator has done about each authorization: so that a success is said once.
 *
 * @module
 */
import type { Hash, SignedAuthorization } from "./chain.js";

/**
 * - `sent`: broadcast; nobody has been told yet how it ended.
 * - `settled`: it is on chain, and somebody has been told so.
 * - `reverted`: it failed on chain.
 */
export type AttemptState = "sent" | "settled" | "reverted";

/** A transfer that was broadcast for an authorization. */
export interface Attempt {
  readonly transaction: Hash;
  readonly state: AttemptState;
  /** Who paid whom how much, and with which signature: another payment under the same nonce is another payment. */
  readonly fingerprint: string;
}

/** Remembers attempts, and lets only one caller at a time work on an authorization. */
export interface Attempts {
  find(signed: SignedAuthorization): Attempt | undefined;
  remember(signed: SignedAuthorization, attempt: Pick<Attempt, "transaction" | "state">): void;
  /** Forgets an attempt, if it is still the one that `transaction` was sent for. */
  forget(signed: SignedAuthorization, transaction: Hash): void;
  /** Runs `work` when nobody else works on this authorization any more. */
  exclusively<T>(signed: SignedAuthorization, work: () => Promise<T>): Promise<T>;
  /** How many attempts are remembered. */
  readonly size: number;
}

/** After this an attempt is forgotten; the chain still knows it. */
const REMEMBERED_MS = 25 * 60 * 60 * 1000;

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
    find: (signed) => attempts.get(identityOf(signed)),
    remember(signed, attempt) {
      const identity = identityOf(signed);
      // Kept in the order of their age, so that the oldest come first when they are forgotten.
      attempts.delete(identity);
      attempts.set(identity, { ...attempt, fingerprint: fingerprintOf(signed), sinceMs: now() });
      for (const [key, { sinceMs }] of attempts) {
        if (sinceMs + REMEMBERED_MS > now()) break;
        attempts.delete(key);
      }
    },
    forget(signed, transaction) {
      const identity = identityOf(signed);
      if (attempts.get(identity)?.transaction === transaction) attempts.delete(identity);
    },
    async exclusively(signed, work) {
      const identity = identityOf(signed);
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

/** Whether an attempt was made for this very payment. */
export function isAttemptFor(attempt: Attempt, signed: SignedAuthorization): boolean {
  return attempt.fingerprint === fingerprintOf(signed);
}

function identityOf({ asset, authorization }: SignedAuthorization): string {
  return [asset, authorization.from, authorization.nonce].join("|").toLowerCase();
}

function fingerprintOf({ authorization, signature }: SignedAuthorization): string {
  const { to, value, validAfter, validBefore } = authorization;
  return [to, value, validAfter, validBefore, signature].join("|").toLowerCase();
}
