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
import type { Clock } from "./circuit-breaker.js";

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

/** Creates an empty memory. */
export function createPaymentMemory({ now }: Pick<Clock, "now">): PaymentMemory {
  return new Memory(now);
}

/**
 * Creates the memory of a pool with one facilitator. It has every payment, so that nothing is remembered but what it was told to settle
 * and has not answered yet.
 */
export function createSoleMemory(name: string, { now }: Pick<Clock, "now">): PaymentMemory {
  return new SoleMemory(name, new Memory(now));
}

/**
 * What is open is kept apart from what was answered, and from what was only verified: however many payments go well, none that is
 * in doubt is forgotten for them. Circuit breakers keep those that are in doubt few.
 */
class Memory implements PaymentMemory {
  readonly #now: () => number;
  readonly #payments = new Map<string, Known>();
  readonly #verified: Recent = new Chain();
  readonly #open: Recent = new Chain();
  readonly #answered: Recent = new Chain();

  constructor(now: () => number) {
    this.#now = now;
  }

  find(payment: string): Holder | undefined {
    const known = this.#live(payment, this.#now());
    const name = known?.toldTo ?? known?.verifiedBy;
    return name === undefined ? undefined : { name, firm: known?.toldTo !== undefined };
  }

  verified(payment: string, name: string): void {
    const nowMs = this.#now();
    const known = this.#know(payment, nowMs);
    known.verifiedBy = name;
    if (known.toldTo === undefined) this.#renew(known, this.#verified, nowMs);
  }

  sent(payment: string, name: string): void {
    const nowMs = this.#now();
    const known = this.#know(payment, nowMs);
    known.toldTo = name;
    this.#renew(known, this.#open, nowMs);
  }

  unsent(payment: string): void {
    const nowMs = this.#now();
    const known = this.#live(payment, nowMs);
    if (known?.recent !== this.#open) return;
    known.toldTo = undefined;
    if (known.verifiedBy === undefined) this.#forget(known);
    else this.#renew(known, this.#verified, nowMs);
  }

  answered(payment: string, name: string): void {
    const nowMs = this.#now();
    const known = this.#know(payment, nowMs);
    known.toldTo = name;
    known.verifiedBy = undefined;
    this.#renew(known, this.#answered, nowMs);
  }

  forget(payment: string): void {
    const known = this.#payments.get(payment);
    if (known !== undefined) this.#forget(known);
  }

  #live(payment: string, nowMs: number): Known | undefined {
    const known = this.#payments.get(payment);
    return known === undefined || isOutdated(known, nowMs) ? undefined : known;
  }

  #know(payment: string, nowMs: number): Known {
    const known = this.#payments.get(payment);
    if (known !== undefined && !isOutdated(known, nowMs)) return known;
    if (known !== undefined) this.#forget(known);
    const added = new Known(payment);
    this.#payments.set(payment, added);
    return added;
  }

  #forget(known: Known): void {
    known.recent?.remove(known);
    this.#payments.delete(known.payment);
  }

  /** It is the newest of its kind from now on. */
  #renew(known: Known, recent: Recent, nowMs: number): void {
    known.recent?.remove(known);
    recent.add(known);
    known.recent = recent;
    known.untilMs = nowMs + REMEMBERED_MS;
    for (let { first } = recent; first !== undefined && isTooMuch(recent, nowMs); { first } = recent) {
      this.#forget(first);
    }
  }
}

/** Who verified a payment, and who has answered, need not be remembered: there is nobody else whom it could be taken to. */
class SoleMemory implements PaymentMemory {
  readonly #anybody: Holder;
  readonly #open: Memory;

  constructor(name: string, open: Memory) {
    this.#anybody = Object.freeze({ name, firm: false });
    this.#open = open;
  }

  find(payment: string): Holder {
    return this.#open.find(payment) ?? this.#anybody;
  }

  verified(): void {}

  sent(payment: string, name: string): void {
    this.#open.sent(payment, name);
  }

  unsent(payment: string): void {
    this.#open.unsent(payment);
  }

  answered(payment: string): void {
    this.#open.forget(payment);
  }
}

function isTooMuch({ size, first }: Recent, nowMs: number): boolean {
  return size > MAX_REMEMBERED || (first !== undefined && isOutdated(first, nowMs));
}

function isOutdated({ untilMs }: Known, nowMs: number): boolean {
  return untilMs <= nowMs;
}
