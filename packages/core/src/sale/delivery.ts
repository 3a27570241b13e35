/**
 * What the record of a settled payment says about its response: at work, kept, owed, or delivered.
 *
 * In a store that several processes share, the record has a lease, and the response if it can be kept, from the settlement
 * until a moment after its delivery. If the process dies meanwhile, the same payment sent again gets the response, or one
 * more run.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import type { Logger } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import { type Leases, nextOwner } from "../store/leases.js";
import type { DeliveryMark, Owned, PaymentStore, StoredAnswer, Transition } from "../store/payment-store.js";
import { changeSurely } from "./settle.js";

/** How long duplicates that wait in other processes have to read a response. Longer than they look away. */
const READABLE_MS = 3_000;

/**
 * Writes to the store that no client waits for. A seller that stops its process waits for them: a response that was delivered,
 * but whose record does not say so, could be fetched again.
 */
export class PendingWrites {
  readonly #writes = new Set<Promise<unknown>>();

  /** Adds a write. It must not reject. */
  add(write: Promise<unknown>): void {
    this.#writes.add(write);
    void write.then(() => this.#writes.delete(write));
  }

  /** Resolves when no write is under way. Never rejects. */
  async finished(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }
}

/** Whether a run was for a request that proved to be the payer's. */
export interface Proof {
  readonly isPayers: boolean;
}

/** A mark has an owner of its own: what the run before writes later, such as that its response was delivered, is refused. */
function markedAs(mark: DeliveryMark | null): Pick<Transition, "mark" | "newOwner"> {
  return { mark, newOwner: nextOwner() };
}

/** What deliveries need. */
export interface DeliveriesDeps {
  readonly store: Pick<PaymentStore, "transition" | "find">;
  readonly leases: Pick<Leases, "holds" | "drop" | "fromNow"> | undefined;
  /** Whether other processes may wait for a response. */
  readonly isShared: boolean;
  readonly writes: Pick<PendingWrites, "add">;
  readonly logger: Logger;
  readonly timer: StartTimer;
}

/** Writes down what happened to the responses of settled payments. Nothing here rejects. */
export class Deliveries {
  readonly #deps: DeliveriesDeps;
  /** Responses that were delivered and are still readable: what stops the timer, and what forgets the response. */
  readonly #readable = new Map<string, { readonly stop: () => void; readonly forget: () => void }>();
  /** Handlers of payments that settled first, by their owners: no lease says that they run where the store has none. */
  readonly #running = new Set<string>();
  #isClosed = false;

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
  }

  /** The handler of a payment that settled first may run. It does until {@link done}, or until the record says what is owed. */
  begin({ owner }: Owned): void {
    this.#running.add(owner);
  }

  /** Whether such a handler runs in this process. */
  isRunning({ owner }: Pick<Owned, "owner">): boolean {
    return this.#running.has(owner);
  }

  /**
   * The connection is done with the response. Its delivery may have broken off, if the response cannot be kept.
   *
   * @param isKept - Whether the store has it.
   */
  done({ identity, owner }: Owned, { isKept }: { readonly isKept: boolean }): void {
    const { leases } = this.#deps;
    this.#running.delete(owner);
    if (leases?.holds({ owner }) !== true || this.#readable.has(owner)) return;
    const forget = () => {
      if (leases.holds({ owner })) void this.#write({ identity, owner }, { to: "settled", answer: null });
    };
    if (isKept) this.#forgetLater(owner, forget);
    else forget();
  }

  /** A response that the store keeps, and that nobody holds a lease of, was delivered. */
  delivered({ identity, owner }: Owned): void {
    const forget = () => void this.#write({ identity, owner }, { to: "settled", answer: null });
    if (this.#deps.isShared) this.#forgetLater(owner, forget);
    else forget();
  }

  #forgetLater(owner: string, forget: () => void): void {
    const end = () => {
      this.#readable.delete(owner);
      forget();
    };
    if (this.#isClosed) forget();
    else this.#readable.set(owner, { stop: this.#deps.timer(end, READABLE_MS), forget: end });
  }

  /** Lets duplicates in other processes read a response before it is delivered. Only a record that has a lease needs it. */
  async show({ identity, owner }: Owned, answer: StoredAnswer | undefined): Promise<void> {
    const { store, leases, logger } = this.#deps;
    if (answer === undefined || leases?.holds({ owner }) !== true) return;
    const leaseUntilMs = leases.fromNow();
    try {
      await store.transition({ identity, from: "settled", to: "settled", owner, answer, leaseUntilMs });
    } catch {
      logger.error("answer_not_kept", { identity, error: "the store failed" });
    }
  }

  /**
   * Keeps a response that was not delivered. One too large to keep is `undefined`, and is lost.
   *
   * @param isPayers - Whether its run was for a request with proof. Another one may have been delivered, and its record says so already.
   */
  async keep(owned: Owned, answer: StoredAnswer | undefined, { isPayers }: Proof): Promise<void> {
    if (answer === undefined) return this.done(owned, { isKept: false });
    await this.#write(owned, { to: "settled", answer, ...(isPayers ? markedAs("undelivered") : {}) });
  }

  /** Keeps a response that was sent, for a payer that may have given up unseen. Nobody else needs it. */
  async keepForPayer({ identity, owner }: Owned, answer: StoredAnswer | undefined): Promise<void> {
    if (answer === undefined) return this.done({ identity, owner }, { isKept: false });
    await this.#write({ identity, owner }, { to: "settled", answer, delivers: true, ...markedAs("for_payer") });
  }

  /** Nothing was sent: the same payment sent again runs the handler. */
  async owe(owned: Owned): Promise<void> {
    await this.#write(owned, { to: "owed" });
  }

  /** The seller gives the money back: the payment buys nothing more, for its payer neither. */
  async refunded(owned: Owned, { isPayers }: Proof): Promise<void> {
    if (!isPayers) await this.#write(owned, { to: "settled", ...markedAs(null) });
  }

  /** From now on, a response that was delivered is forgotten at once. */
  close(): void {
    this.#isClosed = true;
    for (const { stop, forget } of [...this.#readable.values()]) {
      stop();
      forget();
    }
  }

  #write(owned: Owned, change: Pick<Transition, "to" | "answer" | "delivers" | "mark" | "newOwner">): Promise<void> {
    const written = this.#tryToWrite(owned, change).finally(() => void this.#running.delete(owned.owner));
    this.#deps.writes.add(written);
    return written;
  }

  async #tryToWrite(
    { identity, owner }: Owned,
    change: Pick<Transition, "to" | "answer" | "delivers" | "mark" | "newOwner">,
  ): Promise<void> {
    const { store, leases, logger } = this.#deps;
    const [failed, lost] =
      change.to === "owed" ? (["run_not_owed", true] as const) : (["answer_not_kept", false] as const);
    await leases?.drop({ owner });
    try {
      if (await changeSurely(store, { identity, from: "settled", owner, leaseUntilMs: null, ...change })) return;
      if (lost) logger.error(failed, { identity, error: "the record is not ours" });
    } catch {
      logger.error(failed, { identity, error: "the store failed" });
    }
  }
}
