/**
 * Leases: until when the run that owns a record is surely at work. The process of the run renews it while it lives, so that
 * other processes notice a death within seconds.
 *
 * Leases are compared with the clock of the process that reads them. Clocks must agree to within a second or two.
 *
 * @see `docs/reference/lifecycle.md`, "Leases"
 * @module
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import type { Owned, PaymentRecord, PaymentStore } from "./payment-store.js";

/** How long a lease lasts that is renewed. */
const LEASE_MS = 8_000;

/** Two renewals may fail before the lease is over. */
const RENEW_EVERY_MS = 2_500;

/** A run of this process. A UUID of its own for each would take half a kilobyte more per record. */
const PROCESS = randomUUID();

let runs = 0;

/** A unique id for the owner of a record. It shows when another run has taken over a payment. */
export function nextOwner(): string {
  return `${PROCESS}-${++runs}`;
}

/** What leases need. */
export interface LeasesDeps {
  readonly store: Pick<PaymentStore, "renew" | "find">;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** A run whose lease is renewed, and when that lease ends if it is not renewed again. */
interface Held extends Owned {
  untilMs: number;
}

/**
 * The leases of this process in a store that renews them. One timer renews all of them, and runs only while there are any.
 *
 * A store that cannot renew has none of these: a lease there is as long as the work may take. It ends with the payment for a handler, and
 * with the settlement.
 */
export class Leases {
  readonly #deps: LeasesDeps;
  readonly #held = new Map<string, Held>();
  #isTimerRunning = false;
  #renewing: Promise<void> | undefined;

  constructor(deps: LeasesDeps) {
    this.#deps = deps;
  }

  /** How many runs are at work. */
  get size(): number {
    return this.#held.size;
  }

  /** The end of a lease that begins now. */
  fromNow(): number {
    return this.#deps.now() + LEASE_MS;
  }

  /** Whether the lease of a run is renewed. */
  holds({ owner }: Pick<Owned, "owner">): boolean {
    return this.#held.has(owner);
  }

  /**
   * Renews the lease of a run from now on.
   *
   * @param sinceMs - When the store was asked for it. Default: now.
   */
  hold({ identity, owner }: Owned, sinceMs: number = this.#deps.now()): void {
    this.#held.set(owner, { identity, owner, untilMs: sinceMs + LEASE_MS });
    if (!this.#isTimerRunning) this.#startTimer();
  }

  /**
   * The run is over. Resolves when no renewal is under way that may still have its lease: a lease that is removed then is not
   * written again. Never rejects.
   */
  drop({ owner }: Pick<Owned, "owner">): Promise<void> | undefined {
    return this.#held.delete(owner) ? this.#renewing : undefined;
  }

  /**
   * Whether another run may have taken the place of this one, because its process was stopped for longer than its lease. Asked before
   * a handler runs.
   */
  mayBeLost({ owner }: Owned): boolean {
    return this.#deps.now() >= (this.#held.get(owner)?.untilMs ?? 0);
  }

  /** Asks the store whether another run has the place of this one. Its lease is dropped then. Rejects if the store fails. */
  async isLost({ identity, owner }: Owned): Promise<boolean> {
    const { store, now } = this.#deps;
    const held = this.#held.get(owner);
    // First, so that a run that is still the owner stays it.
    const untilMs = now() + LEASE_MS;
    await store.renew?.([{ identity, owner }], untilMs);
    const isLost = (await store.find(identity))?.owner !== owner;
    if (isLost) void this.drop({ owner });
    else if (held !== undefined) held.untilMs = untilMs;
    return isLost;
  }

  #startTimer(): void {
    this.#isTimerRunning = true;
    this.#deps.timer(() => {
      this.#isTimerRunning = false;
      if (this.#held.size === 0) return;
      this.#startTimer();
      this.#renewAll();
    }, RENEW_EVERY_MS);
  }

  #renewAll(): void {
    const renewing = Promise.all([this.#renewing, this.#renew()]).then(() => {
      if (this.#renewing === renewing) this.#renewing = undefined;
    });
    this.#renewing = renewing;
  }

  async #renew(): Promise<void> {
    const { store, now, logger } = this.#deps;
    const held = [...this.#held.values()];
    const untilMs = now() + LEASE_MS;
    try {
      await store.renew?.(held, untilMs);
      // A lease that has ended meanwhile may have been another run's by then, and the store does not say so.
      for (const one of held) if (now() < one.untilMs) one.untilMs = untilMs;
    } catch {
      logger.warn("leases_not_renewed", { error: "the store failed" });
    }
  }
}

/** For how many milliseconds the owner of a record is surely at work. A record without a lease: 0. */
export function leaseLeft({ leaseUntilMs = 0 }: Pick<PaymentRecord, "leaseUntilMs">, nowMs: number): number {
  return Math.max(leaseUntilMs - nowMs, 0);
}

/** Whether a record has a lease that is over: its owner is dead, or was stopped. */
export function isLeaseOver(record: Pick<PaymentRecord, "leaseUntilMs">, nowMs: number): boolean {
  return record.leaseUntilMs !== undefined && leaseLeft(record, nowMs) === 0;
}
