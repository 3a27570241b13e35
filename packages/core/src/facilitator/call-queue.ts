/**
 * A limit on the calls in flight to one facilitator, with a queue that is fair by source.
 *
 * A source, such as a payer, may have as many calls in flight as there are places left, and as many waiting. So one source gets
 * half of the places, two get a third each, and a newcomer finds one. After a 429 half of the places are closed, and each valid
 * response opens one again.
 *
 * While less than half of the places are taken, there is one for any source: nobody is asked for its source then.
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

/** A call that needs a place. */
export interface Caller {
  /** The same each time. `undefined`: all calls without a source are of one. */
  readonly source: string | undefined;
}

interface Waiting {
  readonly begin: () => void;
}

/** The calls of one kind to one facilitator. */
export class CallQueue {
  readonly #limits: CallLimits;
  readonly #time: QueueTime;
  #open: number;
  readonly #inFlight = new Set<Caller>();
  /** By source. `undefined` while places are plenty. */
  #inFlightOf: Map<string, number> | undefined;
  #waiting = 0;
  /** By source, the one that was served last at the end. */
  readonly #waitingOf = new Map<string, Set<Waiting>>();

  constructor(limits: CallLimits, time: QueueTime) {
    this.#limits = limits;
    this.#time = time;
    this.#open = limits.inFlight;
  }

  /** Waits for a place. `false`: too many calls wait already, or it has waited too long. Otherwise {@link leave} is called once. */
  enter(caller: Caller): boolean | Promise<boolean> {
    // Then nobody waits, either.
    const isFree = this.#inFlightOf === undefined && this.#inFlight.size * 2 < this.#open;
    if (isFree) this.#inFlight.add(caller);
    return isFree || this.#enterCounted(caller);
  }

  /** The call has ended: with a valid response, or because it was one too many, or otherwise. */
  leave(caller: Caller, ending?: "responded" | "too_many"): void {
    if (ending === "too_many") this.#open = Math.max(this.#open >> 1, 1);
    else if (ending === "responded" && this.#open < this.#limits.inFlight) this.#open++;
    this.#inFlight.delete(caller);
    if (this.#inFlightOf !== undefined) this.#leaveCounted(caller, this.#inFlightOf);
  }

  #enterCounted(caller: Caller): boolean | Promise<boolean> {
    const source = caller.source ?? "";
    const waiting = this.#waitingOf.get(source);
    if (waiting === undefined && this.#countOf(source) < this.#open - this.#inFlight.size) {
      this.#begin(caller);
      return true;
    }
    if ((waiting?.size ?? 0) >= this.#limits.waiting - this.#waiting) return false;
    return this.#wait(caller, source);
  }

  #leaveCounted(caller: Caller, inFlightOf: Map<string, number>): void {
    const source = caller.source ?? "";
    const left = (inFlightOf.get(source) ?? 1) - 1;
    if (left === 0) inFlightOf.delete(source);
    else inFlightOf.set(source, left);
    while (this.#waiting > 0) {
      const next = this.#next();
      if (next === undefined) return;
      next.begin();
    }
    // Far fewer than it takes to count again.
    if (this.#inFlight.size * 4 < this.#open) this.#inFlightOf = undefined;
  }

  #countOf(source: string): number {
    if (this.#inFlightOf === undefined) {
      this.#inFlightOf = new Map();
      for (const caller of this.#inFlight) this.#count(caller, this.#inFlightOf);
    }
    return this.#inFlightOf.get(source) ?? 0;
  }

  #begin(caller: Caller): void {
    this.#inFlight.add(caller);
    if (this.#inFlightOf !== undefined) this.#count(caller, this.#inFlightOf);
  }

  #count({ source = "" }: Caller, inFlightOf: Map<string, number>): void {
    inFlightOf.set(source, (inFlightOf.get(source) ?? 0) + 1);
  }

  #wait(caller: Caller, source: string): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting: Waiting = {
        begin: () => {
          cancel();
          this.#forget(source, waiting);
          this.#begin(caller);
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
    const left = this.#open - this.#inFlight.size;
    for (const [source, [first]] of this.#waitingOf) if (this.#countOf(source) < left) return first;
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
