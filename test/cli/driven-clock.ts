/**
 * A clock for commands, and for the sellers that they ask: its time passes when a command waits, or when the test says so.
 *
 * @module
 */
import type { Clock } from "../../packages/cli/src/frame/clock.js";

export interface DrivenClock extends Clock {
  /** As `PaymentsOptions["timer"]`. */
  readonly timer: (act: () => void, delayMs: number) => () => void;
  /** Lets time pass, and does what was to happen in it. */
  pass(ms: number): void;
}

/** Creates a clock that is as far ahead of this machine's as time has passed on it. */
export function createDrivenClock(): DrivenClock {
  let passedMs = 0;
  const waiting = new Set<{ readonly atMs: number; readonly act: () => void }>();
  const clock: DrivenClock = {
    now: () => Date.now() + passedMs,
    elapsed: () => passedMs,
    async wait(ms, signal) {
      signal.throwIfAborted();
      clock.pass(ms);
    },
    deadline(ms) {
      const controller = new AbortController();
      clock.timer(() => controller.abort(new DOMException("The time is over", "TimeoutError")), ms);
      return controller.signal;
    },
    timer(act, delayMs) {
      const one = { atMs: passedMs + delayMs, act };
      waiting.add(one);
      return () => void waiting.delete(one);
    },
    pass(ms) {
      const untilMs = passedMs + ms;
      for (;;) {
        const [next] = [...waiting].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
        if (next === undefined) break;
        waiting.delete(next);
        passedMs = Math.max(passedMs, next.atMs);
        next.act();
      }
      passedMs = untilMs;
    },
  };
  return clock;
}
