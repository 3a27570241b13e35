/**
 * Settlements that no request waits for: those with an unknown outcome, those that are due, and those that a dead process left behind.
 *
 * Each is tried again, less and less often, until its outcome is known. That is safe, because a chain takes each payment
 * once. A payment that was never sent is left alone: its payer was told that nothing was charged.
 *
 * @see `docs/reference/lifecycle.md`, "How an unknown outcome is resolved"
 * @module
 */
import type { PaymentEvents } from "../events/events.js";
import type { Logger } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import { matchesNetwork } from "../protocol/caip2.js";
import type { Scheme } from "../scheme/scheme.js";
import { type Leases, leaseLeft, nextOwner } from "../store/leases.js";
import { type ClaimRequest, type PaymentRecord, type PaymentStore, UNFINISHED } from "../store/payment-store.js";
import { factsOf, type PendingPayment } from "./outcome.js";
import type { Settled, Settler } from "./settle.js";

/** How many settlements were found unfinished, by how they ended. */
export interface Recovery {
  readonly settled: number;
  readonly rejected: number;
  /** Still unknown or under way in another process: tried again. Or the record cannot be read: see the log. */
  readonly unknown: number;
}

/** What recovery needs. */
export interface RecoveryDeps {
  readonly store: PaymentStore;
  readonly settler: Pick<Settler, "settle">;
  /** An unknown outcome keeps its lease until the payment is no longer tried. */
  readonly leases: Pick<Leases, "drop" | "holds"> | undefined;
  readonly inFlight: {
    /** The request in this process that works on a payment, if any. */
    find(identity: string): object | undefined;
    end(claim: Pick<ClaimRequest, "identity" | "owner">): void;
  };
  readonly schemes: readonly Scheme[];
  /** What a route of this process says about its payments; `undefined`: it is not known for certain. Default: none is known. */
  readonly routeOf?: (key: string) => Pick<PendingPayment, "asked" | "hooks"> | undefined;
  /** Counts metered responses that are not paid for. */
  readonly exposure: { owes(payment: PendingPayment, about: { readonly isDue: true; readonly isLost: true }): void };
  /** Called each time that the store was asked for settlements of dead processes. */
  readonly onLook?: () => void;
  readonly events: PaymentEvents;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
  /** From 0 to 1, so that many sellers do not ask one facilitator at the same moment. Default `Math.random`. */
  readonly random?: () => number;
}

/** Five minutes after its time no payment is expected to settle any more. Records live twice as long. */
const UNRESOLVED_AFTER_MS = 5 * 60 * 1000;

/** How soon to look again at another process's settlement, or after the store failed. */
const LOOK_AGAIN_SECONDS = 5;

const LONGEST_DELAY_SECONDS = 60;

/** How often the store is asked for settlements of dead processes. */
const LOOK_EVERY_MS = 4_000;

/** Looking takes at most one part in so many of the time. */
const LOOK_SHARE = 8;

/** How many records are recovered at a time. */
const CONCURRENCY = 8;

/** How one attempt ended. `over`: nothing is left to settle. `left`: another run is at it, or the store failed. */
type Tried =
  | Exclude<Settled, { kind: "lost" | "overtaken" }>
  | { readonly kind: "over" }
  | { readonly kind: "left"; readonly retryAfterSeconds: number };

const LEFT: Tried = Object.freeze({ kind: "left", retryAfterSeconds: LOOK_AGAIN_SECONDS });

/** A payment that is tried again until a time. */
interface Unresolved {
  readonly payment: PendingPayment;
  readonly untilMs: number;
  readonly tries: number;
}

/** A payment between two attempts, or during one. */
interface Waiting {
  /** Of the latest owner. Its lease is kept while the payment waits. */
  readonly claim: ClaimRequest;
  /** Stops the timer. */
  readonly stop: () => void;
}

