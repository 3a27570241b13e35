/**
 * A metered response: it goes out while its handler counts what it costs, and settles when it ends.
 *
 *   the first bytes → is it for sale? → beforeSettle hook → the record says "metering" → the response streams
 *   the handler charges → what was delivered is recorded from time to time → at the ceiling the response ends
 *   the response ends, or its client leaves → what was delivered settles → receipt
 *
 * A response that ends in one piece never comes here: it is held until it has settled (sale.ts).
 *
 * @see `docs/guides/metered.md`
 * @module
 */
import type { PaymentAbortReason } from "../errors.js";
import type { CancelReason } from "../events/events.js";
import { type Findings, uncountedFinding } from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { StartTimer, Unmetered } from "../options.js";
import { type MeterSum, roundSum } from "../price/settlement-amount.js";
import type { SettlementResponse } from "../protocol/documents.js";
import {
  amountContradicted,
  amountRefused,
  denied,
  deniedReceipt,
  expired,
  type Headers,
  inProgress,
  notChargedHeaders,
  notChargedReceipt,
  notDecided,
  RETRY_AFTER_SECONDS,
  unreachable,
} from "../sale/answers.js";
import {
  type ChargingDeps,
  contradicts,
  type HandlerResponse,
  isCharged,
  isClientsDoing,
  logRefused,
  type Release,
  SET_ANOTHER,
  uncharged,
} from "../sale/charge.js";
import type { MeteredAmount, RefusedAmount } from "../sale/handler.js";
import type { InFlight } from "../sale/in-flight.js";
import { withAmount } from "../sale/outcome.js";
import type { RetryTokens } from "../sale/proof.js";
import { type PaidRequest, SETTLEMENT_MARGIN_MS } from "../sale/request.js";
import { changeSurely, type Settler, settlingContextOf } from "../sale/settle.js";
import type { Leases } from "../store/leases.js";
import type { PaymentStore } from "../store/payment-store.js";
import type { Receipts } from "./receipts.js";
import type { Run } from "./runs.js";

/**
 * Why a metered response ends before its handler has ended it. `unrecorded`: the store fails, or the handler asked for what is no amount.
 * `client_gone`: its client reads nothing, and its connection is closed.
 */
export type StopReason = "limit" | "expired" | "unrecorded" | "exposure" | "client_gone";

/** How a metered response ended. */
export interface StreamEnd {
  /** Also of a settlement that was refused, and of a response that cost nothing. `undefined`: the outcome is not known yet. */
  readonly receipt: SettlementResponse | undefined;
  /** With these, a client whose receipt is not known yet proves to be the payer when it asks again. */
  readonly proof: Headers;
}

/** What an adapter does with a metered response. Nothing here rejects. */
export interface Metering {
  /** The first bytes are about to go out. */
  start(response: HandlerResponse): Promise<Release>;
  /** What is charged now. Everything that is written before the next charge costs so much together with what was written before. */
  readonly charged: MeterSum;
  /** Whether an amount was refused, and no good one set since: nothing may go out for it. */
  readonly isRefused: boolean;
  /**
   * Whether what costs so much may go out now. `undefined`: yes. Otherwise ask again when the promise resolves: a durable store has to
   * record first what went out before, or more has to be counted that may stay unpaid.
   */
  mayWrite(charged: MeterSum): Promise<void> | undefined;
  /** All that was written when so much was charged has been handed to the network. */
  delivered(charged: MeterSum): void;
  /** Why the response ends now; `undefined`: it goes on. */
  readonly stopped: StopReason | undefined;
  /** Sets the one listener for a reason to end the response. It may be called at once, and once more when the payment expires. */
  onStop(listener: (reason: StopReason) => void): void;
  /**
   * The response is over: settles. Calls after the first resolve to the same.
   *
   * @param isWhole - Whether all of it is delivered. Otherwise what {@link Metering.delivered} said last counts.
   */
  finish(isWhole: boolean): Promise<StreamEnd>;
}

/**
 * Marks the connection of a client that takes responses in one piece only. A metered response is held for it until its handler has ended
 * it, or has used up the maximum. So a client that leaves before has got nothing, and pays nothing.
 */
export const WHOLE_ONLY: unique symbol = Symbol.for("farebox.whole-only");

