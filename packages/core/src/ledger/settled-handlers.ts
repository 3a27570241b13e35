/**
 * `payments.ledger.onSettled`: each entry of the ledger is passed to a handler at least once, in order, however often the process dies.
 *
 * A handler has a cursor in the store, and the cursor a lease. The process that has the lease passes on what the cursor has not reached,
 * and gives the lease back. Nothing waits while there is nothing to pass on.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { PaymentEvents } from "../events/events.js";
import { errorName, type Logger } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import type { LedgerEntry, SharedLedger } from "../store/shared-ledger.js";

/** What a handler is told besides the entry. */
export interface SettledCall {
  /** 1 for the first call with this entry, by this process. */
  readonly attempt: number;
  /** Aborts when the handler is removed, or `payments.close()` is called. */
  readonly signal: AbortSignal;
}

/** Gets each settled payment. If it throws or rejects, it is called again with the same entry, later. */
export type SettledHandler = (entry: LedgerEntry, call: SettledCall) => unknown;

/** Where a handler begins. */
export interface SettledHandlerOptions {
  /**
   * For a name that is new: `start` is the oldest entry of the ledger, `now` the next one. Default `start`.
   */
  readonly from?: "start" | "now";
}

/** What handlers need. */
export interface SettledHandlersDeps {
  readonly ledger: SharedLedger;
  readonly events: Pick<PaymentEvents, "emit">;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** How long a lease lasts. A process that dies is noticed then. */
const LEASE_MS = 10_000;

/** How often a lease is renewed, while a handler runs or waits for its next call. */
const RENEW_EVERY_MS = 3_000;

/** The waits after a handler has thrown: 1, 2, 4 … seconds. */
const LONGEST_WAIT_MS = 60_000;

/** How long to wait, and whether the lease is kept meanwhile. */
interface Wait {
  readonly ms: number;
  readonly isHeld: boolean;
}

/** When to look again whether another process is done, or the store works. */
const LOOK_AGAIN: Wait = { ms: 2_000, isHeld: false };

/** Entries of one page. */
const PAGE = 50;

/** The handlers of one engine. */
export class SettledHandlers {
  readonly #deps: SettledHandlersDeps;
  readonly #cursors = new Map<string, Cursor>();

  constructor(deps: SettledHandlersDeps) {
    this.#deps = deps;
  }

  has(name: string): boolean {
    return this.#cursors.has(name);
  }

