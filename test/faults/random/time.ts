/**
 * Time that passes when the test lets it: for sellers, payers, facilitators and the ledger alike.
 *
 * @module
 */
import { vi } from "vitest";

/** As `PaymentsOptions["timer"]`. */
type StartTimer = (act: () => void, delayMs: number) => () => void;

/** What one process waits for. */
export interface Timers {
  readonly start: StartTimer;
  /** How much it waits for. */
  readonly size: () => number;
  /** The process is dead: nothing it waited for happens. */
  drop(): void;
}

export interface Time {
  readonly now: () => number;
  createTimers(): Timers;
  /** Lets time pass, also for what goes by the system's clock, and what was to happen in it. */
  pass(ms: number): void;
}

export const START_MS = 1_800_000_000_000;

/** Creates a clock that stands still. */
export function createTime(): Time {
  let nowMs = START_MS;
  const waiting = new Set<{ readonly atMs: number; readonly act: () => void; readonly owner: object }>();
  vi.setSystemTime(nowMs);
  return {
    now: () => nowMs,
    createTimers() {
      const owner = {};
      const own = () => [...waiting].filter((one) => one.owner === owner);
      return {
        start(act, delayMs) {
          const one = { atMs: nowMs + delayMs, act, owner };
          waiting.add(one);
          return () => void waiting.delete(one);
        },
        size: () => own().length,
        drop() {
          for (const one of own()) waiting.delete(one);
        },
      };
    },
    pass(ms) {
      nowMs += ms;
      vi.setSystemTime(nowMs);
      for (const one of [...waiting]) if (one.atMs <= nowMs && waiting.delete(one)) one.act();
    },
  };
}

/** Lets what is under way in this process, and on its sockets, take a few steps. */
export async function takeSteps(count: number): Promise<void> {
  for (let step = 0; step < count; step++) await new Promise(setImmediate);
}

/**
 * Turns of the event loop, more than anything takes that comes to an end at all: both sides of every connection are in this process, so
 * that each turn moves them on, on a slow machine as on a fast one.
 */
const MOST_STEPS = 500_000;

/** Something that has to happen by itself has not happened. */
export class StuckError extends Error {}

/** Lets steps be taken until a condition holds. Rejects when it never does. */
export async function takeStepsUntil(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let step = 0; !(await holds()); step++) {
    if (step > MOST_STEPS) throw new StuckError(`[4] ${what}`);
    await takeSteps(1);
  }
}
