/**
 * A run: one handler at work for one payment. It ends when the handler has answered, and is told to stop when there is no
 * point in going on.
 *
 * @module
 */
import { PaymentAbortedError, type PaymentAbortReason } from "../errors.js";

/** Calls back once, after so many milliseconds, unless what it returns is called before. */
export type StartTimer = (act: () => void, delayMs: number) => () => void;

/** A handler at work. */
export interface Run {
  /** Tells the handler to stop; its reason is a {@link PaymentAbortedError}. */
  readonly signal: AbortSignal;
  /** Nobody is left to answer. */
  leave(): void;
  /** The handler has answered: from here on the run cannot expire. */
  end(): void;
}

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

/** Starts a run. Without a deadline it only ends early when the client leaves. */
export function startRun(deadline?: RunDeadline): Run {
  const controller = new AbortController();
  const abort = (reason: PaymentAbortReason) => controller.abort(new PaymentAbortedError(reason));
  const stop = deadline === undefined ? () => {} : startDeadline(deadline, () => abort("expired"));
  return {
    signal: controller.signal,
    leave() {
      stop();
      abort("client_gone");
    },
    end: stop,
  };
}

/** The clock decides, not the timer: one that fires early is started again. */
function startDeadline({ atMs, now, timer, onExpired }: RunDeadline, abort: () => void): () => void {
  let stop: () => void;
  const start = () => {
    stop = timer(look, Math.min(Math.max(atMs - now(), 0), MAX_DELAY_MS));
  };
  const look = () => {
    if (now() < atMs) return start();
    onExpired();
    abort();
  };
  start();
  return () => stop();
}

/** Keeps no process alive. */
export const startTimer: StartTimer = (act, delayMs) => {
  const timeout = setTimeout(act, delayMs).unref();
  return () => clearTimeout(timeout);
};
