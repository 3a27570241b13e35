/**
 * A limit on the calls in flight to one facilitator, with a queue that is fair by source.
 *
 * A source, such as a payer, may have as many calls in flight as there are places left, and as many waiting. So one source gets
 * half of the places, two get a third each, and a newcomer finds one. After a 429 half of the places are closed, and each valid
 * response opens one again.
 *
 * @module
 */
import type { Clock } from "./circuit-breaker.js";

/** How many calls there may be. */
export interface CallLimits {
  readonly inFlight: number;
  readonly waiting: number;
}

/** How long a call waits for a place, and the timer for it. */
export interface QueueTime {
  readonly longestWaitMs: number;
  readonly clock: Pick<Clock, "schedule">;
}

/** Enough for 1,000 calls a second of 60 ms each. */
export const VERIFY_LIMITS: CallLimits = Object.freeze({ inFlight: 64, waiting: 512 });

/** For payments whose signature only a facilitator can check. Many of them at once are hardly honest. */
export const UNSIGNED_LIMITS: CallLimits = Object.freeze({ inFlight: 8, waiting: 64 });

interface Waiting {
  readonly begin: () => void;
}

/** The calls of one kind to one facilitator. */
export class CallQueue {
  readonly #limits: CallLimits;
  readonly #time: QueueTime;
  #open: number;
  #inFlight = 0;
  readonly #inFlightOf = new Map<string, number>();
  #waiting = 0;
  /** By source, the one that was served last at the end. */
  readonly #waitingOf = new Map<string, Set<Waiting>>();

  constructor(limits: CallLimits, time: QueueTime) {
    this.#limits = limits;
    this.#time = time;
    this.#open = limits.inFlight;
  }

  /** Waits for a place. `false`: too many calls wait already, or it has waited too long. Otherwise {@link leave} is called once. */
  enter(source: string): boolean | Promise<boolean> {
    const waiting = this.#waitingOf.get(source);
    const inFlight = this.#inFlightOf.get(source) ?? 0;
    if (waiting === undefined && inFlight < this.#open - this.#inFlight) {
      this.#inFlight++;
      this.#inFlightOf.set(source, inFlight + 1);
      return true;
    }
    if ((waiting?.size ?? 0) >= this.#limits.waiting - this.#waiting) return false;
    return this.#wait(source);
  }

  /** The call has ended: with a valid response, or because it was one too many, or otherwise. */
  leave(source: string, ending?: "responded" | "too_many"): void {
    if (ending === "too_many") this.#open = Math.max(this.#open >> 1, 1);
    else if (ending === "responded" && this.#open < this.#limits.inFlight) this.#open++;
    this.#inFlight--;
    const left = (this.#inFlightOf.get(source) ?? 1) - 1;
    if (left === 0) this.#inFlightOf.delete(source);
    else this.#inFlightOf.set(source, left);
    while (this.#waiting > 0) {
      const next = this.#next();
      if (next === undefined) return;
      next.begin();
    }
  }

  #wait(source: string): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting: Waiting = {
        begin: () => {
          cancel();
          this.#forget(source, waiting);
          this.#inFlight++;
          this.#inFlightOf.set(source, (this.#inFlightOf.get(source) ?? 0) + 1);
          resolve(true);
        },
      };
      const cancel = this.#time.clock.schedule(() => {
        this.#forget(source, waiting);
        resolve(false);
      }, this.#time.longestWaitMs);
      this.#waiting++;
      this.#waitingOf.set(source, (this.#waitingOf.get(source) ?? new Set()).add(waiting));
    });
  }

  #next(): Waiting | undefined {
    const left = this.#open - this.#inFlight;
    for (const [source, [first]] of this.#waitingOf) if ((this.#inFlightOf.get(source) ?? 0) < left) return first;
    return undefined;
  }

  /** Moves the source to the end. */
  #forget(source: string, waiting: Waiting): void {
    const all = this.#waitingOf.get(source);
    if (all?.delete(waiting) !== true) return;
    this.#waiting--;
    this.#waitingOf.delete(source);
    if (all.size > 0) this.#waitingOf.set(source, all);
  }
}
