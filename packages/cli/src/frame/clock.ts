/**
 * The time, as commands see it. Its user may pass one that it drives itself.
 *
 * @module
 */
import { setTimeout as waitMs } from "node:timers/promises";

/** Tells the time, waits, and sets deadlines. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a clock that nobody sets, for durations. */
  elapsed(): number;
  /** Resolves after so many milliseconds. Rejects when `signal` is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** A signal that is aborted after so many milliseconds, with a `TimeoutError`. */
  deadline(ms: number): AbortSignal;
}

/** The clock of this machine. */
export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  wait: (ms, signal) => waitMs(ms, undefined, { signal }),
  deadline: (ms) => AbortSignal.timeout(ms),
};
