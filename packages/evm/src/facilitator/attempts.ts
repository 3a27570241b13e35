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
  /** Remembers an attempt. What is settled stays so, whatever is heard later of another transaction. */
  remember(key: MovementKey, attempt: Omit<Attempt, "fingerprint">): void;
  /** Gives up a transaction, and forgets the attempt if it is still waiting for that one. */
  drop(key: MovementKey, transaction: Hash): void;
  /** Whether a transaction was sent for this very payment, and given up, and the payment has not been settled since. */
  wasDropped(key: MovementKey, transaction: Moved["transaction"]): boolean;
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
  const dropped = createMemory<ReadonlySet<Moved["transaction"]>>({ rememberedMs: REMEMBERED_MS, now });
  const nameOf = ({ identity, fingerprint }: MovementKey): string => `${identity}|${fingerprint}`;

  return {
    get size() {
      return attempts.size;
    },
    find: ({ identity }) => attempts.find(identity),
    remember(key, attempt) {
      const { identity, fingerprint } = key;
      if (attempts.find(identity)?.state === "settled") return;
      attempts.remember(identity, { ...attempt, fingerprint });
      // Nothing that was given up may outlive the note of a success, or it could become a second one.
      if (attempt.state === "settled") dropped.forget(nameOf(key));
    },
    drop(key, transaction) {
      const attempt = attempts.find(key.identity);
      if (attempt?.state === "settled") return;
      const before = dropped.find(nameOf(key)) ?? [];
      dropped.remember(nameOf(key), new Set([...before, transaction]));
      if (attempt?.state === "sent" && attempt.transaction === transaction) attempts.forget(key.identity);
    },
    wasDropped: (key, transaction) => dropped.find(nameOf(key))?.has(transaction) === true,
    exclusively: ({ identity }, work) => attempts.exclusively(identity, work),
  };
}

/** Whether an attempt was made for this very payment. */
export function isAttemptFor(attempt: Attempt, { fingerprint }: MovementKey): boolean {
  return attempt.fingerprint === fingerprint;
}
