/**
 * Settlements whose outcome is not known yet: each is tried again, less and less often, until it is.
 *
 * @module
 */

import type { UnsettledPayment } from "./outcome.js";
import type { StartTimer } from "./run.js";

/** What trying again has come to: nothing is left to do, or this payment is to be tried once more. */
export type Attempted = { readonly kind: "done" } | { readonly kind: "again"; readonly retryAfterSeconds: number };

/** Tries to settle a payment again. Must not reject. */
export type Attempt = (payment: UnsettledPayment) => Promise<Attempted>;

/** Payments that wait for another attempt. */
export interface PendingSettlements {
  /** Says how to try. Nothing is tried before. */
  attemptBy(attempt: Attempt): void;
  /** Tries a payment again, after a while; nothing changes for one that waits already. */
  add(payment: UnsettledPayment, retryAfterSeconds: number): void;
  /** How many wait. */
  readonly size: number;
  /** Tries nothing any more. What is under way goes on to its end. */
  close(): void;
}

/** What a schedule works with. */
export interface PendingOptions {
  readonly timer: StartTimer;
  /** From 0 to 1, so that many sellers do not ask one facilitator at the same moment. Default `Math.random`. */
  readonly random?: () => number;
}

const LONGEST_DELAY_SECONDS = 60;

/** Creates an empty schedule. */
export function createPendingSettlements({ timer, random = Math.random }: PendingOptions): PendingSettlements {
  const waiting = new Map<string, () => void>();
  let attempt: Attempt | undefined;
  let isClosed = false;

  const schedule = (payment: UnsettledPayment, { tries, askedSeconds }: Delay) => {
    const { identity } = payment.claim;
    const stop = timer(() => void run(payment, tries), delayMs({ tries, askedSeconds }, random));
    waiting.set(identity, stop);
  };
  const run = async (payment: UnsettledPayment, tries: number) => {
    const { identity } = payment.claim;
    const attempted = (await attempt?.(payment)) ?? { kind: "done" };
    if (isClosed || attempted.kind === "done") waiting.delete(identity);
    else schedule(payment, { tries: tries + 1, askedSeconds: attempted.retryAfterSeconds });
  };

  return {
    get size() {
      return waiting.size;
    },
    attemptBy(given) {
      attempt = given;
    },
    add(payment, askedSeconds) {
      if (!isClosed && !waiting.has(payment.claim.identity)) schedule(payment, { tries: 0, askedSeconds });
    },
    close() {
      isClosed = true;
      for (const stop of waiting.values()) stop();
      waiting.clear();
    },
  };
}

interface Delay {
  readonly tries: number;
  readonly askedSeconds: number;
}

/** 2, 4, 8 … seconds, a quarter more or less; and not before the facilitator has said. */
function delayMs({ tries, askedSeconds }: Delay, random: () => number): number {
  const backoff = Math.min(2 ** (tries + 1), LONGEST_DELAY_SECONDS) * (0.75 + random() / 2);
  return Math.max(backoff, Math.min(askedSeconds, LONGEST_DELAY_SECONDS)) * 1000;
}
