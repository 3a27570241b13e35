/**
 * The ledger of an engine: records what settles, counts what does not, calls handlers, and forgets what is too old.
 *
 * @module
 */
import type { PaymentEvents } from "../events/events.js";
import type { Logger } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import type { PendingPayment } from "../sale/outcome.js";
import { type KeptSale, MemoryLedger } from "../store/memory-ledger.js";
import { isMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";
import type { SharedLedger } from "../store/shared-ledger.js";
import { type Books, checkArguments, createLedger, type Ledger } from "./ledger.js";
import { type NewEntryDeps, type SettledHow, type Sold, toEntry } from "./new-entry.js";
import type { LedgerSettings } from "./parse-ledger.js";
import { type SettledHandler, type SettledHandlerOptions, SettledHandlers } from "./settled-handlers.js";
import { Unsold } from "./unsold.js";

/** `payments.ledger`. */
export interface PaymentsLedger extends Ledger {
  /**
   * Passes each entry of the ledger to a handler, at least once, one after another, in the order in which they were recorded. The store
   * remembers how far it has come, under the name. If several processes use the name, one of them calls its handler at a time. A handler
   * that throws is called again with the same entry after 1, 2, 4 … seconds, up to a minute; those behind it wait. Returns a function that
   * removes it.
   *
   * @param name - 1 to 64 letters, digits and the characters `_ - . :`. It must stay the same when the process starts again.
   * @throws ConfigError if the name is invalid, or this engine has a handler of that name
   */
  onSettled(name: string, handler: SettledHandler, options?: SettledHandlerOptions): () => void;
}

/** What the ledger of an engine needs. */
export interface PaymentsLedgerDeps {
  readonly store: PaymentStore;
  readonly settings: LedgerSettings;
  readonly events: PaymentEvents;
  readonly writes: { add(write: Promise<unknown>): void };
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** The room `ledger-queries/`. */
interface LedgerQueries {
  openBooks(ledger: SharedLedger, beforeCounts: () => Promise<void>): Books;
}

/** How often old entries are looked for. */
const SWEEP_EVERY_MS = 60 * 60 * 1000;

/** How often handlers look for what another process has left. */
const LOOK_EVERY_MS = 30_000;

/** Records, counts and forgets. */
export class LedgerKeeper {
  readonly #deps: PaymentsLedgerDeps;
  /** That of a store in memory, or of one that keeps none. */
  readonly #memory: MemoryLedger | undefined;
  readonly #ledger: SharedLedger;
  readonly #unsold: Unsold;
  /** `undefined`: there was none so far. */
  #handlers: SettledHandlers | undefined;
  readonly #entryDeps: NewEntryDeps;
  #sweepAtMs = Number.NEGATIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(deps: PaymentsLedgerDeps) {
    const { store, settings, logger } = deps;
    this.#deps = deps;
    this.#entryDeps = { ...settings, logger };
    const isKept = store.ledger === undefined || isMemoryStore(store);
    this.#ledger = store.ledger ?? new MemoryLedger();
    this.#memory = isKept && this.#ledger instanceof MemoryLedger ? this.#ledger : undefined;
    this.#unsold = new Unsold({ ...deps, ledger: this.#ledger });
  }

  /** What sellers use. @param loadQueries - Called when a seller asks something. */
  open(loadQueries: () => Promise<LedgerQueries>): PaymentsLedger {
    const { settings, now } = this.#deps;
    const [ledger, unsold] = [this.#ledger, this.#unsold];
    const handlers = () => {
      this.#handlers ??= new SettledHandlers({ ...this.#deps, ledger });
      return this.#handlers;
    };
    const openBooks = async () => (await loadQueries()).openBooks(ledger, () => unsold.flush());
    return Object.freeze<PaymentsLedger>({
      ...createLedger({ secret: settings.secret, now, openBooks }),
      onSettled(name, handler, options = {}) {
        checkArguments("ledger.onSettled", (issues) => {
          if (typeof name !== "string" || !/^[\w.:-]{1,64}$/.test(name))
            issues.add("name", "1 to 64 letters, digits and the characters _ - . :", name);
          else if (handlers().has(name)) issues.add("name", "another name: this one has a handler", name);
          if (typeof handler !== "function") issues.add("handler", "a function such as async (entry) => {}", handler);
          const isObject = issues.checkKeys("options", options, ["from"]);
          const { from = "start" }: { readonly from?: unknown } = isObject ? options : {};
          if (from !== "start" && from !== "now") issues.add("options.from", '"start" or "now"', from);
        });
        return handlers().add(name, handler, options.from ?? "start");
      },
    });
  }

  /** What a payment has sold. */
  sold(payment: PendingPayment, how: SettledHow): KeptSale {
    const { paymentPayload, paymentRequirements: requirements } = payment.facilitatorRequest;
    const isPaid = requirements.amount !== "0";
    const sale: Sold = {
      routeKey: payment.routeKey,
      isPaid,
      identity: payment.claim.identity,
      payer: payment.payer,
      scheme: payment.scheme,
      decimals: payment.decimals,
      requirements,
      resource: paymentPayload.resource?.url,
      maximum: paymentPayload.accepted.amount,
      how,
      deps: this.#entryDeps,
      toEntry,
    };
    return isPaid && this.#memory === undefined ? { ...sale, entry: sale.toEntry() } : sale;
  }

  /** The store has recorded that a payment has settled. */
  settled(sale: KeptSale): void {
    if (!sale.isPaid) {
      this.#unsold.add("uncharged", sale.routeKey, "zero");
      return;
    }
    // The seller's function for the fee is asked now: what it says may change.
    if (this.#entryDeps.feeOf === undefined) this.#memory?.keep(sale);
    else this.#memory?.add(sale.toEntry());
    this.#handlers?.wake();
    const nowMs = this.#deps.now();
    if (nowMs >= this.#sweepAtMs) this.#startSweep(nowMs);
  }

  /** Called now and then, also in a process that sells nothing: another process may have left something to do. */
  look(): void {
    const nowMs = this.#deps.now();
    if (nowMs >= this.#sweepAtMs) this.#startSweep(nowMs);
    if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return;
    this.#lookedAtMs = nowMs;
    this.#handlers?.wake();
  }

  /** Calls no handler any more, and writes the counts. */
  close(): void {
    this.#isClosed = true;
    this.#handlers?.close();
    this.#unsold.close();
  }

  #startSweep(nowMs: number): void {
    const { writes, logger } = this.#deps;
    if (this.#isClosed) return;
    this.#sweepAtMs = nowMs + SWEEP_EVERY_MS;
    const sweeping = this.#sweep().catch(() => logger.warn("ledger_not_swept", { error: "the store failed" }));
    writes.add(sweeping);
  }

  async #sweep(): Promise<void> {
    const { settings, now } = this.#deps;
    const beforeMs = now() - settings.retentionMs;
    while (!this.#isClosed && (await this.#ledger.sweep(beforeMs)) > 0);
  }
}