  /** Adds a handler. The returned function removes it. */
  add(name: string, handler: SettledHandler, from: "start" | "now"): () => void {
    const cursor = new Cursor({ ...this.#deps, name, handler, from });
    this.#cursors.set(name, cursor);
    cursor.wake();
    return () => {
      if (this.#cursors.get(name) === cursor) this.#cursors.delete(name);
      cursor.close();
    };
  }

  /** There may be new entries. */
  wake(): void {
    for (const cursor of this.#cursors.values()) cursor.wake();
  }

  /** Calls no handler any more. */
  close(): void {
    for (const cursor of this.#cursors.values()) cursor.close();
    this.#cursors.clear();
  }
}

interface CursorDeps extends SettledHandlersDeps {
  readonly name: string;
  readonly handler: SettledHandler;
  readonly from: "start" | "now";
}

/** One handler. */
class Cursor {
  readonly #deps: CursorDeps;
  readonly #owner = randomUUID();
  readonly #abort = new AbortController();
  #isRunning = false;
  /** There may be entries that the run has not seen. */
  #isWoken = false;
  /** Stops the wait for the next run. */
  #stopWait: (() => void) | undefined;
  /** The entry that the handler has refused so far, and how often. */
  #refused: { readonly id: string; readonly times: number } | undefined;

  constructor(deps: CursorDeps) {
    this.#deps = deps;
  }

  wake(): void {
    this.#isWoken = true;
    if (this.#isRunning || this.#stopWait !== undefined || this.#isClosed) return;
    this.#isRunning = true;
    void this.#run();
  }

  close(): void {
    this.#abort.abort();
    this.#stopWait?.();
    this.#stopWait = undefined;
  }

  get #isClosed(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Passes on everything that the cursor has not reached. Never rejects. */
  async #run(): Promise<void> {
    let wait: Wait | undefined;
    try {
      do {
        this.#isWoken = false;
        wait = await this.#passAll();
      } while (wait === undefined && this.#isWoken && !this.#isClosed);
    } catch {
      this.#deps.logger.warn("settled_handler_waits", { handler: this.#deps.name, error: "the store failed" });
      wait = LOOK_AGAIN;
    }
    this.#isRunning = false;
    if (wait !== undefined) this.#wait(wait);
  }

  #wait({ ms, isHeld }: Wait): void {
    if (this.#isClosed) return;
    const stepMs = isHeld ? Math.min(ms, RENEW_EVERY_MS) : ms;
    this.#stopWait = this.#deps.timer(() => {
      this.#stopWait = undefined;
      if (stepMs === ms) return this.wake();
      this.#renew();
      this.#wait({ ms: ms - stepMs, isHeld });
    }, stepMs);
  }

  /** Returns what to wait for before the rest; `undefined`: nothing is left. Rejects if the store fails. */
  async #passAll(): Promise<Wait | undefined> {
    const { ledger } = this.#deps;
    const begun = await this.#hold({ forMs: LEASE_MS });
    if (begun === undefined) return LOOK_AGAIN;
    for (let after = begun; ; ) {
      const page = this.#isClosed ? [] : await ledger.list({ after, limit: PAGE });
      if (page.length === 0) {
        await this.#hold({ forMs: 0 });
        return undefined;
      }
      for (const entry of page) {
        if (this.#isClosed) break;
        const refusedMs = await this.#pass(entry);
        if (refusedMs !== undefined) {
          await this.#hold({ forMs: this.#isClosed ? 0 : LEASE_MS });
          // The lease stays, so that no other process calls the handler sooner.
          return { ms: refusedMs, isHeld: true };
        }
        const moved = await this.#hold({ forMs: LEASE_MS, position: entry.position });
        if (moved === undefined) return LOOK_AGAIN;
        after = moved;
      }
    }
  }

  /** Calls the handler. Returns how long to wait if it threw; `undefined`: it is done. */
  async #pass(entry: LedgerEntry): Promise<number | undefined> {
    const { name, handler, events, logger, timer } = this.#deps;
    const times = this.#refused?.id === entry.id ? this.#refused.times : 0;
    let stopRenewal = timer(renew.bind(this), RENEW_EVERY_MS);
    try {
      await handler(entry, { attempt: times + 1, signal: this.#abort.signal });
      this.#refused = undefined;
      return undefined;
    } catch (error) {
      this.#refused = { id: entry.id, times: times + 1 };
      const hook = `onSettled ${name}`;
      logger.error("hook_failed", { hook, entry: entry.id, attempt: times + 1, error: errorName(error) });
      events.emit("hook_failed", () => ({ hook }));
      return Math.min(1_000 * 2 ** Math.min(times, 10), LONGEST_WAIT_MS);
    } finally {
      stopRenewal();
    }

    function renew(this: Cursor): void {
      stopRenewal = timer(renew.bind(this), RENEW_EVERY_MS);
      this.#renew();
    }
  }

  /** If the lease is lost all the same, the next move of the cursor says so. */
  #renew(): void {
    this.#hold({ forMs: LEASE_MS }).catch(() => {});
  }

  async #hold({
    forMs,
    position,
  }: {
    readonly forMs: number;
    readonly position?: string;
  }): Promise<string | undefined> {
    const { ledger, name, from, now } = this.#deps;
    const nowMs = now();
    const lease = { name, owner: this.#owner, nowMs, untilMs: nowMs + forMs, from };
    return ledger.hold(position === undefined ? lease : { ...lease, position });
  }
}
