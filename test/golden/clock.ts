/**
 * Time that passes when a sequence says so, for everything in this process that has a timer: the seller, its facilitators and its store.
 *
 * @module
 */

/** As `PaymentsOptions["timer"]`. */
type StartTimer = (act: () => void, delayMs: number) => () => void;

/** What one process waits for. */
export interface Timers {
  readonly start: StartTimer;
  /** The process is dead: nothing it waited for happens. */
  drop(): void;
}

interface Entry {
  atMs: number;
  readonly act: () => void;
  readonly owner: object;
  readonly everyMs: number | undefined;
}

/** In a year in which no store thinks that a record has expired, because the machine's clock is behind it. */
export const START_MS = 4_000_000_000_000;

/** More timers than any sequence has are a loop. */
const MOST_TIMERS = 20_000;

export class Clock {
  #nowMs = START_MS;
  readonly #waiting = new Set<Entry>();
  readonly now = (): number => this.#nowMs;

  createTimers(): Timers {
    const owner = {};
    return {
      start: (act, delayMs) => {
        const entry = this.#add(owner, act, delayMs);
        return () => void this.#waiting.delete(entry);
      },
      drop: () => {
        for (const entry of [...this.#waiting]) if (entry.owner === owner) this.#waiting.delete(entry);
      },
    };
  }

  #add(owner: object, act: () => void, delayMs: number, everyMs?: number): Entry {
    const entry = { atMs: this.#nowMs + Math.max(delayMs, 1), act, owner, everyMs };
    this.#waiting.add(entry);
    return entry;
  }

  /** When the next timer is due. */
  get nextMs(): number | undefined {
    let next: number | undefined;
    for (const { atMs } of this.#waiting) if (next === undefined || atMs < next) next = atMs;
    return next;
  }

  /** Lets time pass. All that is due at one moment begins, and `rest` waits until it has ended. */
  async pass(ms: number, rest: () => Promise<void>): Promise<void> {
    const untilMs = this.#nowMs + ms;
    for (let turn = 0; turn < MOST_TIMERS; turn++) {
      const next = this.nextMs;
      if (next === undefined || next > untilMs) break;
      this.#nowMs = Math.max(this.#nowMs, next);
      for (const entry of [...this.#waiting]) {
        if (entry.atMs > this.#nowMs || !this.#waiting.has(entry)) continue;
        if (entry.everyMs === undefined) this.#waiting.delete(entry);
        else entry.atMs = this.#nowMs + Math.max(entry.everyMs, 1);
        entry.act();
      }
      await rest();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** Takes the place of the system's clock, timers and chance, until the returned function is called. */
  install(): () => void {
    const real = { setTimeout, clearTimeout, setInterval, clearInterval };
    const [realNow, realChance, realWarning] = [Date.now, Math.random, process.emitWarning];
    const realTime = performance.now;
    const owner = {};
    const start = (every: boolean) =>
      ((act: (...args: unknown[]) => void, delayMs = 1, ...args: unknown[]) => {
        const entry = this.#add(owner, () => act(...args), Number(delayMs), every ? Number(delayMs) : undefined);
        return new Handle(
          () => void this.#waiting.delete(entry),
          () => {
            entry.atMs = this.#nowMs + Math.max(Number(delayMs), 1);
            // Behind all others that are due at the same moment.
            this.#waiting.delete(entry);
            this.#waiting.add(entry);
          },
        );
      }) as unknown as typeof setTimeout & typeof setInterval;
    const stop = (handle: unknown) => {
      if (handle instanceof Handle) handle.stop();
      else real.clearTimeout(handle as NodeJS.Timeout);
    };
    Object.assign(globalThis, {
      setTimeout: start(false),
      setInterval: start(true),
      clearTimeout: stop,
      clearInterval: stop,
    });
    Date.now = this.now;
    performance.now = this.now;
    // A seller whose facilitator answers from this very process is told that its table is not in that server's app.
    process.emitWarning = () => {};
    // Spreads retries of many sellers: here it would make each replay another.
    Math.random = () => 0.5;
    return () => {
      Object.assign(globalThis, real);
      Date.now = realNow;
      performance.now = realTime;
      process.emitWarning = realWarning;
      Math.random = realChance;
    };
  }
}

/** What `setTimeout` returns in Node. */
class Handle {
  readonly stop: () => void;
  readonly #again: () => void;

  constructor(stop: () => void, again: () => void) {
    this.stop = stop;
    this.#again = again;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return false;
  }

  refresh(): this {
    this.#again();
    return this;
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}
