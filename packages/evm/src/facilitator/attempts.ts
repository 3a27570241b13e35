/**
 * What this facilitator has done about each authorization: so that a success is said once.
 *
 * @module
 */
import { createAttempts as createMemory } from "@farebox/core/scheme";
import type { Hash } from "./chain.js";
import type { Moved, MovementKey } from "./movement.js";

/**
 * - `sent`: broadcast; nobody has been told yet how it ended.
 * - `settled`: it is on chain, or nothing was to be moved, and somebody has been told so.
 * - `reverted`: it failed on chain.
 */
export type AttemptState = "sent" | "settled" | "reverted";

/** What was done about an authorization. */
export interface Attempt extends Moved {
  readonly state: AttemptState;
  /** Another payment under the same nonce is another payment. */
  readonly fingerprint: string;
}

/** Remembers attempts, and lets only one caller at a time work on an authorization. */
export interface Attempts {
  find(key: MovementKey): Attempt | undefined;
  remember(key: MovementKey, attempt: Omit<Attempt, "fingerprint">): void;
  /** Forgets an attempt, if it is still the one that `transaction` was sent for. */
  forget(key: MovementKey, transaction: Hash): void;
  /** Runs `work` when nobody else works on this authorization any more. */
  exclusively<T>(key: MovementKey, work: () => Promise<T>): Promise<T>;
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
  const attempts = createMemory<Attempt>({ rememberedMs: REMEMBERED_MS, now });

  return {
    get size() {
      return attempts.size;
    },
    find: ({ identity }) => attempts.find(identity),
    remember({ identity, fingerprint }, attempt) {
      attempts.remember(identity, { ...attempt, fingerprint });
    },
    forget({ identity }, transaction) {
      if (attempts.find(identity)?.transaction === transaction) attempts.forget(identity);
    },
    exclusively: ({ identity }, work) => attempts.exclusively(identity, work),
  };
}

/** Whether an attempt was made for this very payment. */
export function isAttemptFor(attempt: Attempt, { fingerprint }: MovementKey): boolean {
  return attempt.fingerprint === fingerprint;
}
