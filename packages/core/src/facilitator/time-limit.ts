/**
 * A time limit for calls of one kind. All have the same, so they reach it in the order in which they began, and one timer watches the
 * oldest: most calls start no timer of their own.
 *
 * @module
 */

/** A call that may take too long. */
export interface LimitedCall {
  /** It has reached the limit. */
  timeOut(): void;
}

/** The calls that are under way. */
export class TimeLimit {
  readonly ms: number;
  readonly #isBackground: boolean;
  /** When each is over, in the order in which they began. */
  readonly #calls = new Map<LimitedCall, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param isBackground - Whether the calls do not keep the process alive. */
  constructor(ms: number, isBackground = false) {
    this.ms = ms;
    this.#isBackground = isBackground;
  }

  begin(call: LimitedCall): void {
    this.#calls.set(call, performance.now() + this.ms);
    if (this.#timer === undefined) this.#wait(this.ms);
    else if (this.#calls.size === 1 && !this.#isBackground) this.#timer.ref();
  }

  /** The call has ended in time. */
  end(call: LimitedCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#timer?.unref();
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), ms);
    if (this.#isBackground) this.#timer.unref();
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [call, endsAt] of this.#calls) {
      // Node's timers may be early by a part of a millisecond.
      if (endsAt > now) {
        // A call that has timed out may have begun another one.
        if (this.#timer === undefined) this.#wait(Math.ceil(endsAt - now));
        return;
      }
      this.#calls.delete(call);
      call.timeOut();
    }
  }
}