/** Resolves settlements in the background. */
export class SettlementRecovery {
  readonly #deps: RecoveryDeps;
  /** The payments that wait, by their identity. */
  readonly #waiting = new Map<string, Waiting>();
  #recovering: Promise<Recovery> | undefined;
  #stopLooking: (() => void) | undefined;
  /** How many payments of dead processes are being settled. */
  #takenOver = 0;
  #isClosed = false;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
  }

  /** How many payments wait for another attempt. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Tries a payment again after a while. A payment that waits already keeps its turn. */
  add(payment: PendingPayment, retryAfterSeconds: number): void {
    const { claim } = payment;
    if (this.#isClosed) return void this.#deps.leases?.drop(claim);
    const waiting = this.#waiting.get(claim.identity);
    if (waiting !== undefined) return void this.#waiting.set(claim.identity, { ...waiting, claim });
    this.#schedule({ payment, untilMs: this.#untilMs(payment), tries: 0 }, retryAfterSeconds);
  }

  /** Takes up every unfinished settlement in the store. Called twice, it waits for the first. Rejects if the store fails. */
  recover(): Promise<Recovery> {
    this.#recovering ??= this.#recoverAll().finally(() => {
      this.#recovering = undefined;
    });
    return this.#recovering;
  }

  /** Settles a payment that is due, now. Never rejects. */
  async collect(identity: string): Promise<void> {
    try {
      const record = await this.#deps.store.find(identity);
      const payment = record?.state === "due" ? this.#readRecord(record) : undefined;
      if (payment !== undefined) await this.#settle(payment);
    } catch {
      this.#deps.logger.error("settlement_not_started", { identity, error: "the store failed" });
    }
  }

  /** Tries nothing any more. Attempts under way end by themselves. */
  close(): void {
    this.#isClosed = true;
    this.#stopLooking?.();
    for (const identity of [...this.#waiting.keys()]) this.#forget(identity);
  }

  /**
   * From now on, settlements of processes that die are taken over. Only of use if leases are renewed: otherwise they are as
   * long as a settlement may take.
   */
  watch(): void {
    if (this.#stopLooking === undefined) this.#lookAgain(LOOK_EVERY_MS);
  }

  #lookAgain(delayMs: number): void {
    const { timer, now, logger } = this.#deps;
    if (this.#isClosed) return;
    this.#stopLooking = timer(async () => {
      const startedMs = now();
      let nextMs = LOOK_EVERY_MS;
      try {
        nextMs = await this.#takeOver();
      } catch {
        logger.warn("settlements_not_recovered", { error: "the store failed" });
      }
      this.#deps.onLook?.();
      this.#lookAgain(Math.max(nextMs, (now() - startedMs) * LOOK_SHARE));
    }, delayMs);
  }

  /** Takes over what dead processes have left. Returns in how many milliseconds to look again. */
  async #takeOver(): Promise<number> {
    const { store, inFlight, now } = this.#deps;
    let nextMs = LOOK_EVERY_MS;
    if (this.#recovering !== undefined) return nextMs;
    for await (const record of store.unfinished()) {
      if (this.#isClosed || this.#takenOver >= CONCURRENCY) break;
      const { identity, state, expiresAtMs } = record;
      if (inFlight.find(identity) !== undefined || this.#waiting.has(identity)) continue;
      const leftMs = leaseLeft(record, now());
      if (leftMs > 0) {
        // An owner that lives renews its lease before.
        nextMs = Math.min(nextMs, leftMs + 1);
        continue;
      }
      // No process tries for longer: see #untilMs.
      if (state === "unknown" && now() > expiresAtMs + UNRESOLVED_AFTER_MS) continue;
      const payment = this.#readRecord(record);
      if (payment !== undefined && !this.#isClosed) {
        this.#waiting.set(identity, { claim: payment.claim, stop() {} });
        this.#takenOver += 1;
        void this.#tryAgain({ payment, untilMs: this.#untilMs(payment), tries: 0 }).finally(() => {
          this.#takenOver -= 1;
        });
      }
    }
    return nextMs;
  }

  async #recoverAll(): Promise<Recovery> {
    const counts = { settled: 0, rejected: 0, unknown: 0 };
    const recoverOne = async (record: PaymentRecord) => {
      const payment = this.#readRecord(record);
      if (payment === undefined) {
        counts.unknown++;
        return;
      }
      const tried = await this.#settle(payment);
      if (tried.kind === "settled" || tried.kind === "rejected") counts[tried.kind]++;
      else if (tried.kind === "due") counts.rejected++;
      else if (tried.kind !== "over") counts.unknown++;
      const retryAfterSeconds = this.#retryAfter({ payment, untilMs: this.#untilMs(payment) }, tried);
      if (retryAfterSeconds === undefined) this.#forget(record.identity);
      else if (!this.#waiting.has(record.identity)) this.add(payment, retryAfterSeconds);
    };
    const working = new Set<Promise<void>>();
    for await (const record of this.#deps.store.unfinished()) {
      const work: Promise<void> = recoverOne(record).finally(() => working.delete(work));
      working.add(work);
      if (this.#isClosed) break;
      if (working.size >= CONCURRENCY) await Promise.race(working);
    }
    await Promise.all(working);
    return counts;
  }

  /** The payer chooses the expiry, perhaps far ahead. The seller chose how long a payment may take. */
  #untilMs({ claim, facilitatorRequest }: PendingPayment): number {
    const { maxTimeoutSeconds } = facilitatorRequest.paymentRequirements;
    return Math.min(claim.expiresAtMs, this.#deps.now() + maxTimeoutSeconds * 1000) + UNRESOLVED_AFTER_MS;
  }

  #schedule(unresolved: Unresolved, askedSeconds: number): void {
    const { timer, random = Math.random } = this.#deps;
    const { payment, tries } = unresolved;
    // 2, 4, 8 … seconds, a quarter more or less, and not before the facilitator asked for.
    const backoff = Math.min(2 ** (tries + 1), LONGEST_DELAY_SECONDS) * (0.75 + random() / 2);
    const delayMs = Math.max(backoff, Math.min(askedSeconds, LONGEST_DELAY_SECONDS)) * 1000;
    const stop = timer(() => void this.#tryAgain(unresolved), delayMs);
    const { identity } = payment.claim;
    const { claim } = this.#waiting.get(identity) ?? payment;
    this.#waiting.set(identity, { claim, stop });
  }

  async #tryAgain(unresolved: Unresolved): Promise<void> {
    const { payment, tries } = unresolved;
    const { identity } = payment.claim;
    const tried = await this.#settle(payment, tries + 2);
    const retryAfterSeconds = this.#retryAfter(unresolved, tried);
    if (this.#isClosed || retryAfterSeconds === undefined) this.#forget(identity);
    else this.#schedule({ ...unresolved, tries: tries + 1 }, retryAfterSeconds);
  }

  /** Ends the wait of a payment. Other processes may take it over. */
  #forget(identity: string): void {
    const waiting = this.#waiting.get(identity);
    this.#waiting.delete(identity);
    waiting?.stop();
    if (waiting !== undefined) void this.#deps.leases?.drop(waiting.claim);
  }

  /** Settles what the record says is unfinished. Never rejects. @param attempt - Counts those that this process knows of. */
  async #settle(payment: PendingPayment, attempt = 2): Promise<Tried> {
    try {
      return await this.#settleRecord(payment, attempt);
    } catch {
      const { identity } = payment.claim;
      this.#deps.logger.error("settlement_not_started", { identity, error: "the store failed" });
      return LEFT;
    }
  }

  async #settleRecord(payment: PendingPayment, attempt: number): Promise<Tried> {
    const { store, settler, leases, inFlight, now } = this.#deps;
    const record = await store.find(payment.claim.identity);
    if (record === undefined || !UNFINISHED.includes(record.state)) return { kind: "over" };
    // A lease is over too early when the machine slept, or the clock jumped.
    if (inFlight.find(record.identity) !== undefined) return LEFT;
    // A lease of this process, where nothing is in flight: the store failed to record that the outcome is unknown.
    const isAtWork = record.state === "settling" || record.state === "metering";
    const leftMs = isAtWork && leases?.holds(record) !== true ? leaseLeft(record, now()) : 0;
    if (leftMs > 0) return { kind: "left", retryAfterSeconds: Math.ceil(leftMs / 1000) };

    const { identity, owner, facilitator, answer: response, state } = record;
    if (state === "metering" && isUncharged(record)) {
      await store.release(identity, owner);
      return { kind: "over" };
    }
    if (state === "due" && now() > record.expiresAtMs) return this.#writeOff(payment, record);
    const from = state === "metering" || state === "due" || state === "settling" ? state : "unknown";
    const taken = { ...payment, claim: { ...payment.claim, owner: nextOwner() } };
    try {
      const start = { from, owner, facilitator, response, runsHandler: false, attempt, waiting: undefined } as const;
      const settled = await settler.settle(taken, start);
      return settled.kind === "lost" || settled.kind === "overtaken" ? LEFT : settled;
    } finally {
      inFlight.end(taken.claim);
    }
  }

  /** A payment that is due can no longer settle. Its payer stays known as one that has not paid. Rejects if the store fails. */
  async #writeOff(payment: PendingPayment, { identity, owner }: PaymentRecord): Promise<Tried> {
    const { store, exposure, logger } = this.#deps;
    if (!(await store.transition({ identity, from: "due", to: "rejected", owner, request: null }))) return LEFT;
    const { network, amount } = payment.facilitatorRequest.paymentRequirements;
    logger.error("metered_response_unpaid", { identity, network, amount, payer: payment.payer });
    exposure.owes(payment, { isDue: true, isLost: true });
    return { kind: "over" };
  }

  /** When to try again; `undefined`: never. */
  #retryAfter({ payment, untilMs }: Omit<Unresolved, "tries">, tried: Tried): number | undefined {
    if (tried.kind !== "left" && tried.kind !== "unknown" && tried.kind !== "due") return undefined;
    // What is due is written off when its time is over.
    if (tried.kind === "due") return tried.retryAfterSeconds;
    const { now, events, logger } = this.#deps;
    const { identity } = payment.claim;
    if (now() < untilMs) return tried.retryAfterSeconds;
    const { network } = payment.facilitatorRequest.paymentRequirements;
    logger.error("settlement_unresolved", { identity, network });
    events.emit("unresolved", () => factsOf(payment));
    return undefined;
  }

  /** Reads all that settling takes from a record; `undefined`: its scheme is gone, or it does not say enough. */
  #readRecord(record: PaymentRecord): PendingPayment | undefined {
    const { schemes, routeOf, now, logger } = this.#deps;
    const { identity, binding, owner, expiresAtMs, mode, route, method, target, hasBody, identifier } = record;
    const { request: facilitatorRequest } = record;
    try {
      if (facilitatorRequest === undefined) throw new TypeError("no request");
      // The payer signed these terms. The amount that is settled may be lower.
      const { payload, accepted } = facilitatorRequest.paymentPayload;
      const scheme = schemes.find(
        (one) => one.scheme === accepted.scheme && matchesNetwork(one.networks, accepted.network),
      );
      const reading = scheme?.readPayment(payload, accepted, Math.floor(now() / 1000));
      if (scheme !== undefined && reading !== undefined && reading.kind !== "refused") {
        const bound = { binding, mode, route, method, target, hasBody };
        const claim = { identity, owner, expiresAtMs, ...bound, ...(identifier === undefined ? {} : { identifier }) };
        const { asked, hooks } = routeOf?.(route) ?? {};
        return { claim, payer: reading.payer, scheme, routeKey: route, facilitatorRequest, asked, hooks };
      }
    } catch {
      // A record of a store can hold anything, and a seller's scheme may throw.
    }
    logger.error("settlement_not_recovered", { identity, error: "its record does not say how to settle it" });
    return undefined;
  }
}

/** Whether nothing was counted that a metered response had delivered. */
export function isUncharged({ request }: Pick<PaymentRecord, "request">): boolean {
  return request === undefined || request.paymentRequirements.amount === "0";
}
