/**
 * When it is too late to settle the payments whose handlers run. One timer waits for the first of them.
 *
 * @module
 */
import { AsyncResource } from "node:async_hooks";
import type { StartTimer } from "../options.js";

/** A payment whose handler runs. */
export interface Expiring {
  /** From when on it cannot settle, in Unix milliseconds. */
  readonly tooLateMs: number;
  /** Called once, when it is too late, in the asynchronous context in which it was added. */
  expire(): void;
}

/** Node fires at once when a timer is longer than this. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** A timer keeps the asynchronous context in which it was started. This one is of no request. */
const NO_REQUEST = new AsyncResource("farebox.expiries");

/** The payments of one seller whose handlers run. */
export class Expiries {
  readonly #now: () => number;
  readonly #timer: StartTimer;
  /** With the context of each payment's own request. */
  readonly #running = new Map<Expiring, AsyncResource>();
  #stopTimer: (() => void) | undefined;
  /** When the timer fires. */
  #firesAtMs = Number.POSITIVE_INFINITY;

  constructor({ now, timer }: { readonly now: () => number; readonly timer: StartTimer }) {
    this.#now = now;
    this.#timer = timer;
  }

  add(payment: Expiring): void {
    this.#running.set(payment, new AsyncResource("farebox.payment"));
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
    const delayMs = Math.min(Math.max(atMs - this.#now(), 0), MAX_DELAY_MS);
    this.#stopTimer = NO_REQUEST.runInAsyncScope(this.#timer, undefined, () => this.#look(), delayMs);
  }

  /** The clock decides when it is too late: a timer may fire early. */
  #look(): void {
    const nowMs = this.#now();
    const late = [...this.#running].filter(([{ tooLateMs }]) => tooLateMs <= nowMs);
    for (const [payment] of late) this.#running.delete(payment);
    // First: what an expiry leads to may fail.
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { tooLateMs } of this.#running.keys()) nextMs = Math.min(nextMs, tooLateMs);
    this.#startTimer(nextMs);
    for (const [payment, context] of late) context.runInAsyncScope(payment.expire, payment);
  }
}
