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
import { Chain, type Link } from "../chain.js";
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

/** What is remembered of a payment. */
class Known implements Link<Known> {
  readonly payment: string;
  /** Who said that it is good; nobody cares any more once somebody has settled it. */
  verifiedBy: string | undefined;
  /** Who was told to settle it. */
  toldTo: string | undefined;
  untilMs = 0;
  /** Among what it is remembered. */
  recent: Recent | undefined;
  before: Known | undefined;
  after: Known | undefined;

  constructor(payment: string) {
    this.payment = payment;
  }
}

/** Payments in order of age: all are remembered equally long, so the oldest is the first to go, for time as for number. */
type Recent = Chain<Known>;

/**
 * Creates an empty memory. What is open is kept apart from what was answered, and from what was only verified: however
 * many payments go well, none that is in doubt is forgotten for them. Circuit breakers keep those that are in doubt few.
 */
export function createPaymentMemory({ now }: Pick<Clock, "now">): PaymentMemory {
  const payments = new Map<string, Known>();
  const [verified, open, answered]: [Recent, Recent, Recent] = [new Chain(), new Chain(), new Chain()];

  const forget = (known: Known) => {
    known.recent?.remove(known);
    payments.delete(known.payment);
  };
  const live = (payment: string, nowMs: number) => {
    const known = payments.get(payment);
    return known !== undefined && known.untilMs > nowMs ? known : undefined;
  };
  /** The newest of its kind from now on. */
  const renew = (known: Known, recent: Recent, nowMs: number) => {
    known.recent?.remove(known);
    recent.add(known);
    known.recent = recent;
    known.untilMs = nowMs + REMEMBERED_MS;
    for (let { first } = recent; first !== undefined && isTooMuch(recent, nowMs); { first } = recent) forget(first);
  };
  const know = (payment: string, nowMs: number) => {
    const known = live(payment, nowMs);
    if (known !== undefined) return known;
    const outdated = payments.get(payment);
    if (outdated !== undefined) forget(outdated);
    const added = new Known(payment);
    payments.set(payment, added);
    return added;
  };
  return {
    find(payment) {
      const known = live(payment, now());
      const name = known?.toldTo ?? known?.verifiedBy;
      return name === undefined ? undefined : { name, firm: known?.toldTo !== undefined };
    },
    verified(payment, name) {
      const nowMs = now();
      const known = know(payment, nowMs);
      known.verifiedBy = name;
      if (known.toldTo === undefined) renew(known, verified, nowMs);
    },
    sent(payment, name) {
      const nowMs = now();
      const known = know(payment, nowMs);
      known.toldTo = name;
      renew(known, open, nowMs);
    },
    unsent(payment) {
      const nowMs = now();
      const known = live(payment, nowMs);
      if (known?.recent !== open) return;
      known.toldTo = undefined;
      if (known.verifiedBy === undefined) forget(known);
      else renew(known, verified, nowMs);
    },
    answered(payment, name) {
      const nowMs = now();
      const known = know(payment, nowMs);
      known.toldTo = name;
      known.verifiedBy = undefined;
      renew(known, answered, nowMs);
    },
  };
}

function isTooMuch(recent: Recent, nowMs: number): boolean {
  return recent.size > MAX_REMEMBERED || (recent.first !== undefined && recent.first.untilMs <= nowMs);
}
