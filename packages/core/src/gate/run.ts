/**
 * A run: one handler at work for one payment. It ends when the handler has answered, and is told to stop when there is no
 * point in going on.
 *
 * @module
 */
import { PaymentAbortedError, type PaymentAbortReason } from "../errors.js";

/** Calls back once, after so many milliseconds, unless what it returns is called before. */
export type StartTimer = (act: () => void, delayMs: number) => () => void;

/** When a run is too late, and what is to happen then, before the handler hears of it. */
export interface RunDeadline {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly now: () => number;
  readonly timer: StartTimer;
  readonly onExpired: () => void;
}

/** Timers of Node fire at once when they are told to wait longer than this. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** A handler at work. Without a deadline it only ends early when the client leaves. */
export class Run {
  #controller: AbortController | undefined;
  #reason: PaymentAbortedError | undefined;
  readonly #deadline: RunDeadline | undefined;
  #stopTimer: (() => void) | undefined;

  constructor(deadline?: RunDeadline) {
    this.#deadline = deadline;
    this.#startTimer();
  }

  /** Tells the handler to stop; its reason is a {@link PaymentAbortedError}. */
  get signal(): AbortSignal {
    // Few handlers ask for it, so it is made then.
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Nobody is left to answer. */
  leave(): void {
    this.end();
    this.#abort("client_gone");
  }

  /** The handler has answered: from here on the run cannot expire. */
  end(): void {
    this.#stopTimer?.();
  }

  #startTimer(): void {
    if (this.#deadline === undefined) return;
    const { atMs, now, timer } = this.#deadline;
    this.#stopTimer = timer(() => this.#look(), Math.min(Math.max(atMs - now(), 0), MAX_DELAY_MS));
  }

  /** The clock decides, not the timer: one that fires early is started again. */
  #look(): void {
    if (this.#deadline === undefined) return;
    const { atMs, now, onExpired } = this.#deadline;
    if (now() < atMs) {
      this.#startTimer();
      return;
    }
    onExpired();
    this.#abort("expired");
  }

  #abort(reason: PaymentAbortReason): void {
    this.#reason ??= new PaymentAbortedError(reason);
    this.#controller?.abort(this.#reason);
  }
}

/** Keeps no process alive. */
export const startTimer: StartTimer = (act, delayMs) => {
  const timer = setTimeout(act, delayMs).unref();
  return () => clearTimeout(timer);
};
