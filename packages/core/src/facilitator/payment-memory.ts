/**
 * Remembers which facilitator has which payment.
 *
 * Two facilitators that settle one payment could each claim that they moved the money; and if one of them loses its response, the
 * other's response proves nothing about it. A payment therefore belongs to the facilitator that was told to settle it: from before
 * the request is sent until the payment can no longer settle, unless the request provably never arrived. Before that, the payment
 * merely prefers the facilitator that verified it, which knows the payment and may be the only one that can settle it.
 *
 * @module
 */
import type { SettlementResponse } from "../protocol/documents.js";
import type { Clock } from "./circuit-breaker.js";

/** Longer than any payment may take from challenge to settlement. */
export const REMEMBERED_MS: number = 25 * 60 * 60 * 1000;

/** Payments remembered of each kind: verified, in doubt, settled or refused. The oldest are forgotten first. About 10 MB in all. */
export const MAX_REMEMBERED = 10_000;

/** A facilitator, and whether the payment must go there or merely should. */
export interface Holder {
  readonly name: string;
  /** It was told to settle the payment, and may have done so. */
  readonly firm: boolean;
}

/** Which facilitator has which payment, for a limited time and number of payments. */
export interface PaymentMemory {
  find(payment: string): Holder | undefined;
  /** The facilitator said that the payment is valid. */
  verified(payment: string, name: string): void;
  /** The facilitator is about to be told to settle. */
  sent(payment: string, name: string): void;
  /** The settlement provably never reached the facilitator. */
  unsent(payment: string): void;
  /** The facilitator responded to the settlement. */
  responded(payment: string, name: string): void;
}

/** Creates an empty memory. */
export function createPaymentMemory({ now }: Pick<Clock, "now">): PaymentMemory {
  return new Memory(now);
}

/**
 * The memory of a pool with one facilitator. Every payment belongs to it, so only settlements are remembered: those under way, and those in
 * doubt, which have ended without a response.
 */
export class SoleMemory {
  readonly #now: () => number;
  /** By payment. Another settlement of the same payment waits for it. */
  readonly #underWay: Map<string, Promise<SettlementResponse>>;
  /** Until when each payment is remembered that the facilitator was told to settle, in order of age. */
  readonly #toldTo = new Map<string, number>();

  constructor({ now }: Pick<Clock, "now">, underWay: Map<string, Promise<SettlementResponse>>) {
    this.#now = now;
    this.#underWay = underWay;
  }

  /** The facilitator is about to be told to settle. Returns whether an earlier settlement of this payment is in doubt. */
  begin(payment: string, settlement: Promise<SettlementResponse>): boolean {
    const nowMs = this.#now();
    this.#underWay.set(payment, settlement);
    const toldTo = this.#toldTo;
    const untilMs = toldTo.get(payment);
    if (untilMs !== undefined) toldTo.delete(payment);
    toldTo.set(payment, nowMs + REMEMBERED_MS);
    for (const [oldest, oldestMs] of toldTo) {
      if (toldTo.size <= MAX_REMEMBERED && oldestMs > nowMs) break;
      toldTo.delete(oldest);
    }
    return untilMs !== undefined && untilMs > nowMs;
  }

  /** It has ended. `isInDoubt`: without a response, and it may have reached the facilitator. */
  end(payment: string, isInDoubt: boolean): void {
    this.#underWay.delete(payment);
    if (!isInDoubt) this.#toldTo.delete(payment);
  }
}

/** The facilitators of one payment. */
interface Known {
  /** The facilitator that verified it; not kept after a response to the settlement. */
  readonly verifiedBy?: string | undefined;
  /** The facilitator that was told to settle it. */
  readonly toldTo?: string | undefined;
  readonly untilMs: number;
}

/** Payments in order of age. All are remembered equally long, so the oldest is the first to expire, too. */
type Recent = Map<string, Known>;

/**
 * A payment is in one of three maps. They are separate so that any number of payments that go well cannot push out one that is in
 * doubt. Circuit breakers keep the number of those in doubt small.
 */
class Memory implements PaymentMemory {
  readonly #now: () => number;
  readonly #verified: Recent = new Map();
  readonly #inDoubt: Recent = new Map();
  readonly #responded: Recent = new Map();

  constructor(now: () => number) {
    this.#now = now;
  }

  find(payment: string): Holder | undefined {
    const known = this.#live(payment);
    const name = known?.toldTo ?? known?.verifiedBy;
    return name === undefined ? undefined : { name, firm: known?.toldTo !== undefined };
  }

  verified(payment: string, name: string): void {
    const known = this.#live(payment);
    if (known?.toldTo === undefined) this.#remember(this.#verified, payment, { verifiedBy: name });
    // Its age is that of the settlement: the entry stays where it is.
    else this.#mapOf(payment)?.set(payment, { ...known, verifiedBy: name });
  }

  sent(payment: string, name: string): void {
    this.#remember(this.#inDoubt, payment, { verifiedBy: this.#live(payment)?.verifiedBy, toldTo: name });
  }

  unsent(payment: string): void {
    const known = this.#live(payment);
    if (known === undefined || !this.#inDoubt.has(payment)) return;
    if (known.verifiedBy === undefined) this.forget(payment);
    else this.#remember(this.#verified, payment, { verifiedBy: known.verifiedBy });
  }

  responded(payment: string, name: string): void {
    this.#remember(this.#responded, payment, { toldTo: name });
  }

  forget(payment: string): void {
    this.#mapOf(payment)?.delete(payment);
  }

  #mapOf(payment: string): Recent | undefined {
    return [this.#inDoubt, this.#responded, this.#verified].find((recent) => recent.has(payment));
  }

  #live(payment: string): Known | undefined {
    const known = this.#mapOf(payment)?.get(payment);
    return known !== undefined && known.untilMs > this.#now() ? known : undefined;
  }

  /** Makes a payment the newest of its kind, and forgets the oldest of that kind that are too old or too many. */
  #remember(recent: Recent, payment: string, known: Omit<Known, "untilMs">): void {
    this.forget(payment);
    const nowMs = this.#now();
    recent.set(payment, { ...known, untilMs: nowMs + REMEMBERED_MS });
    for (const [oldest, { untilMs }] of recent) {
      if (recent.size <= MAX_REMEMBERED && untilMs > nowMs) return;
      recent.delete(oldest);
    }
  }
}
