/**
 * Time and chance, as parameters: whatever waits or varies here can be driven by a test.
 *
 * @module
 */

/** Tells the time, schedules, and throws dice. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** From 0 up to, not including, 1. */
  random(): number;
  /** Runs something once, later, unless what is returned is called before. Does not keep the process alive. */
  schedule(run: () => void, delayMs: number): () => void;
}

/** The real one. */
export const SYSTEM_CLOCK: Clock = Object.freeze({
  now: () => Date.now(),
  random: () => Math.random(),
  schedule: (run: () => void, delayMs: number) => {
    const timer = setTimeout(run, delayMs).unref();
    return () => clearTimeout(timer);
  },
});
