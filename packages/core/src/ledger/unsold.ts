/**
 * Counts what was not sold: payments that were refused, and runs that nothing was charged for.
 *
 * No request waits for it. Counts are added up in memory while the store writes those before, so that a flood of refusals is one write a
 * second.
 *
 * @module
 */
import type { PaymentEvents } from "../events/events.js";
import type { Logger } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import { isReason } from "../protocol/reasons.js";
import { dayOf, MemoryLedger } from "../store/memory-ledger.js";
import type { LedgerCount, SharedLedger } from "../store/shared-ledger.js";

/** What counting needs. */
export interface UnsoldDeps {
  readonly ledger: SharedLedger;
  readonly events: Pick<PaymentEvents, "on">;
  readonly writes: { add(write: Promise<unknown>): void };
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** The time between two writes. */
const PAUSE_MS = 1_000;

/** How many different counts may wait. No seller has as many routes and reasons in a second. */
const MOST_WAITING = 10_000;

/** Indices of databases have a limit. */
const MOST_ROUTE = 500;

/** Counts, and writes the counts into the ledger. */
export class Unsold {
  readonly #deps: UnsoldDeps;
  readonly #waiting = new Map<string, LedgerCount>();
  #writing: Promise<void> | undefined;
  #stopPause: (() => void) | undefined;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(deps: UnsoldDeps) {
    this.#deps = deps;
    const { events } = deps;
    const refused = (route: string, reason: string) => this.add("refused", route, reason);
    events.on("malformed", ({ route, reason }) => refused(route, reason));
    events.on("mismatched", ({ route, reason }) => refused(route, known(reason)));
    events.on("invalid", ({ route, reason }) => refused(route, known(reason)));
    events.on("denied", ({ route, by }) => refused(route, by));
    events.on("price_failed", ({ route }) => refused(route, "price_failed"));
    events.on("rejected", ({ route, reason }) => refused(route, known(reason)));
    events.on("replayed", ({ route, how }) => {
      if (how === "refused") refused(route, "payment_already_used");
    });
    events.on("cancelled", ({ route, reason }) => this.add("uncharged", route, reason));
  }

  add(kind: LedgerCount["kind"], route: string, reason: string): void {
    const { ledger, now } = this.#deps;
    const one: LedgerCount = { day: dayOf(now()), route: route.slice(0, MOST_ROUTE), kind, reason, count: 1 };
    if (ledger instanceof MemoryLedger) {
      ledger.count([one]);
      return;
    }
    const key = JSON.stringify([one.day, route, kind, reason]);
    if (!this.#waiting.has(key) && this.#waiting.size >= MOST_WAITING) return;
    this.#waiting.set(key, { ...one, count: (this.#waiting.get(key)?.count ?? 0) + 1 });
    this.#writeSoon();
  }

  /** Writes what waits. Never rejects. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    await this.#write();
  }

  /** Writes what waits. From now on counts are lost. */
  close(): void {
    this.#isClosed = true;
    this.#stopPause?.();
    this.#stopPause = undefined;
    this.#deps.writes.add(this.flush());
  }

  /** The timer runs only while there is something to write. */
  #writeSoon(): void {
    const { now, timer } = this.#deps;
    if (this.#isClosed || this.#writing !== undefined || this.#stopPause !== undefined || this.#waiting.size === 0)
      return;
    const leftMs = Math.min(this.#writtenAtMs + PAUSE_MS - now(), PAUSE_MS);
    if (leftMs <= 0) {
      void this.#write();
      return;
    }
    this.#stopPause = timer(() => {
      this.#stopPause = undefined;
      void this.#write();
    }, leftMs);
  }

  #write(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve();
    this.#writtenAtMs = this.#deps.now();
    const writing = this.#writeWaiting().then(() => {
      this.#writing = undefined;
      this.#writeSoon();
    });
    this.#writing = writing;
    this.#deps.writes.add(writing);
    return writing;
  }

  async #writeWaiting(): Promise<void> {
    const { ledger, logger } = this.#deps;
    const counts = [...this.#waiting.values()];
    this.#waiting.clear();
    try {
      await ledger.count(counts);
    } catch {
      logger.warn("ledger_counts_lost", { count: counts.length, error: "the store failed" });
    }
  }
}

/** A facilitator may write any reason. */
function known(reason: string): string {
  return isReason(reason) ? reason : "other";
}
