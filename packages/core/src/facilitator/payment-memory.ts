/**
 * Which facilitator has which payment.
 *
 * Two facilitators that settle the same payment could each say that it is theirs; and when one of them has lost its
 * answer, what the other says proves nothing about the first. So a payment belongs to the facilitator that was told to
 * settle it, from before the request leaves until the payment can no longer settle, unless it provably never got there.
 * Until then it merely prefers the one that verified it: that one knows the payment, and may be the only one who can.
 *
 * @module
 */
import type { Clock } from "./clock.js";

/** Longer than any payment may take from challenge to settlement. */
export const REMEMBERED_MS: number = 25 * 60 * 60 * 1000;

/** Per kind of knowledge; the oldest is forgotten first. Some 10 MB in all. */
export const MAX_REMEMBERED = 10_000;

/** A facilitator, and whether the payment must go there or merely should. */
export interface Holder {
  readonly name: string;
  /** It was told to settle the payment, and may have. */
  readonly firm: boolean;
}

/** Remembers the facilitators of payments, for a while and up to a number. */
export interface PaymentMemory {
  find(payment: string): Holder | undefined;
  /** It said that the payment is good. */
  verified(payment: string, name: string): void;
  /** It is about to be told to settle. */
  sent(payment: string, name: string): void;
  /** It was never told, after all. */
  unsent(payment: string): void;
  /** It answered. */
  answered(payment: string, name: string): void;
}

/**
 * Creates an empty memory. What is open is kept apart from what was answered, and from what was only verified: however
 * many payments go well, none that is in doubt is forgotten for them. Circuit breakers keep those that are in doubt few.
 */
export function createPaymentMemory(clock: Pick<Clock, "now">): PaymentMemory {
  const [verified, open, answered] = [createRecent(clock), createRecent(clock), createRecent(clock)];
  return {
    find(payment) {
      const told = open.get(payment) ?? answered.get(payment);
      const name = told ?? verified.get(payment);
      return name === undefined ? undefined : { name, firm: told !== undefined };
    },
    verified: (payment, name) => verified.set(payment, name),
    sent: (payment, name) => open.set(payment, name),
    unsent: (payment) => open.delete(payment),
    answered(payment, name) {
      answered.set(payment, name);
      open.delete(payment);
      verified.delete(payment);
    },
  };
}

interface Recent {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
  delete(key: string): void;
}

/** Knows which entry came before it, and which came next. */
interface Entry {
  readonly key: string;
  readonly value: string;
  readonly untilMs: number;
  older: Entry | undefined;
  newer: Entry | undefined;
}

/**
 * Entries in order of age: all live equally long, so the oldest is the first to go, for time as for number. They are linked,
 * because to look for the oldest of a map, again and again, would be to pass by all that were taken out of it before.
 */
function createRecent({ now }: Pick<Clock, "now">): Recent {
  const entries = new Map<string, Entry>();
  let oldest: Entry | undefined;
  let newest: Entry | undefined;

  function add(entry: Entry): void {
    entries.set(entry.key, entry);
    if (newest === undefined) oldest = entry;
    else newest.newer = entry;
    newest = entry;
  }

  function remove(entry: Entry | undefined): void {
    if (entry === undefined) return;
    const { key, older, newer } = entry;
    entries.delete(key);
    if (older === undefined) oldest = newer;
    else older.newer = newer;
    if (newer === undefined) newest = older;
    else newer.older = older;
    // Else what is gone would keep alive what came after it, until a full garbage collection.
    entry.older = undefined;
    entry.newer = undefined;
  }

  return {
    get(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.untilMs > now() ? entry.value : undefined;
    },
    set(key, value) {
      const nowMs = now();
      remove(entries.get(key));
      add({ key, value, untilMs: nowMs + REMEMBERED_MS, older: newest, newer: undefined });
      while (oldest !== undefined && (oldest.untilMs <= nowMs || entries.size > MAX_REMEMBERED)) remove(oldest);
    },
    delete: (key) => remove(entries.get(key)),
  };
}