/** What metering needs. */
export interface MeteringDeps extends ChargingDeps {
  readonly store: PaymentStore;
  /** Whether the store outlives this process. */
  readonly isDurable: boolean;
  readonly settler: Pick<Settler, "settle">;
  readonly inFlight: Pick<InFlight, "end">;
  readonly leases: Pick<Leases, "drop"> | undefined;
  readonly receipts: Receipts;
  readonly tokens: Pick<RetryTokens, "headersFor">;
  readonly findings: Pick<Findings, "add">;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** One metered response, and the parts of its admission. */
export interface MeteredRun {
  readonly paid: PaidRequest;
  readonly counted: Run;
  /** The run of its handler. */
  readonly run: { end(): void; tell(reason: PaymentAbortReason): void };
  readonly amount: MeteredAmount;
  readonly unmetered: Unmetered;
  /** How much may be delivered that is not recorded. */
  readonly unrecorded: MeterSum;
  /** Counts what is about to be delivered, in atomic units, and a step more. Whether the seller's limits allow it. Never rejects. */
  readonly extend: (amount: bigint) => Promise<boolean>;
  /** Nothing is charged: releases the claim. Rejects if the store fails. */
  readonly giveUp: (reason: CancelReason) => Promise<void>;
}

/** What was delivered is recorded so soon at the latest. */
const RECORD_MS = 1_000;

/** A client that takes nothing for so long has left: what its stream may cost would keep others out. */
const UNREAD_MS = 30_000;

/** A store that fails for so long ends the response. */
const MAX_FAILURES = 5;

/** Meters one response. */
export class MeteredStream implements Metering {
  readonly #one: MeteredRun;
  readonly #deps: MeteringDeps;
  #isLive = false;
  /** What the bytes cost that were passed on. */
  #passed: MeterSum = 0n;
  #delivered: MeterSum = 0n;
  #recorded: MeterSum = 0n;
  #recording: Promise<void> | undefined;
  #failures = 0;
  /** This stream's part of all that may stay unpaid. */
  #counted: MeterSum;
  #extending: Promise<void> | undefined;
  /** When the client took something last. */
  #takenMs = 0;
  #stopWatch: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;
  /** Those who wait until more is recorded. */
  #waiting: (() => void)[] = [];
  /** Another process has the record. */
  #isLost = false;
  #stopped: StopReason | undefined;
  /** The handler was told to stop before the first bytes went out. */
  #isTold = false;
  #onStop: ((reason: StopReason) => void) | undefined;
  #end: Promise<StreamEnd> | undefined;

  constructor(one: MeteredRun, deps: MeteringDeps) {
    this.#one = one;
    this.#deps = deps;
    this.#counted = one.unrecorded;
  }

  /** Whether bytes have gone out, or are about to. */
  get isLive(): boolean {
    return this.#isLive;
  }

  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  get charged(): MeterSum {
    return this.#one.amount.sum;
  }

  get isRefused(): boolean {
    return this.#one.amount.refusal !== undefined;
  }

