/**
 * A payment that another process works on: its record is watched until it says something new.
 *
 * @module
 */
import type { StartTimer } from "../options.js";
import { isLeaseOver, leaseLeft } from "../store/leases.js";
import type { PaymentRecord, PaymentStore } from "../store/payment-store.js";

/** How soon to look at a record again, if the store does not tell of changes: 50 ms, and up to a second. */
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 1_000;

/** What waiting needs. */
export interface ChangeDeps {
  readonly store: Pick<PaymentStore, "find" | "watch">;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/**
 * Waits until another process has changed a record, or its lease is over. Rejects if the store fails.
 *
 * @param untilMs - How long to wait, in Unix milliseconds.
 * @returns whether it is so: look again. `false`: the time is over.
 */
export async function waitForChange(record: PaymentRecord, untilMs: number, deps: ChangeDeps): Promise<boolean> {
  const { store, now } = deps;
  const bell = new Bell(deps.timer);
  const stopWatching = await watch(record.identity, bell, store);
  let delayMs = stopWatching === undefined ? FIRST_LOOK_MS : LONGEST_LOOK_MS;
  try {
    while (now() < untilMs) {
      const found = await store.find(record.identity);
      if (found === undefined || hasChanged(record, found) || isLeaseOver(found, now())) return true;
      const leaseMs = found.leaseUntilMs === undefined ? delayMs : leaseLeft(found, now());
      await bell.wait(Math.min(delayMs, leaseMs, untilMs - now()));
      delayMs = Math.min(delayMs * 2, LONGEST_LOOK_MS);
    }
    return false;
  } finally {
    stopWatching?.();
  }
}

/** Watching makes a wait shorter. Without it, the record is looked at more often. */
async function watch(identity: string, bell: Bell, store: ChangeDeps["store"]): Promise<(() => void) | undefined> {
  try {
    return await store.watch?.(identity, () => bell.ring());
  } catch {
    return undefined;
  }
}

function hasChanged(before: PaymentRecord, { state, owner, answer, leaseUntilMs }: PaymentRecord): boolean {
  return (
    state !== before.state ||
    owner !== before.owner ||
    (answer !== undefined && before.answer === undefined && state === "settled") ||
    (leaseUntilMs === undefined) !== (before.leaseUntilMs === undefined)
  );
}

/** Ends a wait before its time. A ring between two waits ends the next one. */
class Bell {
  readonly #timer: StartTimer;
  #hasRung = false;
  #wake: (() => void) | undefined;

  constructor(timer: StartTimer) {
    this.#timer = timer;
  }

  ring(): void {
    this.#hasRung = true;
    this.#wake?.();
  }

  async wait(delayMs: number): Promise<void> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const stop = this.#timer(resolve, Math.max(delayMs, 1));
        this.#wake = () => {
          stop();
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#hasRung = false;
  }
}
