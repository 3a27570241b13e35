/**
 * When it is too late to settle the payments whose handlers run. One timer waits for the first of them.
 *
 * @module
 */
import type { StartTimer } from "../options.js";

/** A payment whose handler runs. */
export interface Expiring {
  /** From when on it cannot settle, in Unix milliseconds. */
  readonly tooLateMs: number;
  /** Called once, when it is too late. */
  expire(): void;
}

/** Node fires at once when a timer is longer than this. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The payments of one seller whose handlers run. */
export class Expiries {
  readonly #now: () => number;
  readonly #timer: StartTimer;
  readonly #running = new Set<Expiring>();
  #stopTimer: (() => void) | undefined;
  /** When the timer fires. */
  #firesAtMs = Number.POSITIVE_INFINITY;

  constructor({ now, timer }: { readonly now: () => number; readonly timer: StartTimer }) {
    this.#now = now;
    this.#timer = timer;
  }

  add(payment: Expiring): void {
    this.#running.add(payment);
    if (payment.tooLateMs < this.#firesAtMs) this.#startTimer(payment.tooLateMs);
  }

  /** The handler of a payment has responded, or its client has left. Removing it twice does nothing. */
  remove(payment: Expiring): void {
    if (this.#running.delete(payment) && this.#running.size === 0) this.#startTimer(Number.POSITIVE_INFINITY);
  }

  #startTimer(atMs: number): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#firesAtMs = atMs;
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#stopTimer = this.#timer(() => this.#look(), Math.min(Math.max(atMs - this.#now(), 0), MAX_DELAY_MS));
  }

  /** The clock decides when it is too late: a timer may fire early. */
  #look(): void {
    const nowMs = this.#now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const payment of this.#running) {
      if (payment.tooLateMs > nowMs) nextMs = Math.min(nextMs, payment.tooLateMs);
      else {
        this.#running.delete(payment);
        payment.expire();
      }
    }
    this.#startTimer(nextMs);
  }
}