  async start(response: HandlerResponse): Promise<Release> {
    const { inFlight, leases, logger, receipts } = this.#deps;
    const { paid, counted } = this.#one;
    const { claim } = paid;
    let instead: Release | undefined;
    this.#isLive = true;
    if (this.#isTold) this.stop("limit");
    try {
      instead = await this.#refuse(response);
    } catch {
      logger.error("settlement_not_started", { identity: claim.identity, error: "the store failed" });
      void leases?.drop(claim);
      instead = { kind: "replace", response: unreachable("unexpected_settle_error", RETRY_AFTER_SECONDS) };
    }
    if (instead === undefined) return { kind: "release", paid: true, headers: receipts.headersFor(paid) };
    this.#isLive = false;
    if (!counted.isAbandoned) counted.end();
    inFlight.end(claim);
    return instead;
  }

  /** What the client gets in place of a stream. Otherwise the record says that it streams. */
  async #refuse(response: HandlerResponse): Promise<Release | undefined> {
    const { store, leases, logger, now } = this.#deps;
    const { paid, counted, amount, giveUp } = this.#one;
    const { route, hooks, claim, payer, occasion, offer } = paid;
    const verdict = isCharged(paid, response, this.#deps);
    if (verdict === "unknown") {
      await giveUp("not_chargeable");
      return { kind: "replace", response: notDecided() };
    }
    if (!verdict) {
      if (isClientsDoing(response.status)) counted.abandon({ isRequests: true });
      await giveUp("not_chargeable");
      return uncharged(response, notChargedHeaders(payer, offer.requirements.network));
    }
    if (contradicts(response.headers, { paid, amount: undefined }, this.#deps)) {
      await giveUp("not_chargeable");
      return { kind: "replace", response: amountContradicted() };
    }
    if (amount.refusal !== undefined) {
      logRefused(logger, paid, { closed: amount.refusal, remedy: SET_ANOTHER });
      await giveUp("not_chargeable");
      return { kind: "replace", response: amountRefused() };
    }
    const denial = hooks.asks("beforeSettle")
      ? await hooks.ask("beforeSettle", settlingContextOf(paid, response))
      : undefined;
    if (denial !== undefined) {
      await giveUp("denied");
      const receipt = deniedReceipt(denial, payer, offer.requirements.network);
      return { kind: "replace", response: await denied(denial, { route, occasion, receipt }) };
    }
    if (paid.settleByMs - now() < SETTLEMENT_MARGIN_MS) {
      counted.reject();
      await giveUp("expired");
      return { kind: "replace", response: expired() };
    }
    const { identity, owner } = claim;
    const { facilitatorRequest: request } = withAmount(paid, 0n);
    const isOurs = await changeSurely(store, { identity, from: "claimed", to: "metering", owner, request });
    if (isOurs) return undefined;
    void leases?.drop(claim);
    return { kind: "replace", response: inProgress() };
  }

  mayWrite(charged: MeterSum): Promise<void> | undefined {
    const { isDurable } = this.#deps;
    if (charged > this.#counted && this.#stopped === undefined) {
      this.#extending ??= this.#extend(charged);
      return this.#extending;
    }
    const isRoom = charged - this.#recorded <= this.#one.unrecorded;
    // A charge above the limit goes out alone.
    const isAlone = this.#passed === this.#recorded && this.#recording === undefined;
    if (!isDurable || isRoom || isAlone || this.#stopped !== undefined) {
      this.#passed = charged;
      this.#watch();
      return undefined;
    }
    const waiting = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#recordIfDue();
    return waiting;
  }

  /** Resolves when the response may cost more, or is stopped. */
  async #extend(charged: MeterSum): Promise<void> {
    const isAllowed = await this.#one.extend(roundSum(charged));
    this.#extending = undefined;
    if (isAllowed) this.#counted = charged + this.#one.unrecorded;
    else this.stop("exposure");
  }

  /** Looks from time to time whether the client takes what was passed on. */
  #watch(): void {
    const { now, timer } = this.#deps;
    if (this.#stopWatch !== undefined || this.#passed <= this.#delivered || this.#end !== undefined) return;
    this.#takenMs = now();
    const look = () => {
      this.#stopWatch = undefined;
      if (this.#passed <= this.#delivered || this.#end !== undefined) return;
      const leftMs = this.#takenMs + UNREAD_MS - now();
      if (leftMs <= 0) this.stop("client_gone");
      else this.#stopWatch = timer(look, leftMs);
    };
    this.#stopWatch = timer(look, UNREAD_MS);
  }

  delivered(charged: MeterSum): void {
    if (charged > this.#delivered) {
      this.#delivered = charged;
      this.#takenMs = this.#deps.now();
    }
    if (this.#deps.isDurable && this.#end === undefined) this.#recordIfDue();
  }

  onStop(listener: (reason: StopReason) => void): void {
    this.#onStop = listener;
    if (this.#stopped !== undefined) listener(this.#stopped);
  }

  /** Ends the response, and tells the handler. Before the first bytes, it tells the handler, and ends the response once it starts. */
  stop(reason: StopReason): void {
    const isOver = this.#end !== undefined || (this.#stopped !== undefined && !isCut(reason));
    if (this.#isLive && !isOver) {
      this.#stopped ??= reason;
      this.#wake();
      this.#onStop?.(reason);
    }
    this.#isTold ||= reason === "limit";
    // Last: a handler may destroy its response when it hears of it.
    this.#one.run.tell(reason);
  }

  /** The handler asked for what is no amount: what it goes on to send would be free. Before the first bytes, another amount may follow. */
  refused(closed: RefusedAmount): void {
    if (!this.#isLive) return;
    logRefused(this.#deps.logger, this.#one.paid, { closed, remedy: SET_ANOTHER });
    this.stop("unrecorded");
  }

  finish(isWhole: boolean): Promise<StreamEnd> {
    this.#end ??= this.#finish(isWhole);
    return this.#end;
  }

  async #finish(isWhole: boolean): Promise<StreamEnd> {
    const { settler, inFlight, leases, logger, tokens } = this.#deps;
    const { paid, counted, run, giveUp } = this.#one;
    const { claim, client, payer, offer } = paid;
    const unknown = () => ({ receipt: undefined, proof: tokens.headersFor(claim.identity) });
    run.end();
    this.#stopTimer?.();
    this.#stopWatch?.();
    const amount = this.#close(isWhole);
    const isAbandoned = amount === 0n && !isWhole;
    // At once: the handler may be done.
    if (isAbandoned) counted.abandon();
    await Promise.all([this.#recording, this.#extending]);
    this.#wake();
    try {
      if (this.#isLost) return unknown();
      if (isAbandoned) {
        await giveUp("client_gone");
        return { receipt: notChargedReceipt(payer, offer.requirements.network), proof: [] };
      }
      const settled = await settler.settle(withAmount(paid, amount), {
        from: "metering",
        owner: claim.owner,
        facilitator: undefined,
        response: undefined,
        runsHandler: false,
        waiting: { client, keepsResponse: () => false },
      });
      const hasReceipt = settled.kind === "settled" || settled.kind === "due" || settled.kind === "rejected";
      return hasReceipt ? { receipt: settled.receipt, proof: [] } : unknown();
    } catch {
      // Its record says what was delivered. Another process settles that when the lease is over.
      logger.error("settlement_not_started", { identity: claim.identity, error: "the store failed" });
      void leases?.drop(claim);
      return unknown();
    } finally {
      if (!counted.isAbandoned) counted.end();
      inFlight.end(claim);
    }
  }

  /** What is settled, in atomic units. */
  #close(isWhole: boolean): bigint {
    const { paid, amount, unmetered } = this.#one;
    const { sum, isCounted } = amount;
    amount.close();
    if (!isCounted) {
      this.#deps.findings.add(uncountedFinding(paid.route.key));
      return isWhole && unmetered === "maximum" ? paid.offer.amount : 0n;
    }
    // A handler may have set a lower amount since.
    return roundSum(isWhole || this.#delivered > sum ? sum : this.#delivered);
  }

  /** Records what was delivered: soon, or at once if it is much or somebody waits for it. */
  #recordIfDue(): void {
    const open = this.#delivered - this.#recorded;
    if (open <= 0n || this.#recording !== undefined || this.#isLost) return;
    if (2n * open >= this.#one.unrecorded || this.#waiting.length > 0) {
      this.#stopTimer?.();
      this.#stopTimer = undefined;
      this.#record();
    } else {
      this.#stopTimer ??= this.#deps.timer(() => {
        this.#stopTimer = undefined;
        this.#record();
      }, RECORD_MS);
    }
  }

  #record(): void {
    if (this.#recording !== undefined || this.#end !== undefined) return;
    const sum = this.#delivered;
    this.#recording = this.#write(sum).then((isWritten) => {
      this.#recording = undefined;
      if (isWritten) {
        this.#recorded = sum;
        this.#failures = 0;
        this.#wake();
        this.#recordIfDue();
      } else if (this.#isLost || this.#failures >= MAX_FAILURES) this.stop("unrecorded");
      else {
        this.#stopTimer ??= this.#deps.timer(() => {
          this.#stopTimer = undefined;
          this.#record();
        }, RECORD_MS);
      }
    });
  }

  /** Never rejects. */
  async #write(sum: MeterSum): Promise<boolean> {
    const { store, logger } = this.#deps;
    const { identity, owner } = this.#one.paid.claim;
    const { facilitatorRequest: request } = withAmount(this.#one.paid, roundSum(sum));
    try {
      const isOurs = await changeSurely(store, { identity, from: "metering", to: "metering", owner, request });
      if (!isOurs) this.#isLost = true;
      return isOurs;
    } catch {
      this.#failures += 1;
      logger.error("metering_not_recorded", { identity, error: "the store failed" });
      return false;
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** Whether nothing more can go out to the client. */
function isCut(reason: StopReason): boolean {
  return reason === "expired" || reason === "client_gone";
}
